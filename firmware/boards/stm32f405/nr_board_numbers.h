/* SPDX-License-Identifier: Apache-2.0 */
/* STM32F405 (RM0090). After reset a real one runs from its 16 MHz HSI, timers, UART and all; a
   board that starts its PLL before main says so here. The emulator (-M netduinoplus2, whose clock
   tree is a stub) clocks TIM2 with 1 GHz, and its UART takes any divider; its edge wire is USART2.
   */
#ifndef NR_BOARD_NUMBERS_H
#define NR_BOARD_NUMBERS_H

#define NR_INTERRUPTS 82
#define NR_SLOTS 2

#ifdef NR_EMULATED
#define NR_DEVICE "stm32f405 (netduinoplus2)"
#define NR_SYNC_NAME "edge wire"
#define NR_WIRE 0x40004400U
#define NR_CPU_HZ 168000000U
#define NR_TIM_HZ 1000000000U
#else
#define NR_DEVICE "stm32f405"
#define NR_SYNC_NAME "PA5"
#endif

#ifndef NR_CPU_HZ
#define NR_CPU_HZ 16000000U
#endif
#ifndef NR_TIM_HZ
#define NR_TIM_HZ NR_CPU_HZ /* of TIM2: twice APB1 where that is divided */
#endif
#ifndef NR_UART_HZ
#define NR_UART_HZ NR_CPU_HZ /* of USART1: APB2 */
#endif

/* RCC: GPIOA, TIM2, USART1. */
#define NR_GATES {0x40023830U, 1U}, {0x40023840U, 1U}, {0x40023844U, 1U << 4U}

/* USART1: PA9 Tx, PA10 Rx. */
#define NR_UART 0x40011000U
#define NR_UART_INTERRUPT 37
#define NR_UART_HAS_DR 1
#define NR_UART_PORT 0x40020000U
#define NR_UART_FUNCTION 7U
#define NR_PIN_TX 9U
#define NR_PIN_RX 10U

/* PA5, channel 1 of TIM2. */
#define NR_SYNC_PORT 0x40020000U
#define NR_SYNC_FUNCTION 1U
#define NR_PIN_SYNC 5U

#endif
