/* SPDX-License-Identifier: Apache-2.0 */
#include "nr_network_sums.h"

#include <stddef.h>

#include "nr_network_arithmetic.h"
#include "nr_network_pairs.h"

enum {
    ONES_MAX = 258, /* so many weights of 127 do not overflow 16 bit */
    TOGETHER = 4    /* words whose sums are in registers at once */
};

/* Inlined, these would share the registers with their caller, and lose them. */
#if defined(__GNUC__)
#define APART __attribute__((noinline))
#else
#define APART
#endif

struct nr_network_rows nr_network_rows_of(const struct nr_network *network,
                                          const struct nr_network_node *node)
{
    struct nr_network_rows found;

    found.weights = &network->model->weights[node->weight_at];
    found.bias = &network->model->numbers[node->bias_at];
    found.output = &network->values[node->value_at];
    found.rows = node->values;
    found.stride = 1;
    found.factor = (int32_t)1 << node->up;
    found.shift = node->shift;
    return found;
}

/* Where the next output goes, and what becomes of its sum. */
struct outputs {
    const int32_t *bias;
    int16_t *output;
    int32_t stride, factor, shift;
};

static inline struct outputs outputs_from(const struct nr_network_rows *rows, int32_t row)
{
    struct outputs found;

    found.bias = &rows->bias[row];
    found.output = &rows->output[(ptrdiff_t)row * rows->stride];
    found.stride = rows->stride;
    found.factor = rows->factor;
    found.shift = rows->shift;
    return found;
}

static inline void give(struct outputs *to, int32_t sum)
{
    int32_t whole = sum * to->factor + *to->bias++;

    *to->output = nr_limited_16(nr_floored_32(whole, to->shift));
    to->output += to->stride;
}

/* Gives sums, as far as there are rows; the first is that of `row`. */
static void give_all(const struct nr_network_rows *rows, int32_t row, const int32_t *sums,
                     int32_t count)
{
    struct outputs to = outputs_from(rows, row);
    int32_t n;

    for (n = 0; n < count && row + n < rows->rows; n++) {
        give(&to, sums[n]);
    }
}

static inline void unpack(int32_t *sums, uint32_t even, uint32_t odd)
{
    sums[0] = nr_pairs_first(even);
    sums[1] = nr_pairs_first(odd);
    sums[2] = nr_pairs_second(even);
    sums[3] = nr_pairs_second(odd);
}

/* Sums the weights of events that are 1, of the rows of one word. */
static APART void sum_word(const uint32_t *weights, int32_t words, const int16_t *ones,
                           const int16_t *end, int32_t *sums)
{
    uint32_t even = 0, odd = 0;

    for (; ones < end; ones++) {
        uint32_t word = weights[(ptrdiff_t)*ones * words];

        even = nr_pairs_even(even, word);
        odd = nr_pairs_odd(odd, word);
    }
    unpack(sums, even, odd);
}

/* Adds up pairs of the weights of events that are 1, of four words. */
static inline void add_pairs(const uint32_t *weights, int32_t words, const int16_t *ones,
                             const int16_t *end, uint32_t *pairs)
{
    uint32_t even_0 = 0, even_1 = 0, even_2 = 0, even_3 = 0;
    uint32_t odd_0 = 0, odd_1 = 0, odd_2 = 0, odd_3 = 0;

    for (; ones < end; ones++) {
        const uint32_t *column = &weights[(ptrdiff_t)*ones * words];
        uint32_t word = column[0];

        even_0 = nr_pairs_even(even_0, word);
        odd_0 = nr_pairs_odd(odd_0, word);
        word = column[1];
        even_1 = nr_pairs_even(even_1, word);
        odd_1 = nr_pairs_odd(odd_1, word);
        word = column[2];
        even_2 = nr_pairs_even(even_2, word);
        odd_2 = nr_pairs_odd(odd_2, word);
        word = column[3];
        even_3 = nr_pairs_even(even_3, word);
        odd_3 = nr_pairs_odd(odd_3, word);
    }
    pairs[0] = even_0;
    pairs[1] = odd_0;
    pairs[2] = even_1;
    pairs[3] = odd_1;
    pairs[4] = even_2;
    pairs[5] = odd_2;
    pairs[6] = even_3;
    pairs[7] = odd_3;
}

static APART void sum_four_words(const uint32_t *weights, int32_t words, const int16_t *ones,
                                 const int16_t *end, int32_t *sums)
{
    uint32_t pairs[2 * TOGETHER];

    add_pairs(weights, words, ones, end, pairs);
    unpack(&sums[0], pairs[0], pairs[1]);
    unpack(&sums[4], pairs[2], pairs[3]);
    unpack(&sums[8], pairs[4], pairs[5]);
    unpack(&sums[12], pairs[6], pairs[7]);
}

static inline void give_pairs(struct outputs *to, uint32_t even, uint32_t odd)
{
    give(to, nr_pairs_first(even));
    give(to, nr_pairs_first(odd));
    give(to, nr_pairs_second(even));
    give(to, nr_pairs_second(odd));
}

