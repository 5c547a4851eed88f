/* SPDX-License-Identifier: Apache-2.0 */
/* nRF52840-DK (PCA10056); pins by 32 * port + pin. */
#ifndef NR_BOARD_NUMBERS_H
#define NR_BOARD_NUMBERS_H

#define NR_DEVICE "nrf52840dk"
#define NR_SYNC_NAME "P0.03"
#define NR_INTERRUPTS 48
#define NR_UART_INTERRUPT 2
#define NR_WAKE_INTERRUPT 8 /* TIMER0: SysTick stops while the processor sleeps */
#define NR_SLOTS 2

/* The UART of the debugger on the board; SYNC is A0 of the Arduino header. */
#define NR_PIN_TX 6U
#define NR_PIN_RX 8U
#define NR_PIN_SYNC 3U

#endif
