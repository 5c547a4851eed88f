/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer target: the workloads themselves, called as the shim calls them. Byte 0 chooses one;
   each further byte is a call: an input (two bytes of length, one of how much of the rest it
   repeats), a phase of it, or the start of a stream. Demanded: an answer has room, and is the same
   when a workload without a state is asked twice. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "nr_asc.h"
#include "nr_network_workload.h"
#include "nr_null.h"
#include "nr_sww_workload.h"
#include "nr_tflite_workload.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_HEAD_B = 3, CALLS_MAX = 12 };

static struct nr_null null;
static struct nr_asc asc;
static struct nr_network_memory network;
static struct nr_tflite_memory tflite;
static struct nr_sww_memory sww;

struct run {
    struct nr_workload workload;
    uint8_t *slot;
    uint32_t length_b;
    bool loaded;
    bool inferred;
};

static void need(bool condition)
{
    if (!condition) {
        abort();
    }
}

static void fill(struct nr_workload *workload, uint8_t which)
{
    switch (which % 5) {
    case 0: nr_null_workload(workload, &null); break;
    case 1: nr_asc_workload(workload, &asc); break;
    case 2: nr_network_workload(workload, &network); break;
    case 3: nr_tflite_workload(workload, &tflite); break;
    default: nr_sww_workload(workload, &sww); break;
    }
}

/* Takes an input: a length of 0xFFFF is that of a slot. Returns how many bytes described it. */
static size_t load(struct run *run, const uint8_t *data, size_t size)
{
    uint32_t length_b;
    size_t pattern_b;
    if (size < INPUT_HEAD_B) {
        return size;
    }
    length_b = (uint32_t)data[0] | (uint32_t)data[1] << 8;
    pattern_b = data[2] < size - INPUT_HEAD_B ? data[2] : size - INPUT_HEAD_B;
    if (length_b > run->workload.slot_bytes) {
        length_b = run->workload.slot_bytes;
    }
    free(run->slot);
    run->slot = malloc(length_b + (length_b == 0)); /* the sanitizer sees its end */
    need(run->slot != NULL);
    for (uint32_t i = 0; i < length_b; i++) {
        run->slot[i] = pattern_b == 0 ? 0 : data[INPUT_HEAD_B + i % pattern_b];
    }
    run->length_b = length_b;
    run->loaded = run->workload.load(run->workload.state, run->slot, length_b) == 0;
    run->inferred = false;
    return INPUT_HEAD_B + pattern_b;
}

static uint8_t *answer(const struct run *run, uint32_t *length_b)
{
    uint8_t *output = malloc(run->workload.output_bytes);
    need(output != NULL);
    *length_b = run->workload.result(run->workload.state, output);
    need(*length_b <= run->workload.output_bytes);
    return output;
}

static void infer(struct run *run)
{
    const struct nr_workload *workload = &run->workload;
    if (!run->loaded) {
        return;
    }
    if (workload->preprocess(workload->state, run->slot, run->length_b) == 0) {
        run->inferred = workload->infer(workload->state) == 0;
    }
}

static void answer_twice(struct run *run)
{
    uint32_t first_b;
    uint32_t second_b;
    uint8_t *first;
    uint8_t *second;
    if (!run->inferred) {
        return;
    }
    first = answer(run, &first_b);
    if (run->workload.start == NULL) {
        infer(run);
    }
    second = answer(run, &second_b);
    need(first_b == second_b && memcmp(first, second, first_b) == 0);
    free(first);
    free(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct run run;
    size_t at = 1;
    if (size == 0) {
        return 0;
    }
    memset(&run, 0, sizeof run);
    fill(&run.workload, data[0]);
    for (int calls = 0; at < size && calls < CALLS_MAX; calls++) {
        switch (data[at++] % 4) {
        case 0: at += load(&run, data + at, size - at); break;
        case 1: infer(&run); break;
        case 2: answer_twice(&run); break;
        default:
            if (run.workload.start != NULL) {
                need(run.workload.start(run.workload.state) == 0);
            }
        }
    }
    free(run.slot);
    return 0;
}
