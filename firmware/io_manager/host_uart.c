/* SPDX-License-Identifier: Apache-2.0 */
#include "host_uart.h"

#include <avr/interrupt.h>
#include <avr/io.h>
#include <util/atomic.h>

#include "nr_byte_ring.h"

#ifndef NR_HOST_BAUD
#define NR_HOST_BAUD 115200
#endif

/* With U2X: 2.1 % above 115 200 at 16 MHz, as every Arduino Uno; 0.2 % off at 9600. */
#define DIVISOR ((F_CPU + 4UL * NR_HOST_BAUD) / (8UL * NR_HOST_BAUD))

static struct nr_byte_ring received;
static struct nr_byte_ring sending;
static volatile uint16_t lost;

ISR(USART_RX_vect)
{
    bool overrun = (UCSR0A & (1U << DOR0)) != 0;
    bool full = !nr_byte_ring_put(&received, UDR0);
    if ((overrun || full) && lost < UINT16_MAX) {
        lost++;
    }
}

ISR(USART_UDRE_vect)
{
    int byte = nr_byte_ring_take(&sending);
    if (byte < 0) {
        UCSR0B &= (uint8_t)~(1U << UDRIE0);
    } else {
        UDR0 = (uint8_t)byte;
    }
}

void host_uart_begin(void)
{
    UCSR0A = 1U << U2X0; /* first: simavr works its rate out where the divisor is set */
    UBRR0 = (uint16_t)(DIVISOR - 1UL);
    UCSR0C = (1U << UCSZ01) | (1U << UCSZ00);
    UCSR0B = (1U << RXEN0) | (1U << TXEN0) | (1U << RXCIE0);
}

int host_uart_read(void) { return nr_byte_ring_take(&received); }

bool host_uart_heard(void) { return nr_byte_ring_used(&received) > 0; }

void host_uart_write(uint8_t byte)
{
    while (!nr_byte_ring_put(&sending, byte)) {
        /* the interrupt makes room */
    }
    ATOMIC_BLOCK(ATOMIC_RESTORESTATE)
    {
        UCSR0B |= 1U << UDRIE0;
    }
}

uint16_t host_uart_lost(void)
{
    uint16_t count = 0;
    ATOMIC_BLOCK(ATOMIC_RESTORESTATE)
    {
        count = lost;
    }
    return count;
}
