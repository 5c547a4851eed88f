/* SPDX-License-Identifier: Apache-2.0 */
/* A quantised network of int8, from tables: every byte as tflite-micro's reference kernels give it.
   It has no allocation, no globals and no floating point: the caller owns tables and memory. */
#ifndef NR_TFLITE_H
#define NR_TFLITE_H

#include "nr_tflite_kernels.h"

#include <stdint.h>

enum nr_tflite_kind {
    NR_TFLITE_CONVOLUTION,
    NR_TFLITE_DEPTHWISE,
    NR_TFLITE_SUM,
    NR_TFLITE_AVERAGE,
    NR_TFLITE_LARGEST,
    NR_TFLITE_MEAN,
    NR_TFLITE_PAD,
    NR_TFLITE_SOFTMAX,
    NR_TFLITE_KEEP
};

/* In place of a place in the arena. */
enum { NR_TFLITE_INPUT = -1 };

/* As the kernels read them. */
#if NR_TFLITE_CMSIS_NN
typedef int32_t nr_tflite_shift;
#else
typedef int8_t nr_tflite_shift;
#endif

/* An operator. An image lies row by row, its channels innermost.
   Convolution: weights (channels out, rows, columns, channels in); at `number_at` biases, then
   multipliers, at `shift_at` shifts, each one an output channel. A fully connected layer is one of
   a kernel of one place, over an image of one column.
   Depthwise: weights (rows, columns, channels out); `each` outputs of an input channel.
   Sum: multipliers and shifts of both inputs and of the result. `channels_in` values.
   Mean: of `width_in` values, `channels_in` apart, for each of `height_in`; one multiplier.
   Pad: `top`, `left` and `front` places before those of the input.
   Softmax: of `height_in` rows of `channels_in` values; at `number_at` exp of minus 0 to 255
   steps, in units of 2^-31.
   Keep: the last `height_in` rows of `channels_in` values, the newest of which is read; they stay
   where they are between two runs. */
struct nr_tflite_operator {
    int32_t kind;
    int32_t from, other, to; /* places in the arena; NR_TFLITE_INPUT: the input */
    int32_t height_in, width_in, channels_in;
    int32_t height_out, width_out, channels_out;
    int32_t kernel_height, kernel_width;
    int32_t stride_height, stride_width;
    int32_t top, left, front; /* padding */
    int32_t each;
    int32_t zero_from, zero_other, zero_to;
    int32_t low, high; /* of a result */
    int32_t weight_at, number_at, shift_at;
};

struct nr_tflite_model {
    const struct nr_tflite_operator *operators;
    const int8_t *weights;
    const int32_t *numbers;
    const nr_tflite_shift *shifts;
    int32_t operator_count;
    int32_t output_at, output_b; /* the answer, in the arena */
};

/* `patch` has room for the values below the largest kernel of a convolution, or for what CMSIS-NN
   asks for in its place. */
struct nr_tflite {
    const struct nr_tflite_model *model;
    const int8_t *input;
    int8_t *arena;
    int16_t *patch;
    int32_t starting; /* of nr_tflite_start alone, else 0 */
};

/* Runs the network on its input, which stays as it is. Returns 0, or what CMSIS-NN answers
   where it refuses an operator. */
int nr_tflite_run(const struct nr_tflite *network);

/* Begins a network that is run row by row: as if every row before had been that of its input.
   Returns as nr_tflite_run. */
int nr_tflite_start(struct nr_tflite *network);

#endif
