/* SPDX-License-Identifier: Apache-2.0 */
/* The clocks. After reset a real STM32F405 runs from its 16 MHz HSI, timers, UART and all; a board
   that starts its PLL before main says so here. The emulator (-M netduinoplus2, whose clock tree is
   a stub) clocks TIM2 with 1 GHz, and its UART takes any divider. */
#ifndef NR_BOARD_NUMBERS_H
#define NR_BOARD_NUMBERS_H

#define NR_INTERRUPTS 82
#define NR_UART_INTERRUPT 37 /* USART1 */
#define NR_SLOTS 2

#ifdef NR_EMULATED
#define NR_CPU_HZ 168000000U
#define NR_TIM_HZ 1000000000U
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

#endif
