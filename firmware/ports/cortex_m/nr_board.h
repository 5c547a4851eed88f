/* SPDX-License-Identifier: Apache-2.0 */
/* The board's part of the shared Cortex-M port: ports/NAME/board.c has these functions,
   ports/NAME/nr_board_numbers.h the sizes. All are called from the main loop, none from an
   interrupt. The board's interrupts: the UART's calls nr_ring_put for each byte, the one that ends
   a rest is empty. */
#ifndef NR_BOARD_H
#define NR_BOARD_H

#include <stddef.h>
#include <stdint.h>

#include "nr_port.h"

/* Fills in the description of the board: device, tick_hz (always 1 MHz here), hold_min_us, flags,
   sync_pin, baud; and sync_level where the pin can be read. */
void nr_board_describe(struct nr_port *port);

/* Clocks, pins with SYNC high, the counter, and the UART with its receive interrupt. */
void nr_board_init(void);

/* The free-running 32-bit counter of microseconds. */
uint32_t nr_board_counter_us(void);

/* Drops SYNC, reads the counter, both in constant time; hardware raises the line when the counter
   has gone on by `low_us`, up to 65536. Interrupts are off. */
uint32_t nr_board_pulse(uint32_t low_us);

/* Whether a rate of the UART is off by more than 2 %, which the far end may not understand. For
   whole numbers, so that the preprocessor can ask. */
#define NR_BAUD_IS_OFF(made, baud) \
    (((made) > (baud) ? (made) - (baud) : (baud) - (made)) > (baud) / 50U)

/* The rate after reset; a build may choose another one that the board's clock can make. */
#ifndef NR_BAUD_AT_START
#define NR_BAUD_AT_START 115200U
#endif

/* Hands one byte to the UART, waiting for room; drain returns when the last bit has left. */
void nr_board_uart_put(uint8_t byte);
void nr_board_uart_drain(void);

/* As nr_port.set_baud; only the check of the divider and the divider itself. */
int nr_board_uart_set_baud(uint32_t baud);

/* Raises an interrupt once, `delay_us` (1 to 10000) from now, and takes an interrupt that was not
   needed back. */
void nr_board_wake_after(uint32_t delay_us);
void nr_board_wake_off(void);

#ifdef NR_EMULATED
/* Sends text to the host on the edge wire, which is not the UART; waits for room. */
void nr_board_wire_write(const char *text, size_t length_b);
#endif

#endif
