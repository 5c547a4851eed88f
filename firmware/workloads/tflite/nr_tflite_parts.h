/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations shared by the files of the network, and its arithmetic: gemmlowp's two roundings. */
#ifndef NR_TFLITE_PARTS_H
#define NR_TFLITE_PARTS_H

#include "nr_tflite.h"

/* Returns where a tensor lies that is read. */
static inline const int8_t *nr_tflite_read(const struct nr_tflite *network, int32_t place)
{
    return place == NR_TFLITE_INPUT ? network->input : &network->arena[place];
}

/* Returns value * multiplier / 2^31, to the nearest, halves up. C99 leaves the right shift of a
   negative number to the compiler; this rounds down everywhere, in one instruction. */
static inline int32_t nr_tflite_high_product(int32_t value, int32_t multiplier)
{
    int64_t product = (int64_t)value * multiplier + ((int64_t)1 << 30);

    return (int32_t)(product >= 0 ? product >> 31 : ~(~product >> 31));
}

/* Returns value / 2^shift, to the nearest, halves away from zero; `shift` is at most 31. */
static inline int32_t nr_tflite_halved(int32_t value, int32_t shift)
{
    int32_t mask = (int32_t)(((uint32_t)1 << shift) - 1U);
    int32_t threshold = (mask >> 1) + (value < 0 ? 1 : 0);
    int32_t down = value >= 0 ? value >> shift : ~(~value >> shift);

    return down + ((value & mask) > threshold ? 1 : 0);
}

/* Returns value * multiplier / 2^31 * 2^shift. */
static inline int32_t nr_tflite_scaled(int32_t value, int32_t multiplier, int32_t shift)
{
    if (shift > 0) {
        return nr_tflite_high_product(value * ((int32_t)1 << shift), multiplier);
    }
    return nr_tflite_halved(nr_tflite_high_product(value, multiplier), -shift);
}

/* Returns a result about its zero point and within its limits. */
static inline int8_t nr_tflite_limited(const struct nr_tflite_operator *operator, int32_t value)
{
    value += operator->zero_to;
    if (value < operator->low) {
        return (int8_t)operator->low;
    }
    return (int8_t)(value > operator->high ? operator->high : value);
}

/* By nr_tflite_weights.c or nr_tflite_cmsis_nn.c; 0 for done. */
int nr_tflite_convolution(const struct nr_tflite *network,
                          const struct nr_tflite_operator *operator);
int nr_tflite_depthwise(const struct nr_tflite *network,
                        const struct nr_tflite_operator *operator);
void nr_tflite_pool(const struct nr_tflite *network, const struct nr_tflite_operator *operator);
void nr_tflite_sum(const struct nr_tflite *network, const struct nr_tflite_operator *operator);
void nr_tflite_mean(const struct nr_tflite *network, const struct nr_tflite_operator *operator);
void nr_tflite_pad(const struct nr_tflite *network, const struct nr_tflite_operator *operator);
void nr_tflite_softmax(const struct nr_tflite *network, const struct nr_tflite_operator *operator);
void nr_tflite_keep(const struct nr_tflite *network, const struct nr_tflite_operator *operator);

#endif
