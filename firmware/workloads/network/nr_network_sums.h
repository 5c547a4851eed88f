/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of products of a node with weights: over events, which are values that are not 0, and over
   all values. No sum overflows 32 bit: who made the tables saw to that. */
#ifndef NR_NETWORK_SUMS_H
#define NR_NETWORK_SUMS_H

#include "nr_network.h"

/* Events at the places of a column each: of those that are 1 the place, from `entries` on; of
   others place and value, down from the end of its `size`. */
struct nr_network_events {
    int16_t *entries;
    int32_t size, ones, others;
};

static inline void nr_network_event(struct nr_network_events *events, int32_t place, int32_t value)
{
    if (value == 1) {
        events->entries[events->ones++] = (int16_t)place;
    } else {
        int16_t *entry = &events->entries[events->size - 2 * ++events->others];

        entry[0] = (int16_t)place;
        entry[1] = (int16_t)value;
    }
}

/* What a node makes of its sums: outputs that are `stride` apart, one a row. A bias has the half
   that its shift rounds by in it. */
struct nr_network_rows {
    const uint32_t *weights;
    const int32_t *bias;
    int16_t *output;
    int32_t rows, stride;
    int32_t factor, shift;
};

struct nr_network_rows nr_network_rows_of(const struct nr_network *network,
                                          const struct nr_network_node *node);

/* Returns how many words hold the weights of so many rows (nr_network_sum_events) or values. */
static inline int32_t nr_network_words(int32_t count)
{
    return (count + 3) / 4;
}

/* Weights: a column for each place of an event, four rows a word. */
void nr_network_sum_events(const struct nr_network_rows *rows,
                           const struct nr_network_events *events);

/* Weights: of four rows, four values of each a word, row after row; bytes 0, 2, 1 and 3. */
void nr_network_sum_all(const struct nr_network_rows *rows, const int16_t *values, int32_t count);

#endif
