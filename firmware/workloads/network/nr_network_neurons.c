/* SPDX-License-Identifier: Apache-2.0 */
/* I, IF, LI, LIF, CubaLI, CubaLIF. */
#include "nr_network_arithmetic.h"
#include "nr_network_parts.h"

enum { KEEP_BITS = 31 };

void nr_network_neurons_reset(const struct nr_network *network, const struct nr_network_node *node)
{
    const struct nr_network_population *population = &network->model->populations[node->detail];
    int32_t n;

    for (n = 0; n < node->values; n++) {
        network->states[node->state_at + n] = nr_network_number(network, population->start, n);
    }
}

/* A state after the decay of a step; `minus_keep` is negative (nr_network.h). */
static int64_t kept(int64_t state, int32_t minus_keep)
{
    return nr_rounded_64(-state * minus_keep, KEEP_BITS);
}

/* Takes a current through a step; returns the one that drives the membrane. */
static int32_t synapse(const struct nr_network_population *population, int32_t *current,
                       int64_t drive, int32_t minus_keep)
{
    int32_t last = *current;

    if (population->flags & NR_NETWORK_TOGETHER) {
        *current = (int32_t)kept(nr_limited_32(last + drive), minus_keep);
    } else {
        *current = nr_limited_32(kept(last, minus_keep) + drive);
    }
    return population->flags & NR_NETWORK_LAST_CURRENT ? last : *current;
}

/* Returns the spikes of a neuron, and resets it. */
static int16_t fired(const struct nr_network_population *population, int32_t *membrane,
                     int32_t threshold, int32_t reset)
{
    int32_t least = population->flags & NR_NETWORK_ABOVE ? 1 : 0;
    int16_t spikes = 0;

    while (spikes < population->spikes_max && (int64_t)*membrane - threshold >= least) {
        spikes++;
        if (population->flags & NR_NETWORK_TAKES) {
            *membrane = nr_limited_32((int64_t)*membrane - reset);
        } else if (population->flags & NR_NETWORK_SUBTRACTS) {
            *membrane = nr_limited_32((int64_t)*membrane - threshold);
        } else {
            *membrane = reset;
        }
    }
    return spikes;
}

void nr_network_neurons(const struct nr_network *network, const struct nr_network_node *node)
{
    const struct nr_network_population *population = &network->model->populations[node->detail];
    const int16_t *input = &network->values[node->input_at];
    int16_t *output = &network->values[node->value_at];
    int32_t *membranes = &network->states[node->state_at];
    int32_t *currents = &membranes[node->values];
    int32_t n;

    for (n = 0; n < node->values; n++) {
        int64_t drive = nr_rounded_64(
            (int64_t)input[n] * nr_network_number(network, population->gain, n),
            population->gain_shift);
        int64_t left = kept(membranes[n], nr_network_number(network, population->keep, n));

        if (population->flags & NR_NETWORK_SYNAPTIC) {
            int32_t current = synapse(population, &currents[n], drive,
                                      nr_network_number(network, population->keep_current, n));

            drive = nr_rounded_64(
                (int64_t)current * nr_network_number(network, population->couple, n),
                population->couple_shift);
        }
        membranes[n] =
            nr_limited_32(left + drive + nr_network_number(network, population->leak, n));
        if (population->flags & NR_NETWORK_SPIKING) {
            output[n] = fired(population, &membranes[n],
                              nr_network_number(network, population->threshold, n),
                              nr_network_number(network, population->reset, n));
        } else {
            output[n] =
                nr_limited_16((int32_t)nr_rounded_64(membranes[n], node->shift));
        }
    }
}
