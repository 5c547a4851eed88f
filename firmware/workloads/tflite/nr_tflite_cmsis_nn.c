/* SPDX-License-Identifier: Apache-2.0 */
/* CONV_2D, FULLY_CONNECTED, DEPTHWISE_CONV_2D by CMSIS-NN in place of nr_tflite_weights.c. */
#include "nr_tflite_parts.h"

#if NR_TFLITE_CMSIS_NN

#ifdef CMSIS_NN_USE_SINGLE_ROUNDING
#error "CMSIS_NN_USE_SINGLE_ROUNDING: its answers are not those of tflite-micro"
#endif
#ifdef __ARM_FEATURE_MVE
#error "the memory for CMSIS-NN is counted for cores without Helium"
#endif

#include <string.h>

/* With -ffreestanding each read of four bytes would be a call, and all take three times as long. */
#define memcpy __builtin_memcpy
#define memset __builtin_memset
#include "nr_tflite_cmsis_nn.h"

/* What all three have in common. */
struct job {
    const int8_t *input, *weights;
    const int32_t *biases;
    int8_t *output;
    cmsis_nn_context scratch;
    cmsis_nn_conv_params how;
    cmsis_nn_per_channel_quant_params factors;
    cmsis_nn_dims from, kernel, to, biases_size;
};

static cmsis_nn_dims dims(int32_t count, int32_t height, int32_t width, int32_t channels)
{
    cmsis_nn_dims made = {.n = count, .h = height, .w = width, .c = channels};

    return made;
}

/* The library states no const for tables that it reads. */
static int32_t *table(const int32_t *numbers)
{
    return (int32_t *)(uintptr_t)numbers;
}

static struct job job_of(const struct nr_tflite *network, const struct nr_tflite_operator *at)
{
    const int32_t *biases = &network->model->numbers[at->number_at];
    struct job made = {
        .input = nr_tflite_read(network, at->from),
        .weights = &network->model->weights[at->weight_at],
        .biases = biases,
        .output = &network->arena[at->to],
        .scratch = {.buf = network->patch},
        .how = {.input_offset = -at->zero_from,
                .output_offset = at->zero_to,
                .stride = {.w = at->stride_width, .h = at->stride_height},
                .padding = {.w = at->left, .h = at->top},
                .dilation = {.w = 1, .h = 1},
                .activation = {.min = at->low, .max = at->high}},
        .factors = {.multiplier = table(&biases[at->channels_out]),
                    .shift = table(&network->model->shifts[at->shift_at])},
        .from = dims(1, at->height_in, at->width_in, at->channels_in),
        .kernel = dims(at->channels_out, at->kernel_height, at->kernel_width, at->channels_in),
        .to = dims(1, at->height_out, at->width_out, at->channels_out),
        .biases_size = dims(1, 1, 1, at->channels_out)};

    return made;
}

int nr_tflite_convolution(const struct nr_tflite *network,
                          const struct nr_tflite_operator *operator)
{
    struct job job = job_of(network, operator);

    /* One place: there the kernels of layers take fewer instructions than those of images. */
    if (job.from.h == 1 && job.from.w == 1 && job.kernel.h == 1 && job.kernel.w == 1) {
        cmsis_nn_fc_params how = {.input_offset = job.how.input_offset,
                                  .output_offset = job.how.output_offset,
                                  .activation = job.how.activation};

        job.kernel = dims(job.from.c, 1, 1, job.to.c);
        return (int)arm_fully_connected_per_channel_s8(
            &job.scratch, &how, &job.factors, &job.from, job.input, &job.kernel, job.weights,
            &job.biases_size, job.biases, &job.biases_size, job.output);
    }
    return (int)arm_convolve_wrapper_s8(&job.scratch, &job.how, &job.factors, &job.from, job.input,
                                        &job.kernel, job.weights, &job.biases_size, job.biases,
                                        &job.to, job.output);
}

int nr_tflite_depthwise(const struct nr_tflite *network, const struct nr_tflite_operator *operator)
{
    struct job job = job_of(network, operator);
    cmsis_nn_dw_conv_params how = {.input_offset = job.how.input_offset,
                                   .output_offset = job.how.output_offset,
                                   .ch_mult = operator->each,
                                   .stride = job.how.stride,
                                   .padding = job.how.padding,
                                   .dilation = job.how.dilation,
                                   .activation = job.how.activation};

    job.kernel = dims(1, job.kernel.h, job.kernel.w, job.to.c);
    return (int)arm_depthwise_conv_wrapper_s8(&job.scratch, &how, &job.factors, &job.from,
                                              job.input, &job.kernel, job.weights,
                                              &job.biases_size, job.biases, &job.to, job.output);
}

#endif
