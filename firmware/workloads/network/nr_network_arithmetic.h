/* SPDX-License-Identifier: Apache-2.0 */
/* Rounded shifts and limits: docs/reference/FIXED_POINT.md, section 1. */
#ifndef NR_NETWORK_ARITHMETIC_H
#define NR_NETWORK_ARITHMETIC_H

#include <stdint.h>

/* C99 leaves the right shift of a negative number to the compiler; these round down everywhere
   before the half is added, and compile to one instruction. */
static inline int32_t nr_rounded_32(int32_t value, int32_t shift)
{
    if (shift == 0) {
        return value;
    }
    value += (int32_t)1 << (shift - 1);
    return value >= 0 ? value >> shift : ~(~value >> shift);
}

static inline int64_t nr_rounded_64(int64_t value, int32_t shift)
{
    if (shift == 0) {
        return value;
    }
    value += (int64_t)1 << (shift - 1);
    return value >= 0 ? value >> shift : ~(~value >> shift);
}

static inline int16_t nr_limited_16(int32_t value)
{
    if (value > INT16_MAX) {
        return INT16_MAX;
    }
    if (value < INT16_MIN) {
        return INT16_MIN;
    }
    return (int16_t)value;
}

static inline int32_t nr_limited_32(int64_t value)
{
    if (value > INT32_MAX) {
        return INT32_MAX;
    }
    return value < INT32_MIN ? INT32_MIN : (int32_t)value;
}

#endif
