/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations shared by the files of the network: a step of each kind of node. */
#ifndef NR_NETWORK_PARTS_H
#define NR_NETWORK_PARTS_H

#include "nr_network.h"

static inline int32_t nr_network_number(const struct nr_network *network,
                                        struct nr_network_parameter parameter, int32_t which)
{
    return network->model->numbers[parameter.at + parameter.each * which];
}

void nr_network_dense(const struct nr_network *network, const struct nr_network_node *node);
void nr_network_dense_events(const struct nr_network *network, const struct nr_network_node *node);
void nr_network_convolution(const struct nr_network *network, const struct nr_network_node *node);
void nr_network_convolution_events(const struct nr_network *network,
                                   const struct nr_network_node *node);
void nr_network_pool(const struct nr_network *network, const struct nr_network_node *node);
void nr_network_scale(const struct nr_network *network, const struct nr_network_node *node);
void nr_network_threshold(const struct nr_network *network, const struct nr_network_node *node);
void nr_network_delay(const struct nr_network *network, const struct nr_network_node *node);
void nr_network_neurons(const struct nr_network *network, const struct nr_network_node *node);
void nr_network_neurons_reset(const struct nr_network *network, const struct nr_network_node *node);

#endif
