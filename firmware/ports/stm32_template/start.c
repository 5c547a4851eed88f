/* SPDX-License-Identifier: Apache-2.0 */
/* From reset to main: the vector table, the stack painted, data copied, the rest zeroed. The same
   for every Cortex-M. */
#include "start.h"

#include "stm32.h"

int main(void);
void nr_reset(void);

/* From image.ld; only their addresses mean something. */
extern uint32_t nr_stack_bottom[], nr_stack_top[], nr_data[], nr_data_end[], nr_bss[], nr_bss_end[];
extern const uint32_t nr_data_in_flash[];

#define PAINT 0x5AA55AA5U

/* Entry after a reset, with an empty stack. */
void nr_reset(void)
{
    const uint32_t *from = nr_data_in_flash;
    /* volatile: or the compiler calls memset, which would use the stack that is painted */
    volatile uint32_t *word;
    uint32_t in_use;
    __asm__ volatile("mov %0, sp" : "=r"(in_use));
    for (word = nr_stack_bottom; (uint32_t)(uintptr_t)word < in_use; word++) {
        *word = PAINT;
    }
    for (word = nr_data; word != nr_data_end; word++) {
        *word = *from++;
    }
    for (word = nr_bss; word != nr_bss_end; word++) {
        *word = 0;
    }
    (void)main();
    for (;;) {
    }
}

/* A fault, or an unexpected interrupt: stop here, so that a debugger finds the place and the host a
   silent device. */
static void stand_still(void)
{
    for (;;) {
    }
}

uint32_t nr_stack_b(void)
{
    return (uint32_t)((uintptr_t)nr_stack_top - (uintptr_t)nr_stack_bottom);
}

uint32_t nr_stack_unused_b(void)
{
    const uint32_t *word = nr_stack_bottom;
    while (word != nr_stack_top && *word == PAINT) {
        word++;
    }
    return (uint32_t)((uintptr_t)word - (uintptr_t)nr_stack_bottom);
}

typedef void (*handler)(void);

/* Read by the hardware only. */
struct vectors {
    uint32_t *stack;                   /* cppcheck-suppress unusedStructMember */
    handler system[15];                /* cppcheck-suppress unusedStructMember */
    handler interrupts[USART_IRQ + 1]; /* cppcheck-suppress unusedStructMember */
};

/* Arm's architecture reference manual, "The vector table". BOARD: no change; the only interrupt of
   the part in use is USART_IRQ. */
__attribute__((section(".vectors"), used)) static const struct vectors vectors = {
    nr_stack_top,
    {nr_reset, stand_still, stand_still, stand_still, stand_still, stand_still, stand_still,
     stand_still, stand_still, stand_still, stand_still, stand_still, stand_still, stand_still,
     nr_on_systick},
    {[USART_IRQ] = nr_on_usart},
};
