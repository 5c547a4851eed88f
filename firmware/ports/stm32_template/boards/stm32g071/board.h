/* SPDX-License-Identifier: Apache-2.0 */
/* STM32G071, RM0444, as it leaves reset: on its internal 16 MHz oscillator. Pins as on a
   NUCLEO-G071RB, whose ST-LINK is the USB bridge. BOARD: each of these lines; the parts' data sheet
   has the pins, the reference manual the rest. */
#ifndef BOARD_H
#define BOARD_H

#define BOARD_NAME "stm32g071"

#define CORE_HZ 16000000U
#define USART_HZ 16000000U
#define TIMER_HZ 16000000U

/* Clock gates: chapter "Reset and clock control", RCC_IOPENR and RCC_APBENR1 (twice). */
#define GPIO_ENABLE 0x40021034U
#define GPIO_ENABLE_BITS (1U << 0)
#define USART_ENABLE 0x4002103CU
#define USART_ENABLE_BITS (1U << 17)
#define TIMER_ENABLE 0x4002103CU
#define TIMER_ENABLE_BITS (1U << 0)

/* The UART: USART2 on PA2 (Tx) and PA3 (Rx), alternate function 1. */
#define USART 0x40004400U
#define USART_IRQ 28
#define USART_HAS_DR 0
#define USART_PORT 0x50000000U
#define USART_TX_PIN 2U
#define USART_RX_PIN 3U
#define USART_ALTERNATE 1U

/* SYNC: PA8, D7 of the Arduino connector. */
#define SYNC_PORT 0x50000000U
#define SYNC_PIN 8U
#define SYNC_NAME "PA8"

/* The timer: TIM2, 32 bits. */
#define TIMER 0x40000000U

#endif
