/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes whose kernel moves over an image: convolutions, and pools. */
#include <stddef.h>

#include "nr_network_arithmetic.h"
#include "nr_network_parts.h"
#include "nr_network_sums.h"

enum { MARKS = 16 /* bits of a number */ };

/* A place of the kernel on an axis of the image: its first and end on it. */
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

/* Returns the sum over one channel under the kernel. */
static int32_t under(const struct nr_network_window *window, const int16_t *channel,
                     struct span rows, struct span columns)
{
    int32_t sum = 0;
    int32_t row, column;

    for (row = rows.first; row < rows.end; row++) {
        int32_t at = (rows.start + row * window->dilation_height) * window->width_in;

        for (column = columns.first; column < columns.end; column++) {
            sum += channel[at + columns.start + column * window->dilation_width];
        }
    }
    return sum;
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
                int32_t sum = under(window, input, rows, columns_at(window, column));

                *output++ = nr_limited_16(nr_rounded_32(sum, node->shift));
            }
        }
        input += (ptrdiff_t)window->height_in * window->width_in;
    }
}

/* A convolution of one group of channels: each of `images` gives an output image for each row of
   weights. */
struct group {
    const struct nr_network_window *window;
    const int16_t *images;
    int32_t channels;
    struct nr_network_rows rows;
};

static struct group first_group(const struct nr_network *network,
                                const struct nr_network_node *node)
{
    struct group group;

    group.window = &network->model->windows[node->detail];
    group.images = &network->values[node->input_at];
    group.channels = group.window->channels_in / group.window->groups;
    group.rows = nr_network_rows_of(network, node);
    group.rows.rows = group.window->channels_out / group.window->groups;
    group.rows.stride = group.window->height_out * group.window->width_out;
    return group;
}

static void next_group(struct group *group, int32_t words)
{
    const struct nr_network_window *window = group->window;

    group->images += (ptrdiff_t)group->channels * window->height_in * window->width_in;
    group->rows.weights += words;
    group->rows.bias += group->rows.rows;
    group->rows.output += (ptrdiff_t)group->rows.rows * group->rows.stride;
}

/* Copies what lies under the kernel, 0 beside the image. */
static void copy_patch(const struct group *group, struct span rows, struct span columns,
                       int16_t *patch)
{
    const struct nr_network_window *window = group->window;
    const int16_t *image = group->images;
    int32_t channel, row, column;

    for (channel = 0; channel < group->channels; channel++) {
        for (row = 0; row < window->kernel_height; row++) {
            int32_t at = (rows.start + row * window->dilation_height) * window->width_in
                         + columns.start;
            int outside = row < rows.first || row >= rows.end;

            for (column = 0; column < window->kernel_width; column++) {
                if (outside || column < columns.first || column >= columns.end) {
                    *patch++ = 0;
                } else {
                    *patch++ = image[at + column * window->dilation_width];
                }
            }
        }
        image += (ptrdiff_t)window->height_in * window->width_in;
    }
}

void nr_network_convolution(const struct nr_network *network, const struct nr_network_node *node)
{
    struct group group = first_group(network, node);
    const struct nr_network_window *window = group.window;
    int16_t *patch = &network->values[node->ring_at];
    int32_t places = group.channels * window->kernel_height * window->kernel_width;
    int32_t words = 4 * nr_network_words(group.rows.rows) * nr_network_words(places);
    int32_t number, row, column;

    for (number = 0; number < window->groups; number++) {
        struct nr_network_rows rows = group.rows;

        for (row = 0; row < window->height_out; row++) {
            for (column = 0; column < window->width_out; column++) {
                copy_patch(&group, rows_at(window, row), columns_at(window, column), patch);
                nr_network_sum_all(&rows, patch, places);
                rows.output++;
            }
        }
        next_group(&group, words);
    }
}

/* Returns the place of the lowest bit of a number that is not 0. */
static inline int32_t lowest(uint32_t number)
{
#if defined(__GNUC__)
    return __builtin_ctz(number);
#else
    int32_t place = 0;

    while ((number >> place & 1U) == 0) {
        place++;
    }
    return place;
#endif
}

/* Marks the values of a group that are not 0: a bit for each channel, MARKS of them a number, the
   numbers of a place of the image side by side. */
static void mark(const struct group *group, uint16_t *marks)
{
    const struct nr_network_window *window = group->window;
    int32_t image = window->height_in * window->width_in;
    int32_t numbers = (group->channels + MARKS - 1) / MARKS;
    const int16_t *value = group->images;
    int32_t channel, n;

    for (n = 0; n < image * numbers; n++) {
        marks[n] = 0;
    }
    for (channel = 0; channel < group->channels; channel++) {
        uint16_t bit = (uint16_t)(1U << channel % MARKS);
        uint16_t *number = &marks[channel / MARKS];

        for (n = 0; n < image; n++) {
            if (*value++ != 0) {
                *number = (uint16_t)(*number | bit);
            }
            number += numbers;
        }
    }
}

/* Takes the events of marked channels at a place of the image, whose weights begin at `place`. */
static void take_marked(const struct group *group, const uint16_t *marks, int32_t at, int32_t place,
                        struct nr_network_events *events)
{
    int32_t image = group->window->height_in * group->window->width_in;
    int32_t channel;

    for (channel = 0; channel < group->channels; channel += MARKS) {
        uint32_t left = *marks++;

        while (left != 0) {
            int32_t which = channel + lowest(left);

            left &= left - 1;
            nr_network_event(events, place + which, group->images[which * image + at]);
        }
    }
}

/* Takes the events under the kernel: a place is that of a row, a column and a channel. */
static void take_events(const struct group *group, const uint16_t *marks, struct span rows,
                        struct span columns, struct nr_network_events *events)
{
    const struct nr_network_window *window = group->window;
    int32_t numbers = (group->channels + MARKS - 1) / MARKS;
    int32_t row, column;

    events->ones = 0;
    events->others = 0;
    for (row = rows.first; row < rows.end; row++) {
        int32_t at = (rows.start + row * window->dilation_height) * window->width_in;
        int32_t place = (row * window->kernel_width + columns.first) * group->channels;

        at += columns.start + columns.first * window->dilation_width;
        for (column = columns.first; column < columns.end; column++) {
            take_marked(group, &marks[(ptrdiff_t)at * numbers], at, place, events);
            at += window->dilation_width;
            place += group->channels;
        }
    }
}

void nr_network_convolution_events(const struct nr_network *network,
                                   const struct nr_network_node *node)
{
    struct group group = first_group(network, node);
    const struct nr_network_window *window = group.window;
    int32_t places = group.channels * window->kernel_height * window->kernel_width;
    int32_t words = places * nr_network_words(group.rows.rows);
    struct nr_network_events events = {&network->values[node->ring_at], 2 * places, 0, 0};
    uint16_t *marks = (uint16_t *)&events.entries[events.size];
    int32_t number, row, column;

    for (number = 0; number < window->groups; number++) {
        struct nr_network_rows rows = group.rows;

        mark(&group, marks);
        for (row = 0; row < window->height_out; row++) {
            struct span under_rows = rows_at(window, row);

            for (column = 0; column < window->width_out; column++) {
                take_events(&group, marks, under_rows, columns_at(window, column), &events);
                nr_network_sum_events(&rows, &events);
                rows.output++;
            }
        }
        next_group(&group, words);
    }
}
