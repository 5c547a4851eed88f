/* SPDX-License-Identifier: Apache-2.0 */
/* From reset to main: the vector table, the two memories, and paint on the stack. No vendor's code,
   no library's. */
#include "nr_cortex_m.h"

#include <stddef.h>

/* image.ld says where, and how many words. */
enum { WORDS_OF_STACK, WORDS_OF_DATA, WORDS_OF_BSS, WORD_COUNTS };
extern const uint32_t nr_words[WORD_COUNTS];
extern uint32_t nr_stack_limit[];
extern uint32_t nr_stack_top[];
extern const uint32_t nr_data_image[];
extern uint32_t nr_data_start[];
extern uint32_t nr_bss_start[];

enum { SYSTEM_HANDLERS = 15 };
static const uint32_t paint = 0xC5A35C3AU;

struct vectors {
    uint32_t *stack_top;
    void (*handler[SYSTEM_HANDLERS + NR_INTERRUPTS])(void);
};

/* A processor that does not know what to do falls silent: the host names it. Below the stack there
   is no memory, so overflow ends here too. */
static void on_fault(void)
{
    nr_interrupts_off();
    for (;;) {
        nr_wait_for_interrupt();
    }
}

extern const struct vectors nr_vectors;
__attribute__((section(".vectors"), used)) const struct vectors nr_vectors = {
    nr_stack_top,
    {
        [0] = nr_on_reset,
        [1] = on_fault, /* NMI */
        [2] = on_fault, /* HardFault; the other faults escalate to it */
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

void nr_on_reset(void)
{
    uintptr_t used;
    __asm__ volatile("mov %0, sp" : "=r"(used));
    for (size_t i = 0; i < (used - (uintptr_t)nr_stack_limit) / sizeof paint; i++) {
        nr_stack_limit[i] = paint;
    }
    for (size_t i = 0; i < nr_words[WORDS_OF_DATA]; i++) {
        nr_data_start[i] = nr_data_image[i];
    }
    for (size_t i = 0; i < nr_words[WORDS_OF_BSS]; i++) {
        nr_bss_start[i] = 0;
    }
#ifdef NR_MOVES_VECTORS
    NR_REGISTER(0xE000ED08U) = (uintptr_t)&nr_vectors; /* VTOR */
#endif
    (void)main();
    on_fault();
}

uint32_t nr_stack_size_b(void) { return nr_words[WORDS_OF_STACK] * sizeof paint; }

uint32_t nr_stack_unused_b(void)
{
    size_t i = 0;
    while (i < nr_words[WORDS_OF_STACK] && nr_stack_limit[i] == paint) {
        i++;
    }
    return (uint32_t)(i * sizeof paint);
}
