/* SPDX-License-Identifier: Apache-2.0 */
#define NR_TFLITE_TABLES /* this file has them */
#include "nr_tflite_workload.h"

#include <stddef.h>
#include <string.h>

static int tflite_load(void *state, const uint8_t *data, uint32_t length_b)
{
    (void)state;
    (void)data;
    return length_b == NR_TFLITE_INPUT_B ? 0 : NR_TFLITE_E_LENGTH;
}

static int tflite_preprocess(void *state, const uint8_t *data, uint32_t length_b)
{
    struct nr_tflite_memory *memory = state;

    if (length_b != NR_TFLITE_INPUT_B) {
        return NR_TFLITE_E_LENGTH;
    }
    memory->network.input = (const int8_t *)data;
    return 0;
}

static int tflite_infer(void *state)
{
    const struct nr_tflite_memory *memory = state;

    if (memory->network.input == NULL) {
        return NR_TFLITE_E_NOT_PREPROCESSED;
    }
    return nr_tflite_run(&memory->network) == 0 ? 0 : NR_TFLITE_E_KERNEL;
}

static uint32_t tflite_result(void *state, uint8_t *output)
{
    const struct nr_tflite_memory *memory = state;
    const struct nr_tflite_model *model = memory->network.model;

    memcpy(output, &memory->network.arena[model->output_at], (size_t)model->output_b);
    return (uint32_t)model->output_b;
}

void nr_tflite_workload(struct nr_workload *out, struct nr_tflite_memory *memory)
{
    memset(memory, 0, sizeof *memory);
    memory->network.model = &nr_tflite_model;
    memory->network.arena = memory->arena;
    memory->network.patch = memory->patch;
    out->name = "tflite";
    out->model = NR_TFLITE_MODEL;
    out->slot_bytes = NR_TFLITE_INPUT_B;
    out->output_bytes = NR_TFLITE_OUTPUT_B;
    out->phases = 1;
    out->state = memory;
    out->load = tflite_load;
    out->preprocess = tflite_preprocess;
    out->infer = tflite_infer;
    out->result = tflite_result;
    out->optimize = NULL;
    out->memory_bytes = 0;
    out->start = NULL;
    out->features = NULL;
}
