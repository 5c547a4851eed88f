/* SPDX-License-Identifier: Apache-2.0 */
#define NR_TFLITE_TABLES /* this file has them */
#include "nr_tflite_workload.h"

#ifdef NR_TFLITE_REALS
#include "nr_tflite_reals.h"
#endif

#include <stddef.h>
#include <string.h>

#if NR_TFLITE_REAL_INPUT

enum { INFINITE = 0x7F800000 };

/* Returns a single-precision number's bits, without its sign, negative for a negative one: keys
   are in the order of the numbers. */
static int32_t key_of(const uint8_t *number)
{
    uint32_t bits = (uint32_t)number[0] | (uint32_t)number[1] << 8 | (uint32_t)number[2] << 16
                    | (uint32_t)number[3] << 24;
    int32_t magnitude = (int32_t)(bits & 0x7FFFFFFFU);

    return bits >> 31 ? -magnitude : magnitude;
}

static int unfit(const uint8_t *data)
{
    int32_t n;

    for (n = 0; n < NR_TFLITE_INPUT_B; n++) {
        int32_t key = key_of(&data[4 * n]);

        if (key >= INFINITE || key <= -INFINITE) {
            return NR_TFLITE_E_NUMBER;
        }
    }
    return 0;
}

/* Returns the value of int8 whose threshold is the last that is not above a number: of 255, found
   in eight comparisons. */
static int8_t quantised(int32_t key)
{
    int32_t reached = 0;
    int32_t step;

    for (step = 128; step > 0; step /= 2) {
        if (key >= nr_tflite_thresholds[reached + step - 1]) {
            reached += step;
        }
    }
    return (int8_t)(reached + INT8_MIN);
}

static void take_input(struct nr_tflite_memory *memory, const uint8_t *data)
{
    int32_t n;

    for (n = 0; n < NR_TFLITE_INPUT_B; n++) {
        memory->input[n] = quantised(key_of(&data[4 * n]));
    }
    memory->network.input = memory->input;
#ifdef NR_TFLITE_REALS
    memory->reals = data;
#endif
}

#else

static int unfit(const uint8_t *data)
{
    (void)data;
    return 0;
}

static void take_input(struct nr_tflite_memory *memory, const uint8_t *data)
{
#if NR_TFLITE_MFCC
    static const struct nr_mfcc_scale scale = {NR_TFLITE_GAIN, NR_TFLITE_OFFSET};

    nr_mfcc_features(&memory->features, &scale, data, memory->input);
    memory->network.input = memory->input;
#else
    memory->network.input = (const int8_t *)data;
#endif
}

#endif

static int tflite_load(void *state, const uint8_t *data, uint32_t length_b)
{
    (void)state;
    return length_b == NR_TFLITE_SLOT_B ? unfit(data) : NR_TFLITE_E_LENGTH;
}

static int tflite_preprocess(void *state, const uint8_t *data, uint32_t length_b)
{
    if (length_b != NR_TFLITE_SLOT_B) {
        return NR_TFLITE_E_LENGTH;
    }
    take_input(state, data);
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
    const int8_t *answer = &memory->network.arena[model->output_at];
#ifdef NR_TFLITE_REALS
    float distance =
        nr_tflite_distance(memory->reals, model->output_b, &nr_tflite_unit_out, answer);
    uint32_t bits;
    uint32_t n;

    memcpy(&bits, &distance, sizeof bits);
    for (n = 0; n < NR_TFLITE_ANSWER_B; n++) {
        output[n] = (uint8_t)(bits >> 8 * n);
    }
#else
    memcpy(output, answer, NR_TFLITE_ANSWER_B);
#endif
    return NR_TFLITE_ANSWER_B;
}

void nr_tflite_workload(struct nr_workload *out, struct nr_tflite_memory *memory)
{
    memset(memory, 0, sizeof *memory);
    memory->network.model = &nr_tflite_model;
    memory->network.arena = memory->arena;
    memory->network.patch = memory->patch;
    out->name = "tflite";
    out->model = NR_TFLITE_MODEL;
    out->slot_bytes = NR_TFLITE_SLOT_B;
    out->output_bytes = NR_TFLITE_ANSWER_B;
    out->phases = NR_TFLITE_PHASES;
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
