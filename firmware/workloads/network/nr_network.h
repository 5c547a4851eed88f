/* SPDX-License-Identifier: Apache-2.0 */
/* A spiking network in integers, from tables: docs/reference/FIXED_POINT.md defines the arithmetic.
   It has no allocation and no globals: the caller owns tables and memory. */
#ifndef NR_NETWORK_H
#define NR_NETWORK_H

#include <stdint.h>

enum nr_network_kind {
    NR_NETWORK_PASS,
    NR_NETWORK_DENSE, /* of values */
    NR_NETWORK_DENSE_EVENTS, /* of spikes: only what is not 0 costs products */
    NR_NETWORK_CONVOLUTION,
    NR_NETWORK_CONVOLUTION_EVENTS,
    NR_NETWORK_POOL,
    NR_NETWORK_SCALE,
    NR_NETWORK_THRESHOLD,
    NR_NETWORK_DELAY,
    NR_NETWORK_NEURONS,
    NR_NETWORK_OUTPUT
};

enum nr_network_flag {
    NR_NETWORK_SYNAPTIC = 1,      /* a current between input and membrane */
    NR_NETWORK_SPIKING = 2,
    NR_NETWORK_TOGETHER = 4,      /* the input decays with the current */
    NR_NETWORK_LAST_CURRENT = 8,  /* the membrane takes the current of the step before */
    NR_NETWORK_SUBTRACTS = 16,    /* a reset by the threshold, not to a value */
    NR_NETWORK_ABOVE = 32,        /* fires above the threshold, not at it */
    NR_NETWORK_TAKES = 64         /* a spike takes `reset` off the membrane */
};

/* One number of `numbers` for each value (`each` 1), or one for all (0). */
struct nr_network_parameter {
    int32_t at;
    int32_t each;
};

/* Input of a node from another one: the values at `value_at`, scaled. */
struct nr_network_edge {
    int32_t value_at;
    int32_t multiplier;
    int32_t shift;
};

/* A kernel over an image; heights and widths, tops and lefts. */
struct nr_network_window {
    int32_t channels_in, height_in, width_in;
    int32_t channels_out, height_out, width_out;
    int32_t kernel_height, kernel_width;
    int32_t stride_height, stride_width;
    int32_t dilation_height, dilation_width;
    int32_t before_height, before_width;
    int32_t groups;
};

/* `keep` and `keep_current` have a minus: 2^31, which keeps all, is no int32_t. */
struct nr_network_population {
    int32_t flags;
    int32_t spikes_max;
    int32_t gain_shift;
    int32_t couple_shift;
    struct nr_network_parameter gain, keep_current, couple, keep, leak, start, threshold, reset;
};

/* A node. Places in `values` and `states` are those of struct nr_network. With no edges its input
   lies at `input_at` already, else the sum of its edges is put there.
   `state_at`: membranes, then currents; of a delay the place in its ring; of an output its sums,
   then its last values where `membrane_at` is negative. At `ring_at` in the values lies the ring of
   a delay, `depth` rows of values, or `depth` values of memory for a node with weights. */
struct nr_network_node {
    int32_t kind;
    int32_t edges_at, edges;
    int32_t input_at, inputs;
    int32_t value_at, values;
    int32_t state_at;
    int32_t weight_at, bias_at;
    int32_t up, shift;
    int32_t detail; /* which window, or population */
    int32_t ring_at, depth;
    int32_t membrane_at;
    struct nr_network_parameter parameter; /* of a scale, threshold or delay */
};

/* Where an input's values are put. */
struct nr_network_input {
    int32_t value_at;
    int32_t values;
};

struct nr_network_model {
    const struct nr_network_node *nodes;
    const struct nr_network_edge *edges;
    const struct nr_network_window *windows;
    const struct nr_network_population *populations;
    const struct nr_network_input *inputs;
    const int32_t *outputs; /* which nodes, in the order of the answer */
    const int32_t *numbers;
    const uint32_t *weights; /* four in a word: nr_network_sums.h */
    int32_t node_count, input_count, output_count;
    int32_t value_count, state_count; /* the sizes of the memory */
    int32_t input_b;                  /* 1: uint8; 2: int16, little endian */
};

struct nr_network {
    const struct nr_network_model *model;
    int16_t *values;
    int32_t *states;
};

/* Puts a network to rest, before its first step. */
void nr_network_reset(const struct nr_network *network);

/* Takes a network through one step; `input` holds the values of all its inputs. */
void nr_network_step(const struct nr_network *network, const uint8_t *input);

/* Writes the answer: for each output value the sum over all steps, then for each its last membrane
   or value, all int32, little endian; returns its length in bytes. */
uint32_t nr_network_answer(const struct nr_network *network, uint8_t *answer);

#endif
