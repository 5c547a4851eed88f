/* SPDX-License-Identifier: Apache-2.0 */
#include "nr_spectrum.h"

#include "nr_spectrum_tables.h"

enum { HALF_CIRCLE = NR_SPECTRUM_CIRCLE / 2 };

static inline int32_t sine_of(int32_t place)
{
    return nr_spectrum_cosine(place + 3 * (NR_SPECTRUM_CIRCLE / 4));
}

/* Returns first * cosine + second * sine, to the nearest, halves up. */
static inline int32_t product(int32_t first, int32_t cosine, int32_t second, int32_t sine)
{
    int64_t half = (int64_t)1 << (NR_SPECTRUM_COSINE_BITS - 1);

    return (int32_t)nr_spectrum_down((int64_t)first * cosine + (int64_t)second * sine + half,
                                     NR_SPECTRUM_COSINE_BITS);
}

static void transform(union nr_spectrum_line *lines, int32_t half)
{
    int32_t length;
    int32_t place;
    int32_t first;

    for (length = 1; length < half; length *= 2) {
        for (place = 0; place < length; place++) {
            int32_t cosine = nr_spectrum_cosine(place * (HALF_CIRCLE / length));
            int32_t sine = sine_of(place * (HALF_CIRCLE / length));

            for (first = place; first < half; first += 2 * length) {
                union nr_spectrum_line *one = &lines[first];
                union nr_spectrum_line *other = &lines[first + length];
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

/* Returns the power of a line, of the numbers at its place and at the mirrored one; `turn` is its
   place on the circle. */
static int64_t power_of(union nr_spectrum_line at, union nr_spectrum_line mirrored, int32_t turn)
{
    int32_t odd_real = at.number.imaginary + mirrored.number.imaginary;
    int32_t odd_imaginary = mirrored.number.real - at.number.real;
    int32_t cosine = nr_spectrum_cosine(turn);
    int32_t sine = sine_of(turn);
    int64_t real =
        (at.number.real + mirrored.number.real) + product(odd_real, cosine, odd_imaginary, sine);
    int64_t imaginary = (at.number.imaginary - mirrored.number.imaginary)
                        + product(odd_imaginary, cosine, -odd_real, sine);

    return real * real + imaginary * imaginary;
}

void nr_spectrum_powers(union nr_spectrum_line *lines, int32_t half)
{
    int32_t turns = HALF_CIRCLE / half;
    int32_t line;

    transform(lines, half);
    lines[half] = lines[0];
    for (line = 0; line <= half / 2; line++) {
        union nr_spectrum_line one = lines[line];
        union nr_spectrum_line other = lines[half - line];

        lines[line].power = power_of(one, other, line * turns);
        lines[half - line].power = power_of(other, one, (half - line) * turns);
    }
}

int32_t nr_spectrum_log2(uint64_t number)
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
    for (bit = 0; bit < NR_SPECTRUM_LOG_BITS; bit++) {
        uint64_t squared = mantissa * mantissa >> 31;
        uint64_t two = squared >> 32;

        mantissa = squared >> two;
        result = 2 * result + (int32_t)two;
    }
    return result;
}
