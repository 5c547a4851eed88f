/* SPDX-License-Identifier: Apache-2.0 */
/* The vector table of a Cortex-M. */
#include "nr_cortex_m.h"

extern uint32_t nr_stack_top[];

enum { SYSTEM_HANDLERS = 15 };

struct vectors {
    uint32_t *stack_top;
    void (*handler[SYSTEM_HANDLERS + NR_INTERRUPTS])(void);
};

extern const struct vectors nr_vectors;
__attribute__((section(".vectors"), used)) const struct vectors nr_vectors = {
    nr_stack_top,
    {
        [0] = nr_on_reset,
        [1] = nr_on_fault, /* NMI */
        [2] = nr_on_fault, /* HardFault; the other faults escalate to it */
#ifdef NR_WAKE_INTERRUPT
        [SYSTEM_HANDLERS + NR_WAKE_INTERRUPT] = nr_on_wake,
#else
        [14] = nr_on_wake, /* SysTick */
#endif
#ifdef NR_SYNC_INTERRUPT
        [SYSTEM_HANDLERS + NR_SYNC_INTERRUPT] = nr_on_sync,
#endif
        [SYSTEM_HANDLERS + NR_UART_INTERRUPT] = nr_on_uart,
    },
};

void nr_core_start(void)
{
#ifdef NR_MOVES_VECTORS
    NR_REGISTER(0xE000ED08U) = (uintptr_t)&nr_vectors; /* VTOR */
#endif
}
