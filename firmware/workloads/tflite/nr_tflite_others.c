/* SPDX-License-Identifier: Apache-2.0 */
/* AVERAGE_POOL_2D, MAX_POOL_2D, ADD, MEAN, PAD, SOFTMAX, and the rows that are kept. */
#include "nr_tflite_parts.h"

#include <string.h>

enum {
    SUM_SHIFT = 20,     /* both inputs of a sum are brought to a unit of 2^-20 */
    SUM_BITS = 12,      /* of a sum of exponentials, before the point */
    NEWTON_STEPS = 3
};

/* 48/17 and -32/17 in units of 2^-29, of the first guess of a reciprocal. */
static const int32_t guess = 1515870810;
static const int32_t guess_slope = -1010580540;

/* A range of rows or columns of an image: what of a kernel lies on it. */
struct range {
    int32_t first, end;
};

static struct range range_of(int32_t start, int32_t length, int32_t size)
{
    struct range found;

    found.first = start < 0 ? 0 : start;
    found.end = start + length > size ? size : start + length;
    return found;
}

/* Returns the average, halves away from zero, or the largest value of one channel. */
static int32_t pooled(const struct nr_tflite_operator *operator, const int8_t *channel,
                      struct range rows, struct range columns)
{
    int32_t count = (rows.end - rows.first) * (columns.end - columns.first);
    int32_t sum = 0;
    int32_t largest = INT8_MIN;
    int32_t row;
    int32_t column;

    for (row = rows.first; row < rows.end; row++) {
        for (column = columns.first; column < columns.end; column++) {
            int32_t at = (row * operator->width_in + column) * operator->channels_in;

            sum += channel[at];
            largest = channel[at] > largest ? channel[at] : largest;
        }
    }
    if (operator->kind == NR_TFLITE_LARGEST) {
        return largest;
    }
    return (sum > 0 ? sum + count / 2 : sum - count / 2) / count;
}

void nr_tflite_pool(const struct nr_tflite *network, const struct nr_tflite_operator *operator)
{
    const int8_t *image = nr_tflite_read(network, operator->from);
    int8_t *output = &network->arena[operator->to];
    int32_t row;
    int32_t column;
    int32_t channel;

    for (row = 0; row < operator->height_out; row++) {
        struct range rows = range_of(row * operator->stride_height - operator->top,
                                     operator->kernel_height, operator->height_in);

        for (column = 0; column < operator->width_out; column++) {
            struct range columns = range_of(column * operator->stride_width - operator->left,
                                            operator->kernel_width, operator->width_in);

            for (channel = 0; channel < operator->channels_in; channel++) {
                int32_t value = pooled(operator, &image[channel], rows, columns);

                /* Input and output have one zero point: it is in the value. */
                *output++ = nr_tflite_limited(operator, value - operator->zero_to);
            }
        }
    }
}

void nr_tflite_sum(const struct nr_tflite *network, const struct nr_tflite_operator *operator)
{
    const int32_t *multipliers = &network->model->numbers[operator->number_at];
    const nr_tflite_shift *shifts = &network->model->shifts[operator->shift_at];
    const int8_t *first = nr_tflite_read(network, operator->from);
    const int8_t *second = nr_tflite_read(network, operator->other);
    int8_t *output = &network->arena[operator->to];
    int32_t n;

    for (n = 0; n < operator->channels_in; n++) {
        int32_t one = (first[n] - operator->zero_from) * ((int32_t)1 << SUM_SHIFT);
        int32_t other = (second[n] - operator->zero_other) * ((int32_t)1 << SUM_SHIFT);
        int32_t sum = nr_tflite_scaled(one, multipliers[0], shifts[0])
                      + nr_tflite_scaled(other, multipliers[1], shifts[1]);

        output[n] = nr_tflite_limited(operator,
                                      nr_tflite_scaled(sum, multipliers[2], shifts[2]));
    }
}

void nr_tflite_mean(const struct nr_tflite *network, const struct nr_tflite_operator *operator)
{
    const int8_t *input = nr_tflite_read(network, operator->from);
    int8_t *output = &network->arena[operator->to];
    int32_t multiplier = network->model->numbers[operator->number_at];
    const nr_tflite_shift *shift = &network->model->shifts[operator->shift_at];
    int32_t outer;
    int32_t n;
    int32_t inner;

    for (outer = 0; outer < operator->height_in; outer++) {
        int32_t at = outer * operator->width_in * operator->channels_in;
        const int8_t *values = &input[at];

        for (inner = 0; inner < operator->channels_in; inner++) {
            int32_t sum = 0;

            for (n = 0; n < operator->width_in; n++) {
                sum += values[n * operator->channels_in + inner] - operator->zero_from;
            }
            *output++ = nr_tflite_limited(operator, nr_tflite_scaled(sum, multiplier, *shift));
        }
    }
}

