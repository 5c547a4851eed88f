/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of a network that gives back its input: the mean squared distance of its output from
   it. Single precision, in the order in which MLPerf Tiny's anomaly detection computes it. */
#ifndef NR_TFLITE_REALS_H
#define NR_TFLITE_REALS_H

#include <stdint.h>

/* A value of int8 stands for scale * (value - zero). */
struct nr_tflite_unit {
    float scale;
    int32_t zero;
};

/* Returns the mean squared distance of `count` values from as many numbers, each four bytes
   (IEEE 754, little endian). */
float nr_tflite_distance(const uint8_t *reals, int32_t count, const struct nr_tflite_unit *unit,
                         const int8_t *values);

#endif
