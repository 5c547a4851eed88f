/* SPDX-License-Identifier: Apache-2.0 */
/* Registers that are the same on most STM32, by the names of the reference manuals (RM0090 for
   STM32F405, RM0444 for STM32G071). What differs from part to part (where a peripheral lies, its
   clock, its interrupt, its pins) is in boards/NAME/board.h. */
#ifndef STM32_H
#define STM32_H

#include <stdint.h>

#include "board.h"

/* The register at an address; every access happens, in order. */
static inline volatile uint32_t *reg(uint32_t address)
{
    return (volatile uint32_t *)(uintptr_t)address;
}

/* Chapter "General-purpose I/Os", "GPIO registers". */
enum { GPIO_MODER = 0x00, GPIO_PUPDR = 0x0C, GPIO_IDR = 0x10, GPIO_BSRR = 0x18, GPIO_AFRL = 0x20 };
enum { GPIO_OUTPUT = 1, GPIO_ALTERNATE = 2, GPIO_PULL_UP = 1 };

/* Chapter "General-purpose timers (TIM2 to TIM5)", "TIMx registers". */
enum { TIM_CR1 = 0x00, TIM_EGR = 0x14, TIM_CNT = 0x24, TIM_PSC = 0x28, TIM_ARR = 0x2C };
enum { TIM_CR1_CEN = 1 << 0, TIM_EGR_UG = 1 << 0 };

/* Chapter "USART", "USART registers". There are two generations, distinguished by the register of a
   received byte: DR, or RDR. */
#if USART_HAS_DR /* F1, F2, F4, L1 */
enum {
    USART_STATUS = 0x00,
    USART_RECEIVE = 0x04,
    USART_TRANSMIT = 0x04,
    USART_BRR = 0x08,
    USART_CR1 = 0x0C
};
enum { USART_CR1_UE = 1 << 13 };
#else /* F0, F3, F7, G0, G4, H5, H7, L0, L4, L5, U0, U5, WB, WL */
enum {
    USART_CR1 = 0x00,
    USART_BRR = 0x0C,
    USART_STATUS = 0x1C,
    USART_ICR = 0x20,
    USART_RECEIVE = 0x24,
    USART_TRANSMIT = 0x28
};
enum { USART_CR1_UE = 1 << 0 };
#endif
enum { USART_CR1_RE = 1 << 2, USART_CR1_TE = 1 << 3, USART_CR1_RXNEIE = 1 << 5 };
enum {
    USART_ERRORS = 0x0F,
    USART_ORE = 1 << 3,
    USART_RXNE = 1 << 5,
    USART_TC = 1 << 6,
    USART_TXE = 1 << 7
};

/* Of every Cortex-M: Arm's architecture reference manual, "System timer, SysTick" and "NVIC". */
enum { SYST_ENABLE = 1 << 0, SYST_TICKINT = 1 << 1, SYST_CLKSOURCE = 1 << 2 };
#define SYST_CSR 0xE000E010U
#define SYST_RVR 0xE000E014U
#define SYST_CVR 0xE000E018U
#define NVIC_ISER 0xE000E100U
#define SCB_ICSR 0xE000ED04U
#define ICSR_PENDSTCLR (1U << 25)
#define SYST_MAX 0x00FFFFFFU

static inline void interrupts_off(void) { __asm__ volatile("cpsid i" ::: "memory"); }
static inline void interrupts_on(void) { __asm__ volatile("cpsie i\n\tisb" ::: "memory"); }
static inline void wait_for_interrupt(void) { __asm__ volatile("dsb\n\twfi" ::: "memory"); }

#endif
