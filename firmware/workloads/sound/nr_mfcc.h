/* SPDX-License-Identifier: Apache-2.0 */
/* Mel cepstra of a second of sound, in whole numbers: 49 rows of 10 values, as the keyword spotting
   of MLPerf Tiny has them in floating point. rig/network/sound/mfcc.py has the formula, and gives
   the same bytes. */
#ifndef NR_MFCC_H
#define NR_MFCC_H

#include <stdint.h>

#include "nr_spectrum.h"

enum {
    NR_MFCC_SAMPLES = 16000,
    NR_MFCC_SOUND_B = 2 * NR_MFCC_SAMPLES, /* samples of 16 bits, low byte first */
    NR_MFCC_WINDOW = 480,
    NR_MFCC_STRIDE = 320,
    NR_MFCC_ROWS = 1 + (NR_MFCC_SAMPLES - NR_MFCC_WINDOW) / NR_MFCC_STRIDE,
    NR_MFCC_VALUES = 10, /* of a row */
    NR_MFCC_HALF = 256   /* half of the transform's length */
};

/* A value is (gain / 2^8 * cepstrum + offset) / 2^16, towards 0, from -128 to 127; a cepstrum is in
   units of 2^-16, of logarithms to base 2. */
struct nr_mfcc_scale {
    int32_t gain, offset;
};

/* All memory of the features but a few hundred bytes of stack; the caller owns it. */
struct nr_mfcc {
    union nr_spectrum_line lines[NR_MFCC_HALF + 1];
};

/* Gives NR_MFCC_ROWS rows of NR_MFCC_VALUES values of a sound of NR_MFCC_SOUND_B bytes. */
void nr_mfcc_features(struct nr_mfcc *memory, const struct nr_mfcc_scale *scale,
                      const uint8_t *sound, int8_t *features);

#endif
