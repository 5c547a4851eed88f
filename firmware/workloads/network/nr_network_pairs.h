/* SPDX-License-Identifier: Apache-2.0 */
/* Four weights of 8 bit in a word, two of them at once: by the instructions of a core that has them
   (Cortex-M4 and above), else in C that gives the same. */
#ifndef NR_NETWORK_PAIRS_H
#define NR_NETWORK_PAIRS_H

#include <stdint.h>

/* The least 16 bits of a number, and its least 8, with their sign. */
static inline int32_t nr_signed_16(uint32_t number)
{
    return (int32_t)((number & 0xFFFFU) ^ 0x8000U) - 0x8000;
}

static inline int32_t nr_signed_8(uint32_t number)
{
    return (int32_t)((number & 0xFFU) ^ 0x80U) - 0x80;
}

/* nr_pairs_even adds bytes 0 and 2 of a word to two sums of 16 bit, nr_pairs_odd bytes 1 and 3.
   nr_pairs_products adds the products of four values with bytes 0, 2, 1 and 3. */
#if defined(__ARM_FEATURE_SIMD32)

static inline uint32_t nr_pairs_even(uint32_t sums, uint32_t word)
{
    __asm__("sxtab16 %0, %0, %1" : "+r"(sums) : "r"(word));
    return sums;
}

static inline uint32_t nr_pairs_odd(uint32_t sums, uint32_t word)
{
    __asm__("sxtab16 %0, %0, %1, ror #8" : "+r"(sums) : "r"(word));
    return sums;
}

static inline int32_t nr_pairs_second(uint32_t sums)
{
    return (int32_t)sums >> 16;
}

static inline int32_t nr_pairs_products(int32_t sum, uint32_t word, const int16_t *values)
{
    uint32_t first, second, even, odd;

    __builtin_memcpy(&first, values, sizeof first);
    __builtin_memcpy(&second, &values[2], sizeof second);
    __asm__("sxtb16 %0, %1" : "=r"(even) : "r"(word));
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(odd) : "r"(word));
    __asm__("smlad %0, %1, %2, %0" : "+r"(sum) : "r"(even), "r"(first));
    __asm__("smlad %0, %1, %2, %0" : "+r"(sum) : "r"(odd), "r"(second));
    return sum;
}

#else

/* Both sums in one number, the upper one 65536 times: a negative lower one borrows from the upper,
   and nr_pairs_second gives it back. */
static inline uint32_t nr_pairs_even(uint32_t sums, uint32_t word)
{
    return sums + ((word & 0x00FF00FFU) ^ 0x00800080U) - 0x00800080U;
}

static inline uint32_t nr_pairs_odd(uint32_t sums, uint32_t word)
{
    return nr_pairs_even(sums, word >> 8);
}

static inline int32_t nr_pairs_second(uint32_t sums)
{
    return nr_signed_16((sums + 0x8000U) >> 16);
}

static inline int32_t nr_pairs_products(int32_t sum, uint32_t word, const int16_t *values)
{
    sum += values[0] * nr_signed_8(word);
    sum += values[1] * nr_signed_8(word >> 16);
    sum += values[2] * nr_signed_8(word >> 8);
    sum += values[3] * nr_signed_8(word >> 24);
    return sum;
}

#endif

static inline int32_t nr_pairs_first(uint32_t sums)
{
    return nr_signed_16(sums);
}

#endif
