/* SPDX-License-Identifier: Apache-2.0 */
#include "nr_sww_features.h"

#include <stddef.h>
#include <string.h>

#include "nr_sww_tables.h"

enum {
    WINDOW = 2 * NR_SWW_HOP,
    QUARTER = WINDOW / 4,
    HALF = WINDOW / 2, /* complex numbers of the transform */
    HALF_BITS = 9,
    COSINE_BITS = 30,
    POWER_SHIFT = 15,
    LOG_BITS = 16
};

/* 0.54 and 0.46 of the window, in units of 2^-30. */
static const int64_t hamming_mean = 579820585;
static const int64_t hamming_swing = 493921239;

/* C99 leaves the right shift of a negative number to the compiler; this rounds down everywhere, in
   one instruction or two. */
static inline int64_t down(int64_t value, int bits)
{
    return value >= 0 ? value >> bits : ~(~value >> bits);
}

/* Returns cos(2 pi place / 1024) in units of 2^-30. */
static int32_t cosine_of(int32_t place)
{
    place &= WINDOW - 1;
    if (place > HALF) {
        place = WINDOW - place;
    }
    return place > QUARTER ? -nr_sww_cosines[HALF - place] : nr_sww_cosines[place];
}

static int32_t sine_of(int32_t place) { return cosine_of(place + 3 * QUARTER); }

/* Returns first * cosine + second * sine, to the nearest, halves up. */
static inline int32_t product(int32_t first, int32_t cosine, int32_t second, int32_t sine)
{
    int64_t half = (int64_t)1 << (COSINE_BITS - 1);

    return (int32_t)down((int64_t)first * cosine + (int64_t)second * sine + half, COSINE_BITS);
}

/* ---- the window ---- */

static void take(struct nr_sww_features *features, const uint8_t *hop)
{
    int16_t *to = &features->samples[NR_SWW_HOP + 1];
    int32_t n;

    memmove(features->samples, &features->samples[NR_SWW_HOP],
            (NR_SWW_HOP + 1) * sizeof features->samples[0]);
    for (n = 0; n < NR_SWW_HOP; n++) {
        int32_t value = hop[(ptrdiff_t)2 * n] | hop[(ptrdiff_t)2 * n + 1] << 8;

        to[n] = (int16_t)(value >= 32768 ? value - 65536 : value);
    }
}

/* Returns an emphasised sample below the window; its unit is a 16th of a step of the samples. */
static int32_t weighted(const struct nr_sww_features *features, int32_t place)
{
    int32_t emphasised = 32 * features->samples[place + 1] - 31 * features->samples[place];
    int64_t weight = hamming_mean - down(hamming_swing * cosine_of(place), COSINE_BITS);

    return (int32_t)down(emphasised * weight, COSINE_BITS + 1);
}

static int32_t bit_reversed(int32_t place)
{
    int32_t result = 0;
    int32_t bit;

    for (bit = 0; bit < HALF_BITS; bit++) {
        result = result << 1 | (place >> bit & 1);
    }
    return result;
}

/* ---- the spectrum ---- */

/* Two real numbers make a complex one: half the transform. */
static void pack(struct nr_sww_features *features)
{
    int32_t n;

    for (n = 0; n < HALF; n++) {
        union nr_sww_line *to = &features->lines[bit_reversed(n)];

        to->number.real = weighted(features, 2 * n);
        to->number.imaginary = weighted(features, 2 * n + 1);
    }
}

static void transform(union nr_sww_line *lines)
{
    int32_t length;
    int32_t place;
    int32_t first;

    for (length = 1; length < HALF; length *= 2) {
        for (place = 0; place < length; place++) {
            int32_t cosine = cosine_of(place * (HALF / length));
            int32_t sine = sine_of(place * (HALF / length));

            for (first = place; first < HALF; first += 2 * length) {
                union nr_sww_line *one = &lines[first];
                union nr_sww_line *other = &lines[first + length];
                int32_t real = product(other->number.real, cosine, other->number.imaginary, sine);
                int32_t imaginary =
                    product(other->number.imaginary, cosine, -other->number.real, sine);

                other->number.real = one->number.real - real;
                other->number.imaginary = one->number.imaginary - imaginary;
                one->number.real += real;
                one->number.imaginary += imaginary;
            }
        }
    }
}

/* Returns the power of a line, of the numbers at its place and at the mirrored one. */
static int64_t power_of(union nr_sww_line at, union nr_sww_line mirrored, int32_t line)
{
    int32_t odd_real = at.number.imaginary + mirrored.number.imaginary;
    int32_t odd_imaginary = mirrored.number.real - at.number.real;
    int32_t cosine = cosine_of(line);
    int32_t sine = sine_of(line);
    int64_t real =
        (at.number.real + mirrored.number.real) + product(odd_real, cosine, odd_imaginary, sine);
    int64_t imaginary = (at.number.imaginary - mirrored.number.imaginary)
                        + product(odd_imaginary, cosine, -odd_real, sine);

    return (real * real + imaginary * imaginary) >> POWER_SHIFT;
}

static void to_powers(union nr_sww_line *lines)
{
    int32_t line;

    lines[HALF] = lines[0];
    for (line = 0; line <= HALF / 2; line++) {
        union nr_sww_line one = lines[line];
        union nr_sww_line other = lines[HALF - line];

        lines[line].power = power_of(one, other, line);
        lines[HALF - line].power = power_of(other, one, HALF - line);
    }
}

/* ---- the bands ---- */

/* Returns the logarithm of a positive number in units of 2^-16, rounded down. */
static int32_t log2_of(uint64_t number)
{
    int32_t result = 0;
    int32_t step;
    uint64_t mantissa;
    int32_t bit;

    for (step = 32; step != 0; step /= 2) {
        if (number >> (result + step) != 0) {
            result += step;
        }
    }
    mantissa = result > 31 ? number >> (result - 31) : number << (31 - result);
    for (bit = 0; bit < LOG_BITS; bit++) {
        uint64_t squared = mantissa * mantissa >> 31;
        uint64_t two = squared >> 32;

        mantissa = squared >> two;
        result = 2 * result + (int32_t)two;
    }
    return result;
}

static int8_t value_of(const struct nr_sww_scale *scale, uint64_t power)
{
    int64_t raw;
    int64_t value;

    if (power == 0) {
        return (int8_t)scale->least;
    }
    raw = down((int64_t)scale->gain * log2_of(power), LOG_BITS) + scale->offset;
    value = raw < 0 ? -(-raw >> LOG_BITS) : raw >> LOG_BITS;
    if (value < scale->least) {
        value = scale->least;
    }
    return (int8_t)(value > INT8_MAX ? INT8_MAX : value);
}

void nr_sww_features_start(struct nr_sww_features *features)
{
    memset(features->samples, 0, sizeof features->samples);
}

void nr_sww_features_row(struct nr_sww_features *features, const struct nr_sww_scale *scale,
                         const uint8_t *hop, int8_t *row)
{
    const uint16_t *weights = nr_sww_weights;
    int32_t band;
    int32_t n;

    take(features, hop);
    pack(features);
    transform(features->lines);
    to_powers(features->lines);
    for (band = 0; band < NR_SWW_BANDS; band++) {
        const union nr_sww_line *lines = &features->lines[nr_sww_starts[band]];
        uint64_t sum = 0;

        for (n = 0; n < nr_sww_lengths[band]; n++) {
            sum += (uint64_t)lines[n].power * weights[n];
        }
        weights += nr_sww_lengths[band];
        row[band] = value_of(scale, sum);
    }
}
