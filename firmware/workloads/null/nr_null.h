/* SPDX-License-Identifier: Apache-2.0 */
/* The null workload: its phases are empty, so that a measurement shows the shim's overhead. Its
   output is the first NR_NULL_OUTPUT_BYTES of the input, or all of a shorter one, so that transfers
   can be checked in both directions. */
#ifndef NR_NULL_H
#define NR_NULL_H

#include "nr_workload.h"

#ifndef NR_NULL_SLOT_BYTES
#define NR_NULL_SLOT_BYTES 32768
#endif
#ifndef NR_NULL_OUTPUT_BYTES
#define NR_NULL_OUTPUT_BYTES 64
#endif

struct nr_null {
    const uint8_t *data; /* input of the last preprocess */
    uint32_t length_b;
};

void nr_null_workload(struct nr_workload *out, struct nr_null *state);

#endif
