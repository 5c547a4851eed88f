/* SPDX-License-Identifier: Apache-2.0 */
/* The streaming wake word as a workload of the shim. A window of its stream is a hop of samples;
   pre-processing makes their features, inference runs the network of nr_sww_model.h for the newest
   row. The output is the network's, an int8 for each class. */
#ifndef NR_SWW_WORKLOAD_H
#define NR_SWW_WORKLOAD_H

#include "../tflite/nr_tflite.h"
#include "nr_sww_features.h"
#include "nr_sww_model.h"
#include "nr_workload.h"

/* Codes of load and infer; the host sees them as ERROR 7. */
enum nr_sww_error {
    NR_SWW_E_LENGTH = 1, /* another length than that of a hop */
    NR_SWW_E_KERNEL = 3  /* CMSIS-NN refuses an operator */
};

/* All memory of the workload; the caller owns it, nr_sww_workload initialises it. */
struct nr_sww_memory {
    struct nr_sww_features features;
    struct nr_tflite network;
    int16_t patch[NR_SWW_PATCH];
    int8_t arena[NR_SWW_ARENA_B];
    int8_t row[NR_SWW_BANDS];
};

/* Fills `out` with this workload on `memory`. */
void nr_sww_workload(struct nr_workload *out, struct nr_sww_memory *memory);

#endif
