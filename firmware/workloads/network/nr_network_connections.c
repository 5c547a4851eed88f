/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes with weights, and pools. No sum overflows 32 bit: who made the tables saw to that. */
#include <stddef.h>

#include "nr_network_arithmetic.h"
#include "nr_network_parts.h"

void nr_network_dense(const struct nr_network *network, const struct nr_network_node *node)
{
    const int8_t *weight = &network->model->weights[node->weight_at];
    const int32_t *bias = &network->model->numbers[node->bias_at];
    const int16_t *input = &network->values[node->input_at];
    int16_t *output = &network->values[node->value_at];
    int32_t row, n;

    for (row = 0; row < node->values; row++) {
        int32_t sum = 0;

        for (n = 0; n < node->inputs; n++) {
            sum += *weight++ * input[n];
        }
        sum = sum * ((int32_t)1 << node->up) + bias[row];
        output[row] = nr_limited_16(nr_rounded_32(sum, node->shift));
    }
}

/* A place of the kernel on the image: its rows and columns that are on it. */
struct span {
    int32_t start, first, end;
};

/* Which places of a kernel lie on an axis when its first lies at `start`, which may be outside. */
static struct span span_of(int32_t start, int32_t kernel, int32_t dilation, int32_t size)
{
    struct span span = {start, 0, kernel};

    while (span.first < kernel && start + span.first * dilation < 0) {
        span.first++;
    }
    while (span.end > span.first && start + (span.end - 1) * dilation >= size) {
        span.end--;
    }
    return span;
}

/* Returns the sum over one channel under the kernel; without a kernel each weight is 1. */
static int32_t under(const struct nr_network_window *window, const int16_t *channel,
                     const int8_t *kernel, struct span rows, struct span columns)
{
    int32_t sum = 0;
    int32_t row, column;

    for (row = rows.first; row < rows.end; row++) {
        int32_t at = (rows.start + row * window->dilation_height) * window->width_in;

        for (column = columns.first; column < columns.end; column++) {
            int32_t value = channel[at + columns.start + column * window->dilation_width];

            sum += kernel ? value * kernel[row * window->kernel_width + column] : value;
        }
    }
    return sum;
}

static struct span rows_at(const struct nr_network_window *window, int32_t row)
{
    return span_of(row * window->stride_height - window->before_height, window->kernel_height,
                   window->dilation_height, window->height_in);
}

static struct span columns_at(const struct nr_network_window *window, int32_t column)
{
    return span_of(column * window->stride_width - window->before_width, window->kernel_width,
                   window->dilation_width, window->width_in);
}

void nr_network_convolution(const struct nr_network *network, const struct nr_network_node *node)
{
    const struct nr_network_window *window = &network->model->windows[node->detail];
    const int8_t *kernels = &network->model->weights[node->weight_at];
    const int32_t *bias = &network->model->numbers[node->bias_at];
    const int16_t *input = &network->values[node->input_at];
    int16_t *output = &network->values[node->value_at];
    int32_t channels = window->channels_in / window->groups;
    int32_t outputs = window->channels_out / window->groups;
    int32_t image = window->height_in * window->width_in;
    int32_t kernel = window->kernel_height * window->kernel_width;
    int32_t out, row, column, channel;

    for (out = 0; out < window->channels_out; out++) {
        const int16_t *mine = &input[(ptrdiff_t)(out / outputs) * channels * image];

        for (row = 0; row < window->height_out; row++) {
            struct span rows = rows_at(window, row);

            for (column = 0; column < window->width_out; column++) {
                struct span columns = columns_at(window, column);
                int32_t sum = 0;

                for (channel = 0; channel < channels; channel++) {
                    sum += under(window, &mine[(ptrdiff_t)channel * image],
                                 &kernels[(ptrdiff_t)channel * kernel], rows, columns);
                }
                sum = sum * ((int32_t)1 << node->up) + bias[out];
                *output++ = nr_limited_16(nr_rounded_32(sum, node->shift));
            }
        }
        kernels += (ptrdiff_t)channels * kernel;
    }
}

void nr_network_pool(const struct nr_network *network, const struct nr_network_node *node)
{
    const struct nr_network_window *window = &network->model->windows[node->detail];
    const int16_t *input = &network->values[node->input_at];
    int16_t *output = &network->values[node->value_at];
    int32_t channel, row, column;

    for (channel = 0; channel < window->channels_out; channel++) {
        for (row = 0; row < window->height_out; row++) {
            struct span rows = rows_at(window, row);

            for (column = 0; column < window->width_out; column++) {
                int32_t sum = under(window, input, NULL, rows, columns_at(window, column));

                *output++ = nr_limited_16(nr_rounded_32(sum, node->shift));
            }
        }
        input += (ptrdiff_t)window->height_in * window->width_in;
    }
}
