/* SPDX-License-Identifier: Apache-2.0 */
#ifndef START_H
#define START_H

#include <stdint.h>

/* The size of the stack, and how many of its bytes were never used since reset. */
uint32_t nr_stack_b(void);
uint32_t nr_stack_unused_b(void);

/* The interrupt handlers of port.c. */
void nr_on_systick(void);
void nr_on_usart(void);

#endif
