/* SPDX-License-Identifier: Apache-2.0 */
/* nRF51822, for the emulator alone: without a debugger a real one stops at its first edge. */
#ifndef NR_BOARD_NUMBERS_H
#define NR_BOARD_NUMBERS_H

#ifndef NR_EMULATED
#error "this board has no SYNC pin: it is for the emulator only"
#endif

#define NR_DEVICE "microbit"
#define NR_SYNC_NAME "edge wire"
#define NR_INTERRUPTS 32
#define NR_UART_INTERRUPT 2
#define NR_WAKE_INTERRUPT 8 /* TIMER0: this processor has no SysTick */
#define NR_SLOTS 1
#define NR_PIN_TX 24U
#define NR_PIN_RX 25U

#endif
