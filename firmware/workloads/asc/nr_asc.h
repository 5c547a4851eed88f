/* SPDX-License-Identifier: Apache-2.0 */
/* Acoustic scene classification: one second of audio (8000 x int16 little endian, 8 kHz) to four
   classes. docs/reference/ASC.md defines the arithmetic; the numbers of the model are in
   nr_asc_model.h, generated from a NIR file. */
#ifndef NR_ASC_H
#define NR_ASC_H

#include <stdint.h>

#include "nr_workload.h"

enum {
    NR_ASC_SAMPLES = 8000,
    NR_ASC_HOP = 64,
    NR_ASC_STEPS = 125,
    NR_ASC_CHANNELS = 16,
    NR_ASC_CLASSES = 4,
    NR_ASC_INPUT_B = 2 * NR_ASC_SAMPLES,
    NR_ASC_OUTPUT_B = 4 * NR_ASC_CLASSES,
    NR_ASC_NEURONS_MAX = 256 /* of all layers; a larger model does not compile */
};

/* Codes of load, preprocess and infer; the host sees them as ERROR 7. */
enum nr_asc_error { NR_ASC_E_LENGTH = 1, NR_ASC_E_NOT_PREPROCESSED = 2 };

/* All memory of the workload; the caller owns it, nr_asc_workload initialises it.
   Neurons of all layers lie one after the other, the four outputs last. */
struct nr_asc {
    /* the log envelopes first, then the spike counts made of them */
    int16_t spikes[NR_ASC_STEPS][NR_ASC_CHANNELS];
    int16_t current[NR_ASC_NEURONS_MAX];
    int16_t membrane[NR_ASC_NEURONS_MAX];
    int16_t fired[NR_ASC_NEURONS_MAX];      /* spikes of the step in progress */
    uint16_t output_spikes[NR_ASC_CLASSES]; /* spikes of the whole second */
    uint8_t preprocessed;
};

/* Fills `out` with this workload on `state`. */
void nr_asc_workload(struct nr_workload *out, struct nr_asc *state);

#endif
