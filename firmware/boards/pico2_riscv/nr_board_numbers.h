/* SPDX-License-Identifier: Apache-2.0 */
/* Raspberry Pi Pico 2: RP2350, its Hazard3 (RISC-V), running from its 12 MHz crystal. */
#ifndef NR_BOARD_NUMBERS_H
#define NR_BOARD_NUMBERS_H

#define NR_RP2350
#define NR_DEVICE "pico2-riscv"
#define NR_SYNC_NAME "GP2"
#define NR_INTERRUPTS 52
#define NR_WAKE_INTERRUPT 0 /* TIMER0, alarm 0 */
#define NR_SYNC_INTERRUPT 1 /* TIMER0, alarm 1 */
#define NR_UART_INTERRUPT 33 /* UART0 */
#define NR_CPU_HZ 12000000U
#define NR_SLOTS 2

/* UART0 and SYNC, by number of GPIO. */
#define NR_PIN_TX 0U
#define NR_PIN_RX 1U
#define NR_PIN_SYNC 2U

#endif
