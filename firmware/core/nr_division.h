/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NR_DIVISION_H
#define NR_DIVISION_H

#include <stdint.h>

/* Divides `*number` by `divisor`, 1 to 2^63, leaving the quotient in its place; returns the
   remainder. Bit by bit, in a sixth (Cortex-M0+) or less of the flash that libgcc's takes. It is
   slower, so it has no place in what is timed. */
uint64_t nr_divide(uint64_t *number, uint64_t divisor);

/* number * to / from, rounded down, without an overflow on the way: 1 s of one clock in ticks of
   another. `from` is 1 or more. */
uint64_t nr_scale(uint64_t number, uint32_t to, uint32_t from);

#endif
