/* SPDX-License-Identifier: Apache-2.0 */
/* Raspberry Pi Pico: RP2040, running from its 12 MHz crystal. */
#ifndef NR_BOARD_NUMBERS_H
#define NR_BOARD_NUMBERS_H

#define NR_DEVICE "pico"
#define NR_SYNC_NAME "GP2"
#define NR_INTERRUPTS 26
#define NR_WAKE_INTERRUPT 0 /* TIMER, alarm 0 */
#define NR_SYNC_INTERRUPT 1 /* TIMER, alarm 1 */
#define NR_UART_INTERRUPT 20 /* UART0 */
#define NR_CPU_HZ 12000000U
#define NR_SLOTS 2

/* UART0 and SYNC, by number of GPIO. */
#define NR_PIN_TX 0U
#define NR_PIN_RX 1U
#define NR_PIN_SYNC 2U

#endif
