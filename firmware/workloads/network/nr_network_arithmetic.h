/* SPDX-License-Identifier: Apache-2.0 */
/* Rounded shifts and limits: docs/reference/FIXED_POINT.md, section 1. */
#ifndef NR_NETWORK_ARITHMETIC_H
#define NR_NETWORK_ARITHMETIC_H

#include <stdint.h>

/* C99 leaves the right shift of a negative number to the compiler; these round down everywhere, and
   compile to one instruction. */
static inline int32_t nr_floored_32(int32_t value, int32_t shift)
{
    return value >= 0 ? value >> shift : ~(~value >> shift);
}

static inline int64_t nr_floored_64(int64_t value, int32_t shift)
{
    return value >= 0 ? value >> shift : ~(~value >> shift);
}

/* To the nearest, halves up. */
static inline int32_t nr_rounded_32(int32_t value, int32_t shift)
{
    return nr_floored_32(value + (((int32_t)1 << shift) >> 1), shift);
}

static inline int64_t nr_rounded_64(int64_t value, int32_t shift)
{
    return nr_floored_64(value + (((int64_t)1 << shift) >> 1), shift);
}

static inline int16_t nr_limited_16(int32_t value)
{
#if defined(__ARM_FEATURE_SAT)
    __asm__("ssat %0, #16, %0" : "+r"(value));
    return (int16_t)value;
#else
    if (value > INT16_MAX) {
        return INT16_MAX;
    }
    if (value < INT16_MIN) {
        return INT16_MIN;
    }
    return (int16_t)value;
#endif
}

static inline int32_t nr_limited_32(int64_t value)
{
    if (value > INT32_MAX) {
        return INT32_MAX;
    }
    return value < INT32_MIN ? INT32_MIN : (int32_t)value;
}

#endif
