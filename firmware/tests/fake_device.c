/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_device.h"

#include "fake_port.h"

size_t fake_device_b(void) { return sizeof(struct fake); }

void fake_device_start(struct fake *fake, uint32_t output_b)
{
    fake_start(fake);
    fake->output_length_b = output_b;
}

uint64_t fake_device_us(const struct fake *fake) { return fake->tick; }

size_t fake_device_listen(struct fake *fake, uint64_t duration_us)
{
    uint64_t until = fake->tick + duration_us;
    while (fake->tick < until && fake->output_used == fake->output_next) {
        nr_shim_poll(&fake->shim);
    }
    return fake->output_used - fake->output_next;
}

const uint8_t *fake_device_slot(const struct fake *fake, uint16_t slot) { return fake->slots + (size_t)slot * FAKE_SLOT_B; }
