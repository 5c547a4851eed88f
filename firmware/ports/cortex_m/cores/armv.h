/* SPDX-License-Identifier: Apache-2.0 */
/* Cortex-M: its interrupts and its sleep. */
#ifndef NR_ARMV_H
#define NR_ARMV_H

#include <stdint.h>

static inline void nr_interrupts_off(void) { __asm__ volatile("cpsid i" ::: "memory"); }
static inline void nr_interrupts_on(void) { __asm__ volatile("cpsie i" ::: "memory"); }

static inline void nr_wait_for_interrupt(void) { __asm__ volatile("dsb\n\twfi" ::: "memory"); }

static inline void nr_interrupt_enable(uint32_t number)
{
    NR_REGISTER(0xE000E100U + number / 32U * 4U) = 1U << (number % 32U);
}
static inline void nr_interrupt_unpend(uint32_t number)
{
    NR_REGISTER(0xE000E280U + number / 32U * 4U) = 1U << (number % 32U);
}

static inline uintptr_t nr_stack_pointer(void)
{
    uintptr_t used;
    __asm__ volatile("mov %0, sp" : "=r"(used));
    return used;
}

#endif
