/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that connect each of their values with each output. */
#include <stddef.h>

#include "nr_network_parts.h"
#include "nr_network_sums.h"

void nr_network_dense(const struct nr_network *network, const struct nr_network_node *node)
{
    struct nr_network_rows rows = nr_network_rows_of(network, node);

    nr_network_sum_all(&rows, &network->values[node->input_at], node->inputs);
}

static void take_events(struct nr_network_events *events, const int16_t *input, int32_t first,
                        int32_t end)
{
    int32_t n;

    for (n = first; n < end; n++) {
        if (input[n] != 0) {
            nr_network_event(events, n, input[n]);
        }
    }
}

void nr_network_dense_events(const struct nr_network *network, const struct nr_network_node *node)
{
    struct nr_network_rows rows = nr_network_rows_of(network, node);
    const int16_t *input = &network->values[node->input_at];
    struct nr_network_events events = {NULL, 0, 0, 0};
    int32_t n;

    events.entries = &network->values[node->ring_at];
    events.size = node->depth;
    for (n = 0; n + 4 <= node->inputs; n += 4) {
        /* Most are 0. */
        if ((input[n] | input[n + 1] | input[n + 2] | input[n + 3]) != 0) {
            take_events(&events, input, n, n + 4);
        }
    }
    take_events(&events, input, n, node->inputs);
    nr_network_sum_events(&rows, &events);
}
