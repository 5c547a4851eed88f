/* SPDX-License-Identifier: Apache-2.0 */
/* The spectrum of a real signal of at most 1,024 samples, and logarithms, in whole numbers.
   rig/network/sound/spectrum.py has the formulas, and gives the same numbers. */
#ifndef NR_SPECTRUM_H
#define NR_SPECTRUM_H

#include <stddef.h>
#include <stdint.h>

enum {
    NR_SPECTRUM_CIRCLE = 1024,
    NR_SPECTRUM_COSINE_BITS = 30,
    NR_SPECTRUM_LOG_BITS = 16
};

/* Those of the first quarter of the circle. */
extern const int32_t nr_spectrum_cosines[NR_SPECTRUM_CIRCLE / 4 + 1];

/* A complex number of the transform, and the power of a line in its place. */
union nr_spectrum_line {
    struct {
        int32_t real, imaginary;
    } number;
    int64_t power;
};

/* C99 leaves the right shift of a negative number to the compiler; this rounds down everywhere, in
   one instruction or two. */
static inline int64_t nr_spectrum_down(int64_t value, int bits)
{
    return value >= 0 ? value >> bits : ~(~value >> bits);
}

/* Returns a value in units of 2^-16, towards 0, from `least` to 127. */
static inline int8_t nr_spectrum_cut(int64_t raw, int32_t least)
{
    int64_t value =
        raw < 0 ? -(-raw >> NR_SPECTRUM_LOG_BITS) : raw >> NR_SPECTRUM_LOG_BITS;

    if (value < least) {
        value = least;
    }
    return (int8_t)(value > INT8_MAX ? INT8_MAX : value);
}

/* Returns sample `n` of 16 bits, low byte first. */
static inline int32_t nr_spectrum_sample(const uint8_t *samples, int32_t n)
{
    const uint8_t *at = &samples[(ptrdiff_t)2 * n];
    int32_t value = at[0] | at[1] << 8;

    return value >= 32768 ? value - 65536 : value;
}

/* Returns where number `n` of 2^bits complex ones stands before the transform. */
static inline int32_t nr_spectrum_place(int32_t n, int32_t bits)
{
    int32_t result = 0;
    int32_t bit;

    for (bit = 0; bit < bits; bit++) {
        result = result << 1 | (n >> bit & 1);
    }
    return result;
}

/* Returns cos(2 pi place / 1024) in units of 2^-30. */
static inline int32_t nr_spectrum_cosine(int32_t place)
{
    enum { HALF = NR_SPECTRUM_CIRCLE / 2 };

    place &= NR_SPECTRUM_CIRCLE - 1;
    if (place > HALF) {
        place = NR_SPECTRUM_CIRCLE - place;
    }
    return place > HALF / 2 ? -nr_spectrum_cosines[HALF - place] : nr_spectrum_cosines[place];
}

/* Turns 2 x `half` real numbers, two in each complex one, into the powers of lines 0 to `half`, in
   quarters of squared units of the numbers. `half` is a power of two, 512 at most. */
void nr_spectrum_powers(union nr_spectrum_line *lines, int32_t half);

/* Returns the logarithm to base 2 of a positive number in units of 2^-16, rounded down. */
int32_t nr_spectrum_log2(uint64_t number);

#endif