/* Gives the rows of four words where all events are 1, and few: the usual case, at once. */
static APART void give_four_words(const struct nr_network_rows *rows, int32_t word, int32_t words,
                                  const struct nr_network_events *events)
{
    uint32_t pairs[2 * TOGETHER];
    struct outputs to;

    add_pairs(&rows->weights[word], words, events->entries, &events->entries[events->ones],
              pairs);
    to = outputs_from(rows, 4 * word);
    give_pairs(&to, pairs[0], pairs[1]);
    give_pairs(&to, pairs[2], pairs[3]);
    give_pairs(&to, pairs[4], pairs[5]);
    give_pairs(&to, pairs[6], pairs[7]);
}

/* Adds the products of events that are not 1 to the sums of one word's rows. */
static APART void add_others(const uint32_t *weights, int32_t words,
                       const struct nr_network_events *events, int32_t *sums)
{
    const int16_t *end = &events->entries[events->size];
    const int16_t *entry = end - (ptrdiff_t)2 * events->others;
    int32_t sum_0 = sums[0], sum_1 = sums[1], sum_2 = sums[2], sum_3 = sums[3];

    for (; entry < end; entry += 2) {
        uint32_t word = weights[(ptrdiff_t)entry[0] * words];
        int32_t value = entry[1];

        sum_0 += value * nr_signed_8(word);
        sum_1 += value * nr_signed_8(word >> 8);
        sum_2 += value * nr_signed_8(word >> 16);
        sum_3 += value * nr_signed_8(word >> 24);
    }
    sums[0] = sum_0;
    sums[1] = sum_1;
    sums[2] = sum_2;
    sums[3] = sum_3;
}

/* Sums the weights of events that are 1, of the rows of so many words: 1 or TOGETHER. */
static void sum_words(const uint32_t *weights, int32_t words, int32_t together,
                      const int16_t *ones, const int16_t *end, int32_t *sums)
{
    if (together == 1) {
        sum_word(weights, words, ones, end, sums);
    } else {
        sum_four_words(weights, words, ones, end, sums);
    }
}

/* The same of all events, however many. */
static void sum_ones(const uint32_t *weights, int32_t words, int32_t together,
                     const struct nr_network_events *events, int32_t *sums)
{
    const int16_t *ones = events->entries;
    int32_t left = events->ones;
    int32_t more[4 * TOGETHER];
    int32_t n;

    sum_words(weights, words, together, ones, ones + (left < ONES_MAX ? left : ONES_MAX), sums);
    while (left > ONES_MAX) {
        ones += ONES_MAX;
        left -= ONES_MAX;
        sum_words(weights, words, together, ones, ones + (left < ONES_MAX ? left : ONES_MAX),
                  more);
        for (n = 0; n < 4 * together; n++) {
            sums[n] += more[n];
        }
    }
}

void nr_network_sum_events(const struct nr_network_rows *rows,
                           const struct nr_network_events *events)
{
    int32_t words = nr_network_words(rows->rows);
    int32_t word = 0;
    int32_t n;

    if (events->others == 0 && events->ones <= ONES_MAX) {
        for (; 4 * (word + TOGETHER) <= rows->rows; word += TOGETHER) {
            give_four_words(rows, word, words, events);
        }
    }
    while (word < words) {
        const uint32_t *weights = &rows->weights[word];
        int32_t together = words - word < TOGETHER ? 1 : TOGETHER;
        int32_t sums[4 * TOGETHER];

        sum_ones(weights, words, together, events, sums);
        for (n = 0; events->others > 0 && n < together; n++) {
            add_others(&weights[n], words, events, &sums[(ptrdiff_t)4 * n]);
        }
        give_all(rows, 4 * word, sums, 4 * together);
        word += together;
    }
}

/* Adds the products of four values to the sums of four rows. */
static inline void add_four_products(const uint32_t *words, const int16_t *values, int32_t *sums)
{
    sums[0] = nr_pairs_products(sums[0], words[0], values);
    sums[1] = nr_pairs_products(sums[1], words[1], values);
    sums[2] = nr_pairs_products(sums[2], words[2], values);
    sums[3] = nr_pairs_products(sums[3], words[3], values);
}

void nr_network_sum_all(const struct nr_network_rows *rows, const int16_t *values, int32_t count)
{
    const uint32_t *words = rows->weights;
    int32_t whole = count / 4 * 4;
    int32_t row, n;

    for (row = 0; row < rows->rows; row += 4) {
        int32_t sums[4] = {0};

        for (n = 0; n < whole; n += 4) {
            add_four_products(words, &values[n], sums);
            words += 4;
        }
        if (whole < count) {
            int16_t left[4] = {0};

            for (n = whole; n < count; n++) {
                left[n - whole] = values[n];
            }
            add_four_products(words, left, sums);
            words += 4;
        }
        give_all(rows, row, sums, 4);
    }
}
