/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_device.h"

#include "fake_port.h"

size_t fake_device_b(void) { return sizeof(struct fake); }

void fake_device_start(struct fake *fake, uint32_t output_b)
{
    fake_start(fake);
    fake->output_length_b = output_b;
}

void fake_device_searches(struct fake *fake, const int32_t *costs, size_t count)
{
    for (size_t i = 0; i < FAKE_COSTS; i++) {
        fake->search_costs[i] = costs[i < count ? i : count - 1];
    }
    fake_only_searches(fake);
}

void fake_device_answers(struct fake *fake, uint32_t answer_b)
{
    fake->tick_a_read = 1;
    fake->workload.phases = 1;
    fake->workload.output_bytes = answer_b;
    fake->output_length_b = answer_b;
}

int fake_device_jobs(const struct fake *fake) { return fake->searches + fake->infers; }

uint64_t fake_device_us(const struct fake *fake) { return fake->tick; }

size_t fake_device_listen(struct fake *fake, uint64_t duration_us)
{
    uint64_t until = fake->tick + duration_us;
    while (fake->tick < until && fake->output_used == fake->output_next) {
        nr_shim_poll(&fake->shim);
    }
    return fake->output_used - fake->output_next;
}

const uint8_t *fake_device_slot(const struct fake *fake, uint16_t slot)
{
    return fake->slots + (size_t)slot * FAKE_SLOT_B;
}
