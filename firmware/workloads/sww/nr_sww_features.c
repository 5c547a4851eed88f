/* SPDX-License-Identifier: Apache-2.0 */
#include "nr_sww_features.h"

#include <stddef.h>
#include <string.h>

#include "nr_sww_tables.h"

enum { HALF_BITS = 9, POWER_SHIFT = 15 };

/* 0.54 and 0.46 of the window, in units of 2^-30. */
static const int64_t hamming_mean = 579820585;
static const int64_t hamming_swing = 493921239;

/* ---- the window ---- */

static void take(struct nr_sww_features *features, const uint8_t *hop)
{
    int16_t *to = &features->samples[NR_SWW_HOP + 1];
    int32_t n;

    memmove(features->samples, &features->samples[NR_SWW_HOP],
            (NR_SWW_HOP + 1) * sizeof features->samples[0]);
    for (n = 0; n < NR_SWW_HOP; n++) {
        to[n] = (int16_t)nr_spectrum_sample(hop, n);
    }
}

/* Returns an emphasised sample below the window; its unit is a 16th of a step of the samples. */
static int32_t weighted(const struct nr_sww_features *features, int32_t place)
{
    int32_t emphasised = 32 * features->samples[place + 1] - 31 * features->samples[place];
    int64_t swing = hamming_swing * nr_spectrum_cosine(place);
    int64_t weight = hamming_mean - nr_spectrum_down(swing, NR_SPECTRUM_COSINE_BITS);

    return (int32_t)nr_spectrum_down(emphasised * weight, NR_SPECTRUM_COSINE_BITS + 1);
}

/* Two real numbers make a complex one: half the transform. */
static void pack(struct nr_sww_features *features)
{
    int32_t n;

    for (n = 0; n < NR_SWW_HOP; n++) {
        union nr_spectrum_line *to = &features->lines[nr_spectrum_place(n, HALF_BITS)];

        to->number.real = weighted(features, 2 * n);
        to->number.imaginary = weighted(features, 2 * n + 1);
    }
}

/* ---- the bands ---- */

static int8_t value_of(const struct nr_sww_scale *scale, uint64_t power)
{
    int64_t product;

    if (power == 0) {
        return (int8_t)scale->least;
    }
    product = (int64_t)scale->gain * nr_spectrum_log2(power);
    return nr_spectrum_cut(nr_spectrum_down(product, NR_SPECTRUM_LOG_BITS) + scale->offset,
                           scale->least);
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
    nr_spectrum_powers(features->lines, NR_SWW_HOP);
    for (band = 0; band < NR_SWW_BANDS; band++) {
        const union nr_spectrum_line *lines = &features->lines[nr_sww_starts[band]];
        uint64_t sum = 0;

        for (n = 0; n < nr_sww_lengths[band]; n++) {
            sum += ((uint64_t)lines[n].power >> POWER_SHIFT) * weights[n];
        }
        weights += nr_sww_lengths[band];
        row[band] = value_of(scale, sum);
    }
}
