/* SPDX-License-Identifier: Apache-2.0 */
#include "nr_tflite_reals.h"

#include <stddef.h>
#include <string.h>

enum { REAL_B = 4 };

static float real_of(const uint8_t *bytes)
{
    uint32_t bits = (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16
                    | (uint32_t)bytes[3] << 24;
    float real;

    memcpy(&real, &bits, sizeof real);
    return real;
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
