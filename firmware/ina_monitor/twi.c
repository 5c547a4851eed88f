/* SPDX-License-Identifier: Apache-2.0 */
#include "twi.h"

#include <avr/interrupt.h>
#include <avr/io.h>
#include <util/twi.h>

#define SCL_HZ 400000UL

enum { LOOKS = 2000 }; /* 8 cycles each: about 1 ms */

void twi_begin(void)
{
    PORTC |= (1U << PORTC4) | (1U << PORTC5); /* weak pull-ups, beside those of the module */
    TWBR = (uint8_t)((F_CPU / SCL_HZ - 16UL) / 2UL);
}

static volatile bool ended;

/* TWINT stays: to clear it would begin the next step. */
ISR(TWI_vect)
{
    TWCR = 1U << TWEN;
    ended = true;
}

/* One step; its status, or 0xFF where it does not end. The interrupt tells its end, as simavr 1.6
   leaves TWINT set where it is written. */
static uint8_t step(uint8_t control)
{
    uint16_t looks = 0;
    ended = false;
    TWCR = (uint8_t)((1U << TWINT) | (1U << TWEN) | (1U << TWIE) | control);
    while (!ended) {
        if (++looks > LOOKS) {
            return 0xFF;
        }
    }
    return TW_STATUS;
}

static bool start(void)
{
    uint8_t status = step(1U << TWSTA);
    return status == TW_START || status == TW_REP_START;
}

/* True where the chip acknowledges. simavr 1.6 reports an address that was acknowledged as a byte
   of data that was. */
static bool send(uint8_t byte)
{
    uint8_t status;
    TWDR = byte;
    status = step(0);
    return status == TW_MT_SLA_ACK || status == TW_MT_DATA_ACK || status == TW_MR_SLA_ACK;
}

static bool begin_write(uint8_t address, uint8_t reg)
{
    return start() && send((uint8_t)(address * 2U)) && send(reg);
}

/* Releases the bus, and the hardware where it hangs. */
static bool end(bool well)
{
    TWCR = (1U << TWINT) | (1U << TWEN) | (1U << TWSTO);
    if (!well) {
        TWCR = 0;
    }
    return well;
}

bool twi_write(uint8_t address, uint8_t reg, uint16_t value)
{
    return end(begin_write(address, reg) && send((uint8_t)(value >> 8)) && send((uint8_t)value));
}

bool twi_read(uint8_t address, uint8_t reg, uint8_t size_b, uint32_t *value)
{
    bool well = begin_write(address, reg) && start() && send((uint8_t)(address * 2U + 1U));
    *value = 0;
    for (uint8_t i = 1; well && i <= size_b; i++) {
        uint8_t more = i < size_b ? (uint8_t)(1U << TWEA) : 0;
        well = step(more) == (more != 0 ? TW_MR_DATA_ACK : TW_MR_DATA_NACK);
        *value = (*value << 8) | TWDR;
    }
    return end(well);
}
