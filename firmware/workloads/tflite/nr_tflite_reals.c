/* SPDX-License-Identifier: Apache-2.0 */
#include "nr_tflite_reals.h"

#include <stddef.h>
#include <string.h>

enum {
    REAL_B = 4,
    STEPS_MAX = 512 /* from a zero point: any farther number is beyond int8 */
};

static float real_of(const uint8_t *bytes)
{
    uint32_t bits = (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16
                    | (uint32_t)bytes[3] << 24;
    float real;

    memcpy(&real, &bits, sizeof real);
    return real;
}

/* Returns the nearest whole number, halves away from zero; what is no number counts as low. */
static int32_t rounded(float steps)
{
    int32_t whole;
    float rest;

    if (steps >= (float)STEPS_MAX) {
        return STEPS_MAX;
    }
    if (!(steps > -(float)STEPS_MAX)) {
        return -STEPS_MAX;
    }
    whole = (int32_t)steps;
    rest = steps - (float)whole;
    if (rest >= 0.5f) {
        return whole + 1;
    }
    return rest <= -0.5f ? whole - 1 : whole;
}

void nr_tflite_quantise(const uint8_t *reals, int32_t count, const struct nr_tflite_unit *unit,
                        int8_t *values)
{
    int32_t n;

    for (n = 0; n < count; n++) {
        int32_t value = rounded(real_of(&reals[(ptrdiff_t)n * REAL_B]) / unit->scale) + unit->zero;

        value = value < INT8_MIN ? INT8_MIN : value;
        values[n] = (int8_t)(value > INT8_MAX ? INT8_MAX : value);
    }
}

float nr_tflite_distance(const uint8_t *reals, int32_t count, const struct nr_tflite_unit *unit,
                         const int8_t *values)
{
    float sum = 0.0f;
    int32_t n;

    for (n = 0; n < count; n++) {
        float difference =
            unit->scale * (float)(values[n] - unit->zero) - real_of(&reals[(ptrdiff_t)n * REAL_B]);

        sum += difference * difference;
    }
    return sum / (float)count;
}
