/* SPDX-License-Identifier: Apache-2.0 */
/* CONV_2D, FULLY_CONNECTED, DEPTHWISE_CONV_2D: nearly all of a network's time. */
#include "nr_tflite_parts.h"

#if !NR_TFLITE_CMSIS_NN

/* Channels that share what is loaded. */
enum { TOGETHER = 4 };

/* Where a result's biases, multipliers and shifts are. */
struct factors {
    const int32_t *biases;
    const int32_t *multipliers;
    const nr_tflite_shift *shifts;
};

static struct factors factors_of(const struct nr_tflite *network,
                                 const struct nr_tflite_operator *operator)
{
    struct factors found;

    found.biases = &network->model->numbers[operator->number_at];
    found.multipliers = &found.biases[operator->channels_out];
    found.shifts = &network->model->shifts[operator->shift_at];
    return found;
}

static int8_t result(const struct nr_tflite_operator *operator, const struct factors *factors,
                     int32_t channel, int32_t sum)
{
    return nr_tflite_limited(operator, nr_tflite_scaled(sum, factors->multipliers[channel],
                                                        factors->shifts[channel]));
}

/* Copies the part of an image below a kernel, about its zero point, which padding is. */
static void copy_patch(const struct nr_tflite_operator *operator, const int8_t *image, int32_t top,
                       int32_t left, int16_t *patch)
{
    int32_t row;
    int32_t column;
    int32_t channel;
    int32_t zero = operator->zero_from;

    for (row = top; row < top + operator->kernel_height; row++) {
        for (column = left; column < left + operator->kernel_width; column++) {
            if (row < 0 || row >= operator->height_in || column < 0
                || column >= operator->width_in) {
                for (channel = 0; channel < operator->channels_in; channel++) {
                    *patch++ = 0;
                }
            } else {
                int32_t at = (row * operator->width_in + column) * operator->channels_in;
                const int8_t *from = &image[at];

                for (channel = 0; channel < operator->channels_in; channel++) {
                    *patch++ = (int16_t)(from[channel] - zero);
                }
            }
        }
    }
}

/* Gives all channels of one place of the output, for a patch of so many values. */
static void multiply(const struct nr_tflite_operator *operator, const struct factors *factors,
                     const int8_t *weights, const int16_t *patch, int32_t length, int8_t *output)
{
    int32_t channel = 0;
    int32_t n;

    for (; channel + TOGETHER <= operator->channels_out; channel += TOGETHER) {
        int32_t at = channel * length;
        const int8_t *first = &weights[at];
        const int8_t *second = &first[length];
        const int8_t *third = &second[length];
        const int8_t *fourth = &third[length];
        int32_t sum_first = factors->biases[channel];
        int32_t sum_second = factors->biases[channel + 1];
        int32_t sum_third = factors->biases[channel + 2];
        int32_t sum_fourth = factors->biases[channel + 3];

        for (n = 0; n < length; n++) {
            int32_t value = patch[n];

            sum_first += value * first[n];
            sum_second += value * second[n];
            sum_third += value * third[n];
            sum_fourth += value * fourth[n];
        }
        output[channel] = result(operator, factors, channel, sum_first);
        output[channel + 1] = result(operator, factors, channel + 1, sum_second);
        output[channel + 2] = result(operator, factors, channel + 2, sum_third);
        output[channel + 3] = result(operator, factors, channel + 3, sum_fourth);
    }
    for (; channel < operator->channels_out; channel++) {
        int32_t at = channel * length;
        const int8_t *only = &weights[at];
        int32_t sum = factors->biases[channel];

        for (n = 0; n < length; n++) {
            sum += patch[n] * only[n];
        }
        output[channel] = result(operator, factors, channel, sum);
    }
}

int nr_tflite_convolution(const struct nr_tflite *network,
                          const struct nr_tflite_operator *operator)
{
    struct factors factors = factors_of(network, operator);
    const int8_t *weights = &network->model->weights[operator->weight_at];
    const int8_t *image = nr_tflite_read(network, operator->from);
    int8_t *output = &network->arena[operator->to];
    int32_t length = operator->kernel_height * operator->kernel_width * operator->channels_in;
    int32_t row;
    int32_t column;

    for (row = 0; row < operator->height_out; row++) {
        for (column = 0; column < operator->width_out; column++) {
            copy_patch(operator, image, row * operator->stride_height - operator->top,
                       column * operator->stride_width - operator->left, network->patch);
            multiply(operator, &factors, weights, network->patch, length, output);
            output += operator->channels_out;
        }
    }
    return 0;
}

