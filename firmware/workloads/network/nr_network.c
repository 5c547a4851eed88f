/* SPDX-License-Identifier: Apache-2.0 */
#include "nr_network.h"

#include <string.h>

#include "nr_network_arithmetic.h"
#include "nr_network_parts.h"

void nr_network_reset(const struct nr_network *network)
{
    const struct nr_network_model *model = network->model;
    int32_t n;

    memset(network->values, 0, (uint32_t)model->value_count * sizeof *network->values);
    memset(network->states, 0, (uint32_t)model->state_count * sizeof *network->states);
    for (n = 0; n < model->node_count; n++) {
        if (model->nodes[n].kind == NR_NETWORK_NEURONS) {
            nr_network_neurons_reset(network, &model->nodes[n]);
        }
    }
}

/* An int16, little endian. */
static int16_t signed_at(const uint8_t *bytes)
{
    int32_t value = (int32_t)bytes[0] | ((int32_t)bytes[1] << 8);
    return (int16_t)(value > INT16_MAX ? value - 65536 : value);
}

static void take_input(const struct nr_network *network, const uint8_t *bytes)
{
    const struct nr_network_model *model = network->model;
    int32_t number, n;

    for (number = 0; number < model->input_count; number++) {
        const struct nr_network_input *input = &model->inputs[number];
        int16_t *values = &network->values[input->value_at];

        for (n = 0; n < input->values; n++) {
            if (model->input_b == 1) {
                values[n] = bytes[0];
            } else {
                values[n] = signed_at(bytes);
            }
            bytes += model->input_b;
        }
    }
}

/* Stores the sum over a node's edges as its input. */
static void gather(const struct nr_network *network, const struct nr_network_node *node)
{
    const struct nr_network_edge *edges = &network->model->edges[node->edges_at];
    int16_t *input = &network->values[node->input_at];
    int32_t n, number;

    for (n = 0; n < node->inputs; n++) {
        int32_t sum = 0;

        for (number = 0; number < node->edges; number++) {
            const struct nr_network_edge *edge = &edges[number];
            int32_t value = network->values[edge->value_at + n];

            sum += nr_limited_16(nr_rounded_32(value * edge->multiplier, edge->shift));
        }
        input[n] = nr_limited_16(sum);
    }
}

/* Adds an output's values to their sums. */
static void add_output(const struct nr_network *network, const struct nr_network_node *node)
{
    int32_t *sums = &network->states[node->state_at];
    const int16_t *input = &network->values[node->input_at];
    int32_t n;

    for (n = 0; n < node->inputs; n++) {
        sums[n] = nr_limited_32((int64_t)sums[n] + input[n]);
        if (node->membrane_at < 0) {
            sums[node->inputs + n] = input[n];
        }
    }
}

static void step_node(const struct nr_network *network, const struct nr_network_node *node)
{
    switch (node->kind) {
    case NR_NETWORK_DENSE: nr_network_dense(network, node); break;
    case NR_NETWORK_DENSE_EVENTS: nr_network_dense_events(network, node); break;
    case NR_NETWORK_CONVOLUTION: nr_network_convolution(network, node); break;
    case NR_NETWORK_CONVOLUTION_EVENTS: nr_network_convolution_events(network, node); break;
    case NR_NETWORK_POOL: nr_network_pool(network, node); break;
    case NR_NETWORK_SCALE: nr_network_scale(network, node); break;
    case NR_NETWORK_THRESHOLD: nr_network_threshold(network, node); break;
    case NR_NETWORK_DELAY: nr_network_delay(network, node); break;
    case NR_NETWORK_NEURONS: nr_network_neurons(network, node); break;
    case NR_NETWORK_OUTPUT: add_output(network, node); break;
    default: break; /* passes its input: its values have the same place */
    }
}

void nr_network_step(const struct nr_network *network, const uint8_t *input)
{
    const struct nr_network_model *model = network->model;
    int32_t n;

    take_input(network, input);
    for (n = 0; n < model->node_count; n++) {
        if (model->nodes[n].edges > 0) {
            gather(network, &model->nodes[n]);
        }
        step_node(network, &model->nodes[n]);
    }
}

static uint8_t *put(uint8_t *bytes, int32_t value)
{
    int b;

    for (b = 0; b < 4; b++) {
        bytes[b] = (uint8_t)((uint32_t)value >> (8 * b));
    }
    return bytes + 4;
}

uint32_t nr_network_answer(const struct nr_network *network, uint8_t *answer)
{
    const struct nr_network_model *model = network->model;
    uint8_t *bytes = answer;
    int last;
    int32_t number, n;

    for (last = 0; last < 2; last++) {
        for (number = 0; number < model->output_count; number++) {
            const struct nr_network_node *node = &model->nodes[model->outputs[number]];
            int32_t at = node->state_at;

            if (last) {
                at = node->membrane_at < 0 ? at + node->inputs : node->membrane_at;
            }
            for (n = 0; n < node->inputs; n++) {
                bytes = put(bytes, network->states[at + n]);
            }
        }
    }
    return (uint32_t)(bytes - answer);
}
