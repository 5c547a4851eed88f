/* SPDX-License-Identifier: Apache-2.0 */
/* Features of the streaming wake word of MLPerf Tiny, in whole numbers: 40 bands of the last 1,024
   samples after each hop of 512. rig/network/wake/features.py has the formula, and gives the same
   bytes. */
#ifndef NR_SWW_FEATURES_H
#define NR_SWW_FEATURES_H

#include <stdint.h>

#include "../sound/nr_spectrum.h"

enum {
    NR_SWW_HOP = 512,
    NR_SWW_HOP_B = 2 * NR_SWW_HOP, /* samples of 16 bits, low byte first */
    NR_SWW_BANDS = 40
};

/* A value is (gain * log2 of a power + offset) / 2^16, towards 0, from `least` to 127. */
struct nr_sww_scale {
    int32_t gain, offset, least;
};

/* All memory of the features; the caller owns it. `samples` are the window, and the one before. */
struct nr_sww_features {
    int16_t samples[2 * NR_SWW_HOP + 1];
    union nr_spectrum_line lines[NR_SWW_HOP + 1];
};

/* Begins a signal, before which all is 0. */
void nr_sww_features_start(struct nr_sww_features *features);

/* Takes a hop of NR_SWW_HOP_B bytes and gives the row of NR_SWW_BANDS values after it. */
void nr_sww_features_row(struct nr_sww_features *features, const struct nr_sww_scale *scale,
                         const uint8_t *hop, int8_t *row);

#endif
