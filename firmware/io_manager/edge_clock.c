/* SPDX-License-Identifier: Apache-2.0 */
#include "edge_clock.h"

#include <avr/interrupt.h>
#include <avr/io.h>
#include <util/atomic.h>

enum { STAMPS = 16 }; /* a power of two; one stays free */

static volatile uint32_t overflows;
static struct nr_io_stamp stamps[STAMPS];
static volatile uint8_t next;
static volatile uint8_t first;
static volatile uint16_t missed;

/* With interrupts off: an overflow may have happened that was not counted yet, before or after the
   count was read. */
static struct nr_io_stamp whole(uint16_t low)
{
    struct nr_io_stamp stamp = {.high = overflows, .low = low};
    if ((TIFR1 & (1U << TOV1)) != 0 && low < 0x8000U) {
        stamp.high++;
    }
    return stamp;
}

ISR(TIMER1_OVF_vect) { overflows++; }

ISR(TIMER1_CAPT_vect)
{
    uint8_t following = (uint8_t)((next + 1U) & (STAMPS - 1));
    struct nr_io_stamp stamp = whole(ICR1);
    if (following != first) {
        stamps[next] = stamp;
        next = following;
    } else if (missed < UINT16_MAX) {
        missed++;
    }
}

void edge_clock_begin(void)
{
    PORTB |= 1U << PORTB0; /* SYNC is high at rest, also where no DUT is wired */
    TCCR1A = 0;
    /* falling edge, four equal samples: always 0.25 us late */
    TCCR1B = (1U << ICNC1) | (1U << CS11);
    TIFR1 = (1U << ICF1) | (1U << TOV1);
    TIMSK1 = (1U << ICIE1) | (1U << TOIE1);
}

struct nr_io_stamp edge_clock_time(void)
{
    struct nr_io_stamp stamp = {0, 0};
    ATOMIC_BLOCK(ATOMIC_RESTORESTATE)
    {
        stamp = whole(TCNT1);
    }
    return stamp;
}

bool edge_clock_heard(void) { return next != first; }

bool edge_clock_take(struct nr_io_stamp *stamp)
{
    if (next == first) {
        return false;
    }
    *stamp = stamps[first];
    first = (uint8_t)((first + 1U) & (STAMPS - 1));
    return true;
}

uint16_t edge_clock_missed(void)
{
    uint16_t count = 0;
    ATOMIC_BLOCK(ATOMIC_RESTORESTATE)
    {
        count = missed;
    }
    return count;
}
