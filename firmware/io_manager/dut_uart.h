/* SPDX-License-Identifier: Apache-2.0 */
/* A UART made of two timers, towards the DUT: from it to PD2 (pin 2 of an Arduino Uno), to it from
   PD6 (pin 6). 8 data bits, 1 stop bit. Timer 0 drives PD6 itself, so that sent bits have no
   jitter; timer 2 sets the time to sample PD2. */
#ifndef DUT_UART_H
#define DUT_UART_H

#include <stdbool.h>
#include <stdint.h>

#ifndef NR_DUT_BAUD
#define NR_DUT_BAUD 9600
#endif

void dut_uart_begin(void);
int dut_uart_read(void); /* the next byte, or -1 */
uint8_t dut_uart_room(void);
void dut_uart_write(uint8_t byte); /* a byte without room is not sent */
bool dut_uart_idle(void);          /* the last stop bit has left */
bool dut_uart_heard(void);
bool dut_uart_high(void);
/* bytes without a stop bit: another rate, or a line that fell low */
uint16_t dut_uart_broken(void);
uint16_t dut_uart_lost(void);

#endif