void nr_tflite_pad(const struct nr_tflite *network, const struct nr_tflite_operator *operator)
{
    const int8_t *image = nr_tflite_read(network, operator->from);
    int8_t *output = &network->arena[operator->to];
    int32_t size = operator->height_out * operator->width_out * operator->channels_out;
    int32_t n;
    int32_t row;
    int32_t column;

    for (n = 0; n < size; n++) {
        output[n] = (int8_t)operator->zero_to;
    }
    for (row = 0; row < operator->height_in; row++) {
        for (column = 0; column < operator->width_in; column++) {
            int32_t place = (row + operator->top) * operator->width_out + column + operator->left;
            int8_t *to = &output[place * operator->channels_out + operator->front];

            for (n = 0; n < operator->channels_in; n++) {
                to[n] = *image++;
            }
        }
    }
}

/* Returns how many bits above its highest one are 0; value is not. */
static int32_t headroom_of(uint32_t value)
{
    int32_t count = 0;

    while (value < (uint32_t)1 << 31) {
        value <<= 1;
        count++;
    }
    return count;
}

/* Returns 1 / (1 + part / 2^31) in units of 2^-31, by Newton's method. */
static int32_t reciprocal(int32_t part)
{
    int32_t half = (int32_t)(((int64_t)part + ((int64_t)1 << 31)) / 2);
    int32_t x = guess + nr_tflite_high_product(half, guess_slope);
    int32_t n;

    for (n = 0; n < NEWTON_STEPS; n++) {
        int32_t missing = ((int32_t)1 << 29) - nr_tflite_high_product(half, x);

        x += nr_tflite_high_product(x, missing) * 4;
    }
    return x > INT32_MAX / 2 ? INT32_MAX : x * 2;
}

static void softmax_row(const struct nr_tflite_operator *operator, const int32_t *exponentials,
                        const int8_t *row, int8_t *output)
{
    int32_t largest = INT8_MIN;
    int32_t sum = 0;
    int32_t headroom;
    int32_t share;
    int32_t shift;
    int32_t n;

    for (n = 0; n < operator->channels_in; n++) {
        largest = row[n] > largest ? row[n] : largest;
    }
    for (n = 0; n < operator->channels_in; n++) {
        sum += nr_tflite_halved(exponentials[largest - row[n]], SUM_BITS);
    }
    headroom = headroom_of((uint32_t)sum);
    share = reciprocal((int32_t)(((uint32_t)sum << headroom) - ((uint32_t)1 << 31)));
    shift = SUM_BITS - headroom + 31 - 8;
    for (n = 0; n < operator->channels_in; n++) {
        int32_t product = nr_tflite_high_product(exponentials[largest - row[n]], share);

        /* With some hundred equal values each share is less than half a step. */
        output[n] = nr_tflite_limited(operator,
                                      shift > 31 ? 0 : nr_tflite_halved(product, shift));
    }
}

void nr_tflite_softmax(const struct nr_tflite *network, const struct nr_tflite_operator *operator)
{
    const int32_t *exponentials = &network->model->numbers[operator->number_at];
    const int8_t *input = nr_tflite_read(network, operator->from);
    int8_t *output = &network->arena[operator->to];
    int32_t row;

    for (row = 0; row < operator->height_in; row++) {
        softmax_row(operator, exponentials, input, output);
        input += operator->channels_in;
        output += operator->channels_in;
    }
}

void nr_tflite_keep(const struct nr_tflite *network, const struct nr_tflite_operator *operator)
{
    const int8_t *newest = nr_tflite_read(network, operator->from);
    int8_t *rows = &network->arena[operator->to];
    size_t row_b = (size_t)operator->channels_in;
    size_t before_b = (size_t)(operator->height_in - 1) * row_b;

    if (network->starting) {
        for (size_t at = 0; at < before_b; at += row_b) {
            memcpy(&rows[at], newest, row_b);
        }
    } else {
        memmove(rows, &rows[row_b], before_b);
    }
    memcpy(&rows[before_b], newest, row_b);
}
