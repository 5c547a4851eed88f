/* SPDX-License-Identifier: Apache-2.0 */
/* Arduino Nano 33 BLE, an nRF52840; pins by 32 * port + pin. */
#ifndef NR_BOARD_NUMBERS_H
#define NR_BOARD_NUMBERS_H

#define NR_DEVICE "nano33ble"
#define NR_SYNC_NAME "D2"
#define NR_INTERRUPTS 48
#define NR_UART_INTERRUPT 2
#define NR_WAKE_INTERRUPT 8 /* TIMER0: SysTick stops while the processor sleeps */
#define NR_SLOTS 2

/* TX, RX and D2 of the board: P1.03, P1.10, P1.11. */
#define NR_PIN_TX 35U
#define NR_PIN_RX 42U
#define NR_PIN_SYNC 43U

/* The sensors' supply P0.22, the pull-ups of their bus P1.00, the power LED P1.09. */
#define NR_LOW_PINS {1U << 22U, 1U << 0U | 1U << 9U}

/* The board's bootloader lies before the image, which starts with its own vectors. */
#define NR_MOVES_VECTORS

#endif
