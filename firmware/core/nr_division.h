/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NR_DIVISION_H
#define NR_DIVISION_H

#include <stdint.h>

/* Divides `*number` by `divisor`, 1 to 2^63, and replaces it by the quotient; returns the
   remainder. Works bit by bit, in at most a sixth (Cortex-M0+) of the flash of libgcc's division.
   It is slower, so it is never used in a timed window. */
uint64_t nr_divide(uint64_t *number, uint64_t divisor);

/* number * to / from, rounded down, without an overflow on the way: 1 s of one clock in ticks of
   another. `from` is 1 or more. */
uint64_t nr_scale(uint64_t number, uint32_t to, uint32_t from);

#endif
