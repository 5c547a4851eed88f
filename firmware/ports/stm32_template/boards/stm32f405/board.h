/* SPDX-License-Identifier: Apache-2.0 */
/* STM32F405, RM0090, as it leaves reset: on its internal 16 MHz oscillator, no crystal needed. Copy
   this folder for another part. BOARD: each of these lines; the parts' data sheet has the pins, the
   reference manual the rest. */
#ifndef BOARD_H
#define BOARD_H

/* Name and clocks: of the core, of the USART and of the timer. Where you set up a PLL (start_clocks
   in port.c), these three follow. */
#ifdef EMULATED /* QEMU clocks core and timers of its model as it likes, and a USART not at all */
#define BOARD_NAME "stm32f405, emulated"
#define CORE_HZ 168000000U
#define USART_HZ 16000000U
#define TIMER_HZ 1000000000U
#else
#define BOARD_NAME "stm32f405" /* the device's name for the host */
#define CORE_HZ 16000000U
#define USART_HZ 16000000U
#define TIMER_HZ 16000000U
#endif

/* Clock gates: chapter "Reset and clock control", RCC_AHB1ENR, RCC_APB1ENR, RCC_APB2ENR. */
#define GPIO_ENABLE 0x40023830U
#define GPIO_ENABLE_BITS (1U << 0) /* GPIOA: all three pins */
#define USART_ENABLE 0x40023844U
#define USART_ENABLE_BITS (1U << 4)
#define TIMER_ENABLE 0x40023840U
#define TIMER_ENABLE_BITS (1U << 0)

/* The UART: USART1 on PA9 (Tx) and PA10 (Rx), alternate function 7. Interrupt number: chapter
   "Interrupts and events". */
#define USART 0x40011000U
#define USART_IRQ 37
#define USART_HAS_DR 1
#define USART_PORT 0x40020000U
#define USART_TX_PIN 9U
#define USART_RX_PIN 10U
#define USART_ALTERNATE 7U

/* SYNC: any free pin of a port that drives push-pull. */
#define SYNC_PORT 0x40020000U
#define SYNC_PIN 8U
#define SYNC_NAME "PA8"

/* The timer: one with 32 bits that has no other use. TIM2. */
#define TIMER 0x40000000U

#endif
