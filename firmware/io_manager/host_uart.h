/* SPDX-License-Identifier: Apache-2.0 */
/* The UART of the ATmega328P, towards the host: pins 0 and 1 of an Arduino Uno, which its USB
   bridge is wired to. */
#ifndef HOST_UART_H
#define HOST_UART_H

#include <stdbool.h>
#include <stdint.h>

void host_uart_begin(void);
int host_uart_read(void);            /* the next byte, or -1 */
void host_uart_write(uint8_t byte);  /* waits for room */
bool host_uart_heard(void);          /* a byte is there to be read */
uint16_t host_uart_lost(void);

#endif
