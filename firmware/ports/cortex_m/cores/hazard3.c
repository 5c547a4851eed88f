/* SPDX-License-Identifier: Apache-2.0 */
/* The one trap of a Hazard3, without preemption, as on a Cortex-M with equal priorities. */
#include "nr_cortex_m.h"

#define CAUSE_EXTERNAL 0x8000000BU
#define MIE_EXTERNAL (1U << 11)

static void serve(uint32_t number)
{
    switch (number) {
    case NR_WAKE_INTERRUPT:
        nr_on_wake();
        break;
    case NR_SYNC_INTERRUPT:
        nr_on_sync();
        break;
    case NR_UART_INTERRUPT:
        nr_on_uart();
        break;
    default:
        nr_on_fault();
    }
}

__attribute__((interrupt("machine"), aligned(4))) static void on_trap(void)
{
    uint32_t cause;
    int32_t next;
    __asm__ volatile("csrr %0, mcause" : "=r"(cause));
    if (cause != CAUSE_EXTERNAL) {
        nr_on_fault();
    }
    for (;;) {
        __asm__ volatile("csrr %0, 0xBE4" : "=r"(next)); /* MEINEXT: four times the number */
        if (next < 0) {
            return;
        }
        serve((uint32_t)next / 4U);
    }
}

void nr_core_start(void)
{
    __asm__ volatile("csrw mtvec, %0" : : "r"((uintptr_t)on_trap));
    __asm__ volatile("csrs mie, %0" : : "r"(MIE_EXTERNAL));
}
