/* SPDX-License-Identifier: Apache-2.0 */
/* From reset to main: the two memories, and paint on the stack. No vendor's code, no library's. */
#include "nr_cortex_m.h"

#include <stddef.h>

/* image.ld says where, and how many words. */
enum { WORDS_OF_STACK, WORDS_OF_DATA, WORDS_OF_BSS, WORD_COUNTS };
extern const uint32_t nr_words[WORD_COUNTS];
extern uint32_t nr_stack_limit[];
extern const uint32_t nr_data_image[];
extern uint32_t nr_data_start[];
extern uint32_t nr_bss_start[];

static const uint32_t paint = 0xC5A35C3AU;

/* A processor that does not know what to do falls silent: the host names it. Below the stack there
   is no memory, so overflow ends here too. */
void nr_on_fault(void)
{
    nr_interrupts_off();
    for (;;) {
        nr_wait_for_interrupt();
    }
}

void nr_on_reset(void)
{
    uintptr_t used = nr_stack_pointer();
    for (size_t i = 0; i < (used - (uintptr_t)nr_stack_limit) / sizeof paint; i++) {
        nr_stack_limit[i] = paint;
    }
    for (size_t i = 0; i < nr_words[WORDS_OF_DATA]; i++) {
        nr_data_start[i] = nr_data_image[i];
    }
    for (size_t i = 0; i < nr_words[WORDS_OF_BSS]; i++) {
        nr_bss_start[i] = 0;
    }
    nr_core_start();
    (void)main();
    nr_on_fault();
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