/* The part of a kernel that lies on the image, at one place of the output. */
struct overlap {
    const int8_t *image;   /* at its first value below the kernel */
    const int8_t *weights; /* at the first one over the image */
    int32_t rows, columns;
};

static struct overlap overlap_of(const struct nr_tflite_operator *operator, const int8_t *image,
                                 const int8_t *weights, int32_t top, int32_t left)
{
    int32_t first_row = top < 0 ? -top : 0;
    int32_t first_column = left < 0 ? -left : 0;
    int32_t last_row = operator->height_in - top;
    int32_t last_column = operator->width_in - left;
    int32_t image_at = ((top + first_row) * operator->width_in + left + first_column)
                       * operator->channels_in;
    int32_t weight_at =
        (first_row * operator->kernel_width + first_column) * operator->channels_out;
    struct overlap found;

    if (last_row > operator->kernel_height) {
        last_row = operator->kernel_height;
    }
    if (last_column > operator->kernel_width) {
        last_column = operator->kernel_width;
    }
    found.rows = last_row - first_row;
    found.columns = last_column - first_column;
    found.image = &image[image_at];
    found.weights = &weights[weight_at];
    return found;
}

/* Four channels that lie side by side in image, weights and output. */
static void depthwise_together(const struct nr_tflite_operator *operator,
                               const struct factors *factors, const struct overlap *overlap,
                               int32_t channel, int8_t *output)
{
    int32_t zero = operator->zero_from;
    int32_t step = operator->channels_in;
    int32_t sum_first = factors->biases[channel];
    int32_t sum_second = factors->biases[channel + 1];
    int32_t sum_third = factors->biases[channel + 2];
    int32_t sum_fourth = factors->biases[channel + 3];
    int32_t row;
    int32_t column;

    for (row = 0; row < overlap->rows; row++) {
        const int8_t *values = &overlap->image[row * operator->width_in * step + channel];
        const int8_t *weights = &overlap->weights[row * operator->kernel_width * step + channel];

        for (column = 0; column < overlap->columns; column++) {
            sum_first += (values[0] - zero) * weights[0];
            sum_second += (values[1] - zero) * weights[1];
            sum_third += (values[2] - zero) * weights[2];
            sum_fourth += (values[3] - zero) * weights[3];
            values += step;
            weights += step;
        }
    }
    output[channel] = result(operator, factors, channel, sum_first);
    output[channel + 1] = result(operator, factors, channel + 1, sum_second);
    output[channel + 2] = result(operator, factors, channel + 2, sum_third);
    output[channel + 3] = result(operator, factors, channel + 3, sum_fourth);
}

static void depthwise_one(const struct nr_tflite_operator *operator, const struct factors *factors,
                          const struct overlap *overlap, int32_t channel, int8_t *output)
{
    int32_t sum = factors->biases[channel];
    int32_t row;
    int32_t column;

    for (row = 0; row < overlap->rows; row++) {
        const int8_t *values =
            &overlap->image[row * operator->width_in * operator->channels_in
                            + channel / operator->each];
        const int8_t *weights =
            &overlap->weights[row * operator->kernel_width * operator->channels_out + channel];

        for (column = 0; column < overlap->columns; column++) {
            sum += (*values - operator->zero_from) * *weights;
            values += operator->channels_in;
            weights += operator->channels_out;
        }
    }
    output[channel] = result(operator, factors, channel, sum);
}

int nr_tflite_depthwise(const struct nr_tflite *network, const struct nr_tflite_operator *operator)
{
    struct factors factors = factors_of(network, operator);
    const int8_t *weights = &network->model->weights[operator->weight_at];
    const int8_t *image = nr_tflite_read(network, operator->from);
    int8_t *output = &network->arena[operator->to];
    int32_t together = operator->each == 1 ? operator->channels_out / TOGETHER * TOGETHER : 0;
    int32_t row;
    int32_t column;
    int32_t channel;

    for (row = 0; row < operator->height_out; row++) {
        for (column = 0; column < operator->width_out; column++) {
            struct overlap overlap = overlap_of(
                operator, image, weights, row * operator->stride_height - operator->top,
                column * operator->stride_width - operator->left);

            for (channel = 0; channel < together; channel += TOGETHER) {
                depthwise_together(operator, &factors, &overlap, channel, output);
            }
            for (; channel < operator->channels_out; channel++) {
                depthwise_one(operator, &factors, &overlap, channel, output);
            }
            output += operator->channels_out;
        }
    }
    return 0;
}

#endif
