/* SPDX-License-Identifier: Apache-2.0 */
#define NR_NETWORK_TABLES /* this file has them */
#include "nr_network_workload.h"

#include <stddef.h>
#include <string.h>

/* Returns how many steps an input of so many bytes has; 0 where it is none. */
static uint32_t steps_of(uint32_t length_b)
{
    return length_b % NR_NETWORK_STEP_B == 0 && length_b <= NR_NETWORK_SLOT_B
               ? length_b / NR_NETWORK_STEP_B
               : 0;
}

static int network_load(void *state, const uint8_t *data, uint32_t length_b)
{
    (void)state;
    (void)data;
    return steps_of(length_b) > 0 ? 0 : NR_NETWORK_E_LENGTH;
}

static int network_preprocess(void *state, const uint8_t *data, uint32_t length_b)
{
    struct nr_network_memory *memory = state;

    memory->steps = steps_of(length_b);
    memory->data = data;
    return memory->steps > 0 ? 0 : NR_NETWORK_E_LENGTH;
}

static int network_infer(void *state)
{
    struct nr_network_memory *memory = state;
    uint32_t step;

    if (memory->data == NULL || memory->steps == 0) {
        return NR_NETWORK_E_NOT_PREPROCESSED;
    }
    nr_network_reset(&memory->network);
    for (step = 0; step < memory->steps; step++) {
        nr_network_step(&memory->network, &memory->data[(size_t)step * NR_NETWORK_STEP_B]);
    }
    return 0;
}

static uint32_t network_result(void *state, uint8_t *output)
{
    const struct nr_network_memory *memory = state;

    return nr_network_answer(&memory->network, output);
}

void nr_network_workload(struct nr_workload *out, struct nr_network_memory *memory)
{
    memset(memory, 0, sizeof *memory);
    memory->network.model = &nr_network_model;
    memory->network.values = memory->values;
    memory->network.states = memory->states;
    out->name = "network";
    out->model = NR_NETWORK_MODEL;
    out->slot_bytes = NR_NETWORK_SLOT_B;
    out->output_bytes = NR_NETWORK_ANSWER_B;
    out->phases = 1;
    out->state = memory;
    out->load = network_load;
    out->preprocess = network_preprocess;
    out->infer = network_infer;
    out->result = network_result;
    out->optimize = NULL;
    out->memory_bytes = 0;
    out->start = NULL;
    out->features = NULL;
}
