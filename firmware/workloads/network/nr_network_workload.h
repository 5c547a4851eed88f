/* SPDX-License-Identifier: Apache-2.0 */
/* The network of nr_network_model.h as a workload of the shim. A payload is its input, step after
   step: a uint8, or an int16, little endian, for each value (docs/reference/FIXED_POINT.md). The
   output is nr_network_answer's. */
#ifndef NR_NETWORK_WORKLOAD_H
#define NR_NETWORK_WORKLOAD_H

#include "nr_network.h"
#include "nr_network_model.h"
#include "nr_workload.h"

enum {
    NR_NETWORK_STEP_B = NR_NETWORK_CHANNELS * NR_NETWORK_INPUT_B,
    NR_NETWORK_SLOT_B = NR_NETWORK_STEP_B * NR_NETWORK_STEPS_MAX,
    NR_NETWORK_ANSWER_B = 8 * NR_NETWORK_ANSWERS
};

/* Codes of load and infer; the host sees them as ERROR 7. */
enum nr_network_error {
    NR_NETWORK_E_LENGTH = 1, /* no whole number of steps, none, or too many */
    NR_NETWORK_E_NOT_PREPROCESSED = 2
};

/* All memory of the workload; the caller owns it, nr_network_workload initialises it. */
struct nr_network_memory {
    struct nr_network network;
    const uint8_t *data;
    uint32_t steps;
    int32_t states[NR_NETWORK_STATES];
    int16_t values[NR_NETWORK_VALUES];
};

/* Fills `out` with this workload on `memory`. */
void nr_network_workload(struct nr_workload *out, struct nr_network_memory *memory);

#endif
