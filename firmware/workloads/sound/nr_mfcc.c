/* SPDX-License-Identifier: Apache-2.0 */
#include "nr_mfcc.h"

#include "nr_mfcc_tables.h"

enum {
    BANDS = 40,
    HALF_BITS = 8,
    HALF_CIRCLE = NR_MFCC_WINDOW / 2, /* of the cosines of this file */
    QUARTER = NR_MFCC_WINDOW / 4,
    LOUD = 1 << 14,  /* a window is brought to this or above */
    SHIFT_MAX = 15,
    WEIGHTED_BITS = 6, /* of a sample after the window, below 1 */
    LINE_BITS = WEIGHTED_BITS + 1,
    BAND_BITS = LINE_BITS + 15,
    FLOOR_BITS = 10,
    FLOOR = 4295, /* 1e-6 of the peak, in units of a band times 2^-10 */
    GAIN_BITS = 24
};

/* Returns cos(2 pi place / 480) in units of 2^-30, of places from 0 to 479. */
static int32_t cosine_of(int32_t place)
{
    if (place > HALF_CIRCLE) {
        place = NR_MFCC_WINDOW - place;
    }
    return place > QUARTER ? -nr_mfcc_cosines[HALF_CIRCLE - place] : nr_mfcc_cosines[place];
}

/* Returns the largest sample, without its sign; 1 of silence. */
static int32_t peak_of(const uint8_t *sound)
{
    int32_t peak = INT16_MIN;
    int32_t n;

    for (n = 0; n < NR_MFCC_SAMPLES; n++) {
        int32_t sample = nr_spectrum_sample(sound, n);

        if (sample > peak) {
            peak = sample;
        }
    }
    if (peak < 0) {
        return -peak;
    }
    return peak == 0 ? 1 : peak;
}

/* Returns by how many bits the samples of a window are shifted up. */
static int32_t shift_of(const uint8_t *window)
{
    int32_t loudest = 0;
    int32_t shift = 0;
    int32_t n;

    for (n = 0; n < NR_MFCC_WINDOW; n++) {
        int32_t sample = nr_spectrum_sample(window, n);

        loudest |= sample < 0 ? -sample : sample;
    }
    while (shift < SHIFT_MAX && loudest * (1 << shift) < LOUD) {
        shift++;
    }
    return shift;
}

/* Returns a sample below the window of Hann. */
static int32_t weighted(const uint8_t *window, int32_t n, int32_t shift)
{
    enum { BITS = NR_SPECTRUM_COSINE_BITS + 1 - WEIGHTED_BITS };
    int64_t sample = (int64_t)nr_spectrum_sample(window, n) * (1 << shift);
    int64_t twice = ((int64_t)1 << NR_SPECTRUM_COSINE_BITS) - cosine_of(n);

    return (int32_t)nr_spectrum_down(sample * twice + ((int64_t)1 << (BITS - 1)), BITS);
}

static void pack(union nr_spectrum_line *lines, const uint8_t *window, int32_t shift)
{
    int32_t n;

    for (n = 0; n < NR_MFCC_HALF; n++) {
        union nr_spectrum_line *to = &lines[nr_spectrum_place(n, HALF_BITS)];
        int is_within = 2 * n < NR_MFCC_WINDOW;

        to->number.real = is_within ? weighted(window, 2 * n, shift) : 0;
        to->number.imaginary = is_within ? weighted(window, 2 * n + 1, shift) : 0;
    }
}

/* Returns the square root, rounded down to 16 bits. */
static uint32_t root_of(uint64_t square)
{
    int32_t shift = 0;
    uint32_t root = 0;
    uint32_t bit;
    uint32_t rest;

    while (square >> 32 != 0) {
        square >>= 2;
        shift++;
    }
    rest = (uint32_t)square;
    for (bit = (uint32_t)1 << 30; bit != 0; bit >>= 2) {
        if (rest >= root + bit) {
            rest -= root + bit;
            root = (root >> 1) + bit;
        } else {
            root >>= 1;
        }
    }
    return root << shift;
}

/* Gives the logarithms of the bands of a window. */
static void bands_of(union nr_spectrum_line *lines, const uint8_t *window, int32_t peak,
                     int32_t *logarithms)
{
    const uint16_t *weights = nr_mfcc_weights;
    int32_t shift = shift_of(window);
    uint64_t least = ((uint64_t)peak * FLOOR << shift) >> FLOOR_BITS;
    int32_t unit =
        nr_spectrum_log2((uint64_t)peak) + (BAND_BITS + shift) * (1 << NR_SPECTRUM_LOG_BITS);
    int32_t last = nr_mfcc_starts[BANDS - 1] + nr_mfcc_lengths[BANDS - 1];
    int32_t band;
    int32_t n;

    pack(lines, window, shift);
    nr_spectrum_powers(lines, NR_MFCC_HALF);
    for (n = nr_mfcc_starts[0]; n < last; n++) {
        lines[n].power = root_of((uint64_t)lines[n].power);
    }
    for (band = 0; band < BANDS; band++) {
        uint64_t sum = least;

        for (n = 0; n < nr_mfcc_lengths[band]; n++) {
            sum += (uint64_t)lines[nr_mfcc_starts[band] + n].power * weights[n];
        }
        weights += nr_mfcc_lengths[band];
        logarithms[band] = nr_spectrum_log2(sum) - unit;
    }
}

static int8_t value_of(const struct nr_mfcc_scale *scale, const int32_t *logarithms, int32_t k)
{
    enum { TURN = NR_MFCC_WINDOW / (4 * BANDS) };
    int64_t sum = (int64_t)1 << (NR_SPECTRUM_COSINE_BITS - 1);
    int32_t band;

    for (band = 0; band < BANDS; band++) {
        int32_t place = TURN * (2 * band + 1) * k % NR_MFCC_WINDOW;

        sum += (int64_t)logarithms[band] * cosine_of(place);
    }
    sum = scale->gain * nr_spectrum_down(sum, NR_SPECTRUM_COSINE_BITS);
    return nr_spectrum_cut(nr_spectrum_down(sum, GAIN_BITS) + scale->offset, INT8_MIN);
}

void nr_mfcc_features(struct nr_mfcc *memory, const struct nr_mfcc_scale *scale,
                      const uint8_t *sound, int8_t *features)
{
    int32_t logarithms[BANDS];
    int32_t peak = peak_of(sound);
    int32_t row;
    int32_t k;

    for (row = 0; row < NR_MFCC_ROWS; row++) {
        bands_of(memory->lines, &sound[(ptrdiff_t)2 * NR_MFCC_STRIDE * row], peak, logarithms);
        for (k = 0; k < NR_MFCC_VALUES; k++) {
            features[NR_MFCC_VALUES * row + k] = value_of(scale, logarithms, k);
        }
    }
}
