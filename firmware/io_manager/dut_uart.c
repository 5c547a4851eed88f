/* SPDX-License-Identifier: Apache-2.0 */
#include "dut_uart.h"

#include <avr/interrupt.h>
#include <avr/io.h>
#include <util/atomic.h>

#include "nr_byte_ring.h"

/* A bit has to be at most 256 steps of an 8-bit timer. At 38 400 baud both ways there is not enough
   time for all interrupts. */
#if NR_DUT_BAUD < 7900 || NR_DUT_BAUD > 20000
#error "NR_DUT_BAUD is 9600, 14400 or 19200"
#endif
enum {
    BIT_STEPS = (int)((F_CPU / 8UL + NR_DUT_BAUD / 2UL) / NR_DUT_BAUD),
    /* From the falling edge to the first instruction of its interrupt and on to TCNT2, about 3
       us. */
    LATE_STEPS = 6,
    STOP_BIT = 9
};

static struct nr_byte_ring received;
static struct nr_byte_ring sending;
static volatile uint16_t broken;
static volatile uint16_t lost;

/* Whose bit it is: 0 the start bit, 1 to 8 data, 9 the stop bit; in sending 10 is the end of the
   stop bit. */
static uint8_t receiving_bit;
static uint8_t receiving_byte;
static volatile bool busy;
static uint8_t sending_bit;
static uint8_t sending_byte;

/* ---- from the DUT ---- */

static void await_start(void)
{
    TIMSK2 = 0;
    EIFR = 1U << INTF0;
    EIMSK = 1U << INT0;
}

/* A start bit begins. A line that stays low makes one byte, and a broken one: only the next edge
   begins another. */
ISR(INT0_vect)
{
    TCNT2 = (uint8_t)(BIT_STEPS - BIT_STEPS / 2 + LATE_STEPS);
    TIFR2 = 1U << OCF2A;
    TIMSK2 = 1U << OCIE2A;
    EIMSK = 0;
    receiving_bit = 0;
}

static void end_byte(bool stop)
{
    if (!stop) {
        broken = (uint16_t)(broken < UINT16_MAX ? broken + 1U : broken);
    } else if (!nr_byte_ring_put(&received, receiving_byte)) {
        lost = (uint16_t)(lost < UINT16_MAX ? lost + 1U : lost);
    }
    await_start();
}

ISR(TIMER2_COMPA_vect)
{
    bool high = (PIND & (1U << PIND2)) != 0;
    if (receiving_bit == STOP_BIT) {
        end_byte(high);
    } else if (receiving_bit == 0 && high) {
        await_start(); /* a spike, no start bit */
    } else {
        receiving_byte = (uint8_t)((receiving_byte >> 1) | (high ? 0x80U : 0U));
        receiving_bit++;
    }
}

/* ---- to the DUT ---- */

/* Level of the pin after the next match of timer 0. */
static void next_level(bool high)
{
    TCCR0A = (uint8_t)((1U << WGM01) | (1U << COM0A1) | (high ? 1U << COM0A0 : 0U));
}

/* Each match has just put out the bit prepared at the one before. */
ISR(TIMER0_COMPA_vect)
{
    if (sending_bit >= 1 && sending_bit < STOP_BIT) {
        next_level((sending_byte & 1U) != 0);
        sending_byte >>= 1;
        sending_bit++;
    } else if (sending_bit == STOP_BIT) {
        next_level(true);
        sending_bit++;
    } else {
        int byte = nr_byte_ring_take(&sending);
        if (byte >= 0) {
            sending_byte = (uint8_t)byte;
            next_level(false);
            sending_bit = 1;
        } else if (sending_bit > STOP_BIT) {
            sending_bit = 0; /* the stop bit has just begun: it ends with the next match */
        } else {
            busy = false;
            TIMSK0 = 0;
        }
    }
}

/* ---- the rest ---- */

void dut_uart_begin(void)
{
    OCR0A = OCR2A = (uint8_t)(BIT_STEPS - 1);
    next_level(true);
    /* the forced match makes the line high before it is driven */
    TCCR0B = (1U << FOC0A) | (1U << CS01);
    PORTD |= 1U << PORTD6;
    DDRD |= 1U << DDD6;
    TCCR2A = 1U << WGM21;
    TCCR2B = 1U << CS21;
    EICRA = 1U << ISC01; /* falling edge */
    await_start();
}

int dut_uart_read(void) { return nr_byte_ring_take(&received); }

uint8_t dut_uart_room(void) { return nr_byte_ring_room(&sending); }

void dut_uart_write(uint8_t byte)
{
    if (!nr_byte_ring_put(&sending, byte)) {
        return;
    }
    ATOMIC_BLOCK(ATOMIC_RESTORESTATE)
    {
        if (!busy) {
            busy = true;
            TIFR0 = 1U << OCF0A;
            TIMSK0 = 1U << OCIE0A;
        }
    }
}

bool dut_uart_idle(void) { return !busy; }

bool dut_uart_heard(void) { return nr_byte_ring_used(&received) > 0; }

bool dut_uart_high(void) { return (PIND & (1U << PIND2)) != 0; }

static uint16_t count_of(const volatile uint16_t *counter)
{
    uint16_t count = 0;
    ATOMIC_BLOCK(ATOMIC_RESTORESTATE)
    {
        count = *counter;
    }
    return count;
}

uint16_t dut_uart_broken(void) { return count_of(&broken); }

uint16_t dut_uart_lost(void) { return count_of(&lost); }
