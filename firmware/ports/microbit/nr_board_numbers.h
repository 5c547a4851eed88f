/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NR_BOARD_NUMBERS_H
#define NR_BOARD_NUMBERS_H

#define NR_INTERRUPTS 32
#define NR_UART_INTERRUPT 2
#define NR_WAKE_INTERRUPT 8 /* TIMER0: this processor has no SysTick */
#define NR_SLOTS 1

#endif
