/* SPDX-License-Identifier: Apache-2.0 */
/* Common parts of every Cortex-M: interrupts, the start, and the parts of the port that boards
   share. */
#ifndef NR_CORTEX_M_H
#define NR_CORTEX_M_H

#include <stdint.h>

#include "nr_board_numbers.h"
#include "nr_port.h"

#define NR_REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))

static inline void nr_interrupts_off(void) { __asm__ volatile("cpsid i" ::: "memory"); }
static inline void nr_interrupts_on(void) { __asm__ volatile("cpsie i" ::: "memory"); }

/* Sleeps until an interrupt is pending, also where interrupts are off: then its handler runs as
   soon as they are on again. */
static inline void nr_wait_for_interrupt(void) { __asm__ volatile("dsb\n\twfi" ::: "memory"); }

static inline void nr_interrupt_enable(uint32_t number)
{
    NR_REGISTER(0xE000E100U + number / 32U * 4U) = 1U << (number % 32U);
}
static inline void nr_interrupt_unpend(uint32_t number)
{
    NR_REGISTER(0xE000E280U + number / 32U * 4U) = 1U << (number % 32U);
}

/* The handlers a board supplies; systick.c has the second one for boards that wake by SysTick. The
   third raises SYNC where no timer can: some cycles late, and part of what is measured. */
void nr_on_uart(void);
void nr_on_wake(void);
void nr_on_sync(void);
#ifdef NR_SYNC_INTERRUPT
#define NR_RISE_LATE_US 10U /* behind the interrupt of a byte, at 12 MHz */
#else
#define NR_RISE_LATE_US 0U
#endif

/* start.c: where the processor begins, and the paint on its stack. */
void nr_on_reset(void);
uint32_t nr_stack_size_b(void);
uint32_t nr_stack_unused_b(void);

int main(void);

/* port.c */
void nr_cortex_m_port(struct nr_port *port, const char *build);

#endif
