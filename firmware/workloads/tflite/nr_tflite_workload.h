/* SPDX-License-Identifier: Apache-2.0 */
/* The network of nr_tflite_model.h as a workload of the shim. A payload is its input as the model
   takes it, an int8 for each value; the output is its output, the same. */
#ifndef NR_TFLITE_WORKLOAD_H
#define NR_TFLITE_WORKLOAD_H

#include "../sound/nr_mfcc.h"
#include "nr_tflite.h"
#include "nr_tflite_model.h"
#include "nr_workload.h"

/* 1: a payload has real numbers, of single precision, which are quantised: in a phase of their own,
   but where the header defines NR_TFLITE_REALS. The output is then one number, how far that of the
   network is from the input (nr_tflite_reals.h), and the inference alone is timed. */
#ifndef NR_TFLITE_REAL_INPUT
#define NR_TFLITE_REAL_INPUT 0
#endif

/* 1: a payload is a second of sound, whose features are computed in a phase of their own. */
#ifndef NR_TFLITE_MFCC
#define NR_TFLITE_MFCC 0
#endif

#if NR_TFLITE_MFCC
enum { NR_TFLITE_SLOT_B = NR_MFCC_SOUND_B };
#else
enum { NR_TFLITE_SLOT_B = NR_TFLITE_REAL_INPUT ? 4 * NR_TFLITE_INPUT_B : NR_TFLITE_INPUT_B };
#endif
#ifdef NR_TFLITE_REALS
enum { NR_TFLITE_ANSWER_B = 4, NR_TFLITE_PHASES = 1 };
#else
enum {
    NR_TFLITE_ANSWER_B = NR_TFLITE_OUTPUT_B,
    NR_TFLITE_PHASES = NR_TFLITE_REAL_INPUT || NR_TFLITE_MFCC ? 2 : 1
};
#endif

/* Codes of load and infer; the host sees them as ERROR 7. */
enum nr_tflite_error {
    NR_TFLITE_E_LENGTH = 1, /* another length than that of the input */
    NR_TFLITE_E_NOT_PREPROCESSED = 2,
    NR_TFLITE_E_KERNEL = 3, /* CMSIS-NN refuses an operator */
    NR_TFLITE_E_NUMBER = 4  /* a real number is not finite */
};

/* All memory of the workload; the caller owns it, nr_tflite_workload initialises it. The input is
   read where it was received, or made in `input`. */
struct nr_tflite_memory {
    struct nr_tflite network;
    int16_t patch[NR_TFLITE_PATCH];
    int8_t arena[NR_TFLITE_ARENA_B];
#if NR_TFLITE_REAL_INPUT || NR_TFLITE_MFCC
    int8_t input[NR_TFLITE_INPUT_B];
#endif
#if NR_TFLITE_MFCC
    struct nr_mfcc features;
#endif
#ifdef NR_TFLITE_REALS
    const uint8_t *reals;
#endif
};

/* Fills `out` with this workload on `memory`. */
void nr_tflite_workload(struct nr_workload *out, struct nr_tflite_memory *memory);

#endif
