/* SPDX-License-Identifier: Apache-2.0 */
/* The start and the traps of an ESP32-C6, which knows only a table of them (espressif/esp-idf:
   riscv/vectors_intc.S), without preemption, as on a Cortex-M with equal priorities. */
#include "nr_cortex_m.h"

#define PLIC_TYPE NR_REGISTER(NR_PLIC + 0x04U)
#define PLIC_CLEAR NR_REGISTER(NR_PLIC + 0x08U)
#define PLIC_THRESHOLD NR_REGISTER(NR_PLIC + 0x90U)
#define CAUSE_INTERRUPT 0x80000000U
#define TABLE_OF_JUMPS 1U

/* The boot ROM jumps here with a stack of its own. */
__asm__(".section .text.nr_entry, \"ax\"\n"
        "    .globl nr_entry\n"
        "nr_entry:\n"
        "    csrci mstatus, 8\n"
        "    la sp, nr_stack_top\n"
        "    j nr_on_reset\n"
        "    .previous\n");

/* One jump of four bytes a line. The processor takes 24 bits of the address. */
__asm__(".section .vectors, \"ax\"\n"
        "    .balign 256\n"
        "nr_vectors:\n"
        "    .option push\n"
        "    .option norvc\n"
        "    .rept 32\n"
        "    j nr_on_trap\n"
        "    .endr\n"
        "    .option pop\n"
        "    .previous\n");
extern const uint32_t nr_vectors[];

void nr_on_trap(void);
__attribute__((interrupt("machine"), used)) void nr_on_trap(void)
{
    uint32_t cause;
    __asm__ volatile("csrr %0, mcause" : "=r"(cause));
    switch (cause) {
    case CAUSE_INTERRUPT | NR_WAKE_INTERRUPT:
        nr_on_wake();
        break;
    case CAUSE_INTERRUPT | NR_UART_INTERRUPT:
        nr_on_uart();
        break;
    default:
        nr_on_fault();
    }
}

void nr_core_start(void)
{
    NR_PLIC_ENABLE = 0;
    PLIC_TYPE = 0; /* levels */
    PLIC_CLEAR = 0xFFFFFFFFU;
    PLIC_CLEAR = 0;
    PLIC_THRESHOLD = 1U; /* as esp-idf: interrupts of priority 1 and above */
    __asm__ volatile("csrw mie, zero");
    __asm__ volatile("csrw mtvec, %0" : : "r"((uintptr_t)nr_vectors | TABLE_OF_JUMPS));
}
