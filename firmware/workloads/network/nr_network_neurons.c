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

/* A parameter, neuron after neuron. */
struct cursor {
    const int32_t *at;
    int32_t each;
};

static struct cursor cursor_of(const struct nr_network *network,
                               struct nr_network_parameter parameter)
{
    struct cursor cursor;

    cursor.at = &network->model->numbers[parameter.at];
    cursor.each = parameter.each;
    return cursor;
}

static inline int32_t next(struct cursor *cursor)
{
    int32_t number = *cursor->at;

    cursor->at += cursor->each;
    return number;
}

/* A state after the decay of a step; `minus_keep` is negative (nr_network.h). */
static inline int32_t kept(int32_t state, int32_t minus_keep)
{
    int64_t product = ((int64_t)1 << (KEEP_BITS - 1)) - (int64_t)state * minus_keep;

    return (int32_t)nr_floored_64(product, KEEP_BITS);
}

/* A value times a factor, to the nearest; `half` of the shift's unit. */
static inline int64_t scaled(int32_t value, int32_t factor, int64_t half, int32_t shift)
{
    return nr_floored_64((int64_t)value * factor + half, shift);
}

/* Takes the currents through a step, driven by the inputs. */
static void step_currents(const struct nr_network *network, const struct nr_network_node *node)
{
    const struct nr_network_population *population = &network->model->populations[node->detail];
    const int16_t *input = &network->values[node->input_at];
    int32_t *current = &network->states[node->state_at + node->values];
    struct cursor gain = cursor_of(network, population->gain);
    struct cursor keep = cursor_of(network, population->keep_current);
    int32_t shift = population->gain_shift;
    int64_t half = ((int64_t)1 << shift) >> 1;
    int together = (population->flags & NR_NETWORK_TOGETHER) != 0;
    const int16_t *end = input + node->values;

    for (; input < end; input++) {
        int64_t drive = 0;
        int32_t factor = next(&gain);
        int32_t minus_keep = next(&keep);

        if (*input != 0) {
            drive = scaled(*input, factor, half, shift);
        }
        if (together) {
            *current = kept(nr_limited_32(*current + drive), minus_keep);
        } else {
            *current = nr_limited_32(kept(*current, minus_keep) + drive);
        }
        current++;
    }
}

/* Resets a neuron that fires; returns its spikes. */
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

/* Takes the membranes through a step, driven by the currents, or by the inputs where there are
   none. */
static void step_membranes(const struct nr_network *network, const struct nr_network_node *node)
{
    const struct nr_network_population *population = &network->model->populations[node->detail];
    const int16_t *input = &network->values[node->input_at];
    int16_t *output = &network->values[node->value_at];
    int32_t *membranes = &network->states[node->state_at];
    const int32_t *currents = &membranes[node->values];
    int synaptic = (population->flags & NR_NETWORK_SYNAPTIC) != 0;
    int spiking = (population->flags & NR_NETWORK_SPIKING) != 0;
    struct cursor factor = cursor_of(network, synaptic ? population->couple : population->gain);
    struct cursor keep = cursor_of(network, population->keep);
    struct cursor leak = cursor_of(network, population->leak);
    struct cursor threshold = cursor_of(network, population->threshold);
    struct cursor reset = cursor_of(network, population->reset);
    int32_t shift = synaptic ? population->couple_shift : population->gain_shift;
    int64_t half = ((int64_t)1 << shift) >> 1;
    int32_t n;

    for (n = 0; n < node->values; n++) {
        int32_t driving = synaptic ? currents[n] : input[n];
        int32_t to = next(&reset);
        int32_t limit = next(&threshold);
        int64_t left = (int64_t)kept(membranes[n], next(&keep)) + next(&leak);
        int32_t membrane =
            nr_limited_32(left + scaled(driving, next(&factor), half, shift));

        if (!spiking) {
            output[n] = nr_limited_16((int32_t)nr_rounded_64(membrane, node->shift));
        } else if (membrane < limit) {
            output[n] = 0;
        } else {
            output[n] = fired(population, &membrane, limit, to);
        }
        membranes[n] = membrane;
    }
}

void nr_network_neurons(const struct nr_network *network, const struct nr_network_node *node)
{
    int32_t flags = network->model->populations[node->detail].flags;

    if (flags & NR_NETWORK_LAST_CURRENT) {
        step_membranes(network, node); /* while the currents are those of the step before */
    }
    if (flags & NR_NETWORK_SYNAPTIC) {
        step_currents(network, node);
    }
    if (!(flags & NR_NETWORK_LAST_CURRENT)) {
        step_membranes(network, node);
    }
}
