/* SPDX-License-Identifier: Apache-2.0 */
/* NUCLEO-G071RB, STM32G071 (RM0444), as it leaves reset: HSI at 16 MHz. */
#ifndef NR_BOARD_NUMBERS_H
#define NR_BOARD_NUMBERS_H

#define NR_DEVICE "nucleo-g071rb"
#define NR_SYNC_NAME "PA8"
#define NR_INTERRUPTS 31
#define NR_SLOTS 1

#ifndef NR_CPU_HZ
#define NR_CPU_HZ 16000000U
#endif
#ifndef NR_TIM_HZ
#define NR_TIM_HZ NR_CPU_HZ
#endif
#ifndef NR_UART_HZ
#define NR_UART_HZ NR_CPU_HZ
#endif

/* RCC: GPIOA; TIM2 and USART2. */
#define NR_GATES {0x40021034U, 1U}, {0x4002103CU, 1U | 1U << 17U}

/* USART2, which the ST-LINK has: PA2 Tx, PA3 Rx. */
#define NR_UART 0x40004400U
#define NR_UART_INTERRUPT 28
#define NR_UART_HAS_DR 0
#define NR_UART_PORT 0x50000000U
#define NR_UART_FUNCTION 1U
#define NR_PIN_TX 2U
#define NR_PIN_RX 3U

/* PA8, D7 of the Arduino connector, raised by the interrupt of TIM2: its channel 1 at PA5 has the
   green LED, which would be measured, too. */
#define NR_SYNC_PORT 0x50000000U
#define NR_PIN_SYNC 8U
#define NR_SYNC_INTERRUPT 15

#endif
