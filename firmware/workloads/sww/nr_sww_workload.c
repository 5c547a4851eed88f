/* SPDX-License-Identifier: Apache-2.0 */
#define NR_SWW_TABLES /* this file has them */
#include "nr_sww_workload.h"

#include <stddef.h>
#include <string.h>

static int sww_load(void *state, const uint8_t *data, uint32_t length_b)
{
    (void)state;
    (void)data;
    return length_b == NR_SWW_HOP_B ? 0 : NR_SWW_E_LENGTH;
}

/* As the reference firmware does: silence before the first sample, and rows of zeros. */
static int sww_start(void *state)
{
    struct nr_sww_memory *memory = state;

    nr_sww_features_start(&memory->features);
    memset(memory->row, 0, sizeof memory->row);
    return nr_tflite_start(&memory->network) == 0 ? 0 : NR_SWW_E_KERNEL;
}

static int sww_preprocess(void *state, const uint8_t *data, uint32_t length_b)
{
    static const struct nr_sww_scale scale = {NR_SWW_GAIN, NR_SWW_OFFSET, NR_SWW_LEAST};
    struct nr_sww_memory *memory = state;

    if (length_b != NR_SWW_HOP_B) {
        return NR_SWW_E_LENGTH;
    }
    nr_sww_features_row(&memory->features, &scale, data, memory->row);
    return 0;
}

static int sww_infer(void *state)
{
    const struct nr_sww_memory *memory = state;

    return nr_tflite_run(&memory->network) == 0 ? 0 : NR_SWW_E_KERNEL;
}

static uint32_t sww_result(void *state, uint8_t *output)
{
    const struct nr_sww_memory *memory = state;
    const struct nr_tflite_model *model = memory->network.model;

    memcpy(output, &memory->arena[model->output_at], (size_t)model->output_b);
    return (uint32_t)model->output_b;
}

static const int8_t *sww_features(void *state, uint32_t *count)
{
    const struct nr_sww_memory *memory = state;

    *count = NR_SWW_BANDS;
    return memory->row;
}

void nr_sww_workload(struct nr_workload *out, struct nr_sww_memory *memory)
{
    memset(memory, 0, sizeof *memory);
    memory->network.model = &nr_sww_model;
    memory->network.input = memory->row;
    memory->network.arena = memory->arena;
    memory->network.patch = memory->patch;
    (void)sww_start(memory);
    out->name = "sww";
    out->model = NR_SWW_MODEL;
    out->slot_bytes = NR_SWW_HOP_B;
    out->output_bytes = NR_SWW_OUTPUT_B;
    out->phases = 2;
    out->state = memory;
    out->load = sww_load;
    out->preprocess = sww_preprocess;
    out->infer = sww_infer;
    out->result = sww_result;
    out->optimize = NULL;
    out->memory_bytes = 0;
    out->start = sww_start;
    out->features = sww_features;
}
