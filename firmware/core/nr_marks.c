/* SPDX-License-Identifier: Apache-2.0 */
/* Marks, and the phases of the workload between them. */
#include "nr_shim_parts.h"

void nr_mark(struct nr_shim *shim, uint8_t phase)
{
    uint64_t tick = shim->port->mark(shim->port->context, phase, shim->job.hold_us);
    if (shim->marks < NR_MARKS_MAX) {
        shim->mark_tick[shim->marks] = tick;
        shim->mark_phase[shim->marks] = phase;
        shim->marks++;
    }
}

uint8_t nr_phase_of_infer(const struct nr_shim *shim)
{
    return shim->workload->phases < 2 ? (uint8_t)NR_PHASE_PREPROCESS : (uint8_t)NR_PHASE_INFER;
}

int nr_preprocess(struct nr_shim *shim, uint16_t slot, uint32_t repeat)
{
    const uint8_t *data = nr_slot_memory(shim, slot);
    int code = 0;
    while (code == 0 && repeat-- != 0) {
        code = shim->workload->preprocess(shim->workload->state, data, shim->slot_length_b[slot]);
    }
    return code;
}

int nr_infer(struct nr_shim *shim, uint32_t repeat)
{
    int code = 0;
    shim->iterations = 0;
    while (code == 0 && repeat-- != 0) {
        code = shim->workload->infer(shim->workload->state);
        shim->iterations += code == 0;
    }
    return code;
}

int nr_run_phases(struct nr_shim *shim)
{
    bool timed = shim->workload->phases >= 2;
    int code;
    if (timed) {
        nr_mark(shim, NR_PHASE_PREPROCESS);
    }
    code = nr_preprocess(shim, shim->job.slot, timed ? shim->job.repeat : 1);
    if (code == 0) {
        nr_mark(shim, nr_phase_of_infer(shim));
        code = nr_infer(shim, shim->job.repeat);
    }
    if (shim->marks != 0) {
        nr_mark(shim, NR_PHASE_END);
    }
    return code;
}

void nr_fetch_output(struct nr_shim *shim, int code)
{
    shim->output_valid = code == 0;
    shim->output_b =
        code == 0 ? shim->workload->result(shim->workload->state, shim->memory.output) : 0;
    if (shim->output_b > shim->workload->output_bytes) {
        shim->output_b = shim->workload->output_bytes;
    }
}
