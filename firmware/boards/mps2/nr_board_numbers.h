/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NR_BOARD_NUMBERS_H
#define NR_BOARD_NUMBERS_H

#define NR_DEVICE "mps2-an385"
#define NR_SYNC_NAME "edge wire"
#define NR_INTERRUPTS 32
#define NR_UART_INTERRUPT 0 /* UART 0 receive */
#define NR_CPU_HZ 25000000U
#define NR_SLOTS 8

#endif
