/* SPDX-License-Identifier: Apache-2.0 */
/* The workload `network` as the shim calls it, its memory on the heap, whose ends are watched. */
#include "check.h"
#include "nr_network_workload.h"

#include <string.h>

enum { STEPS = 9 };

struct device {
    struct nr_workload workload;
    struct nr_network_memory *memory;
    uint8_t *input;
};

static struct device opened(void)
{
    struct device device;
    int n;

    device.memory = malloc(sizeof *device.memory);
    device.input = malloc((size_t)STEPS * NR_NETWORK_STEP_B);
    CHECK(device.memory != NULL && device.input != NULL);
    for (n = 0; n < STEPS * NR_NETWORK_STEP_B; n++) {
        device.input[n] = (uint8_t)(n * 7 % 3 == 0);
    }
    nr_network_workload(&device.workload, device.memory);
    return device;
}

static void closed(struct device *device)
{
    free(device->memory);
    free(device->input);
}

/* Runs so many steps of the input; writes the answer. */
static void run(struct device *device, uint32_t steps, uint8_t *answer)
{
    const struct nr_workload *workload = &device->workload;
    uint32_t length_b = steps * NR_NETWORK_STEP_B;

    CHECK(workload->load(workload->state, device->input, length_b) == 0);
    CHECK(workload->preprocess(workload->state, device->input, length_b) == 0);
    CHECK(workload->infer(workload->state) == 0);
    CHECK(workload->result(workload->state, answer) == NR_NETWORK_ANSWER_B);
}

static void an_answer_repeats_whatever_was_before(void)
{
    struct device device = opened();
    uint8_t first[NR_NETWORK_ANSWER_B], other[NR_NETWORK_ANSWER_B], again[NR_NETWORK_ANSWER_B];

    run(&device, STEPS, first);
    run(&device, 4, other);
    run(&device, STEPS, again);
    CHECK(memcmp(first, again, sizeof first) == 0);
    CHECK(memcmp(first, other, sizeof first) != 0);
    CHECK(device.workload.infer(device.workload.state) == 0);
    CHECK(device.workload.result(device.workload.state, again) == NR_NETWORK_ANSWER_B);
    CHECK(memcmp(first, again, sizeof first) == 0);
    closed(&device);
}

static void all_inputs_at_their_largest_stay_in_their_types(void)
{
    struct device device = opened();
    uint8_t answer[NR_NETWORK_ANSWER_B];

    memset(device.input, 0xFF, (size_t)STEPS * NR_NETWORK_STEP_B);
    run(&device, STEPS, answer);
    closed(&device);
}

static void an_input_without_whole_steps_or_with_too_many_is_refused(void)
{
    static const uint32_t lengths_b[] = {
        0, 1, NR_NETWORK_STEP_B - 1, NR_NETWORK_STEP_B + 1, NR_NETWORK_SLOT_B + NR_NETWORK_STEP_B,
        UINT32_MAX};
    struct device device = opened();
    void *state = device.workload.state;
    size_t n;

    CHECK(device.workload.infer(state) == NR_NETWORK_E_NOT_PREPROCESSED);
    for (n = 0; n < sizeof lengths_b / sizeof lengths_b[0]; n++) {
        CHECK(device.workload.load(state, device.input, lengths_b[n]) == NR_NETWORK_E_LENGTH);
        CHECK(device.workload.preprocess(state, device.input, lengths_b[n])
              == NR_NETWORK_E_LENGTH);
        CHECK(device.workload.infer(state) == NR_NETWORK_E_NOT_PREPROCESSED);
    }
    CHECK(device.workload.load(state, device.input, NR_NETWORK_SLOT_B) == 0);
    closed(&device);
}

int main(void)
{
    RUN(an_answer_repeats_whatever_was_before);
    RUN(all_inputs_at_their_largest_stay_in_their_types);
    RUN(an_input_without_whole_steps_or_with_too_many_is_refused);
    return report("network");
}
