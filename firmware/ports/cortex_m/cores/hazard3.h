/* SPDX-License-Identifier: Apache-2.0 */
/* Hazard3, the RISC-V of the RP2350: its interrupts, in arrays of 16 bits a window (Xh3irq: RP2350
   datasheet, Hazard3; raspberrypi/pico-sdk hardware/regs/rvcsr.h). */
#ifndef NR_HAZARD3_H
#define NR_HAZARD3_H

#include <stdint.h>

/* MEIEA enables interrupts, MEIFA forces them. */
#define NR_WINDOW(number) ((number) / 16U | (uint32_t)0x10000U << ((number) % 16U))

static inline void nr_interrupts_off(void) { __asm__ volatile("csrci mstatus, 8" ::: "memory"); }
static inline void nr_interrupts_on(void) { __asm__ volatile("csrsi mstatus, 8" ::: "memory"); }

static inline void nr_wait_for_interrupt(void) { __asm__ volatile("fence\n\twfi" ::: "memory"); }

static inline void nr_interrupt_enable(uint32_t number)
{
    __asm__ volatile("csrs 0xBE0, %0" : : "r"(NR_WINDOW(number)));
}

/* An interrupt is pending as long as its source holds it. */
static inline void nr_interrupt_unpend(uint32_t number)
{
    __asm__ volatile("csrc 0xBE2, %0" : : "r"(NR_WINDOW(number)));
}

static inline uintptr_t nr_stack_pointer(void)
{
    uintptr_t used;
    __asm__ volatile("mv %0, sp" : "=r"(used));
    return used;
}

#endif
