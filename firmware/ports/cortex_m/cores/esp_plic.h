/* SPDX-License-Identifier: Apache-2.0 */
/* The RISC-V of an ESP32-C6 and its interrupt controller, with 32 lines of a level
   (espressif/esp-idf: soc/esp32c6/register/soc/plic_reg.h; 3, 4 and 7 are the CLINT's). */
#ifndef NR_ESP_PLIC_H
#define NR_ESP_PLIC_H

#include <stdint.h>

#define NR_PLIC 0x20001000U /* DR_REG_PLIC_MX_BASE */
#define NR_PLIC_ENABLE NR_REGISTER(NR_PLIC + 0x00U)
#define NR_PLIC_PRIORITY(line) NR_REGISTER(NR_PLIC + 0x10U + 4U * (line))

static inline void nr_interrupts_off(void) { __asm__ volatile("csrci mstatus, 8" ::: "memory"); }
static inline void nr_interrupts_on(void) { __asm__ volatile("csrsi mstatus, 8" ::: "memory"); }

static inline void nr_wait_for_interrupt(void) { __asm__ volatile("fence\n\twfi" ::: "memory"); }

static inline void nr_interrupt_enable(uint32_t line)
{
    const uint32_t bit = 1U << (line & 31U);
    NR_PLIC_PRIORITY(line) = 1U;
    NR_PLIC_ENABLE |= bit;
    __asm__ volatile("csrs mie, %0" : : "r"(bit));
}

/* An interrupt is pending as long as its source holds it. */
static inline void nr_interrupt_unpend(uint32_t line) { (void)line; }

static inline uintptr_t nr_stack_pointer(void)
{
    uintptr_t used;
    __asm__ volatile("mv %0, sp" : "=r"(used));
    return used;
}

#endif
