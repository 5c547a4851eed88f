/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that take each value by itself. */
#include "nr_network_arithmetic.h"
#include "nr_network_parts.h"

void nr_network_scale(const struct nr_network *network, const struct nr_network_node *node)
{
    const int16_t *input = &network->values[node->input_at];
    int16_t *output = &network->values[node->value_at];
    int32_t n;

    for (n = 0; n < node->values; n++) {
        int32_t product = input[n] * nr_network_number(network, node->parameter, n);

        output[n] = nr_limited_16(nr_rounded_32(product, node->shift));
    }
}

void nr_network_threshold(const struct nr_network *network, const struct nr_network_node *node)
{
    const int16_t *input = &network->values[node->input_at];
    int16_t *output = &network->values[node->value_at];
    int32_t n;

    for (n = 0; n < node->values; n++) {
        output[n] = 0;
        if (input[n] > nr_network_number(network, node->parameter, n)) {
            output[n] = 1;
        }
    }
}

/* The ring holds `depth` rows, the values of this step and of those before it. */
void nr_network_delay(const struct nr_network *network, const struct nr_network_node *node)
{
    const int16_t *input = &network->values[node->input_at];
    int16_t *output = &network->values[node->value_at];
    int16_t *ring = &network->values[node->ring_at];
    int32_t *now = &network->states[node->state_at];
    int32_t n;

    for (n = 0; n < node->values; n++) {
        int32_t row = *now - nr_network_number(network, node->parameter, n);

        ring[*now * node->values + n] = input[n];
        output[n] = ring[(row < 0 ? row + node->depth : row) * node->values + n];
    }
    *now = *now + 1 < node->depth ? *now + 1 : 0;
}
