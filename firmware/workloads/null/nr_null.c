/* SPDX-License-Identifier: Apache-2.0 */
#include "nr_null.h"

#include <stddef.h>
#include <string.h>

static int null_load(void *state, const uint8_t *data, uint32_t length_b)
{
    (void)state;
    (void)data;
    (void)length_b;
    return 0;
}

static int null_preprocess(void *state, const uint8_t *data, uint32_t length_b)
{
    struct nr_null *null = state;
    null->data = data;
    null->length_b = length_b;
    return 0;
}

static int null_infer(void *state)
{
    (void)state;
    return 0;
}

static uint32_t null_result(void *state, uint8_t *output)
{
    const struct nr_null *null = state;
    uint32_t length_b =
        null->length_b < NR_NULL_OUTPUT_BYTES ? null->length_b : NR_NULL_OUTPUT_BYTES;
    if (null->data != NULL) {
        memcpy(output, null->data, length_b);
    }
    return length_b;
}

void nr_null_workload(struct nr_workload *out, struct nr_null *state)
{
    state->data = NULL;
    state->length_b = 0;
    out->name = "null";
    out->model = "null";
    out->slot_bytes = NR_NULL_SLOT_BYTES;
    out->output_bytes = NR_NULL_OUTPUT_BYTES;
    out->phases = 2;
    out->state = state;
    out->load = null_load;
    out->preprocess = null_preprocess;
    out->infer = null_infer;
    out->result = null_result;
    out->optimize = NULL;
    out->memory_bytes = 0;
    out->start = NULL;
    out->features = NULL;
}
