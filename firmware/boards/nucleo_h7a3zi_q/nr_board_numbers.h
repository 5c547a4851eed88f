/* SPDX-License-Identifier: Apache-2.0 */
/* NUCLEO-H7A3ZI-Q (MB1363), STM32H7A3 (RM0455), as it leaves reset: HSI at 64 MHz, on all buses, no
   cache. PWR_CR3, which chooses the supply, is left alone: a wrong one locks the part. */
#ifndef NR_BOARD_NUMBERS_H
#define NR_BOARD_NUMBERS_H

#define NR_DEVICE "nucleo-h7a3zi-q"
#define NR_SYNC_NAME "PA5"
#define NR_INTERRUPTS 155
#define NR_SLOTS 2

#ifndef NR_CPU_HZ
#define NR_CPU_HZ 64000000U
#endif
#ifndef NR_TIM_HZ
#define NR_TIM_HZ NR_CPU_HZ
#endif
#ifndef NR_UART_HZ
#define NR_UART_HZ NR_CPU_HZ
#endif

/* RCC: GPIOA and D; TIM2 and USART3. */
#define NR_GATES {0x580244E0U, 1U | 1U << 3U}, {0x580244E8U, 1U | 1U << 18U}

/* USART3, which the ST-LINK has: PD8 Tx, PD9 Rx. */
#define NR_UART 0x40004800U
#define NR_UART_INTERRUPT 39
#define NR_UART_HAS_DR 0
#define NR_UART_PORT 0x58020C00U
#define NR_UART_FUNCTION 7U
#define NR_PIN_TX 8U
#define NR_PIN_RX 9U

/* PA5, D13 of the Arduino connector, channel 1 of TIM2. */
#define NR_SYNC_PORT 0x58020000U
#define NR_SYNC_FUNCTION 1U
#define NR_PIN_SYNC 5U

#endif
