/* SPDX-License-Identifier: Apache-2.0 */
#include "nr_asc.h"

#include <stddef.h>
#include <string.h>

#include "nr_asc_model.h"

enum {
    AUDIO_SCALE = 256,        /* audio has 8 fractional bits in the filters */
    COEFFICIENT_BITS = 29,    /* fractional bits of a filter coefficient */
    ENVELOPE_SHIFT = 6,       /* so that 64 rectified samples fit 32 bits */
    LOG_BITS = 4,             /* the logarithm counts sixteenths of an octave */
    SPIKE_SHIFT = 3,          /* 8 sixteenths make one spike */
    INPUT_SPIKES_MAX = 15,
    STATE_MAX = 32767
};

/* Refuses to compile a model that the state has no room for. */
typedef char nr_asc_model_fits[(int)NR_ASC_MODEL_NEURONS <= (int)NR_ASC_NEURONS_MAX ? 1 : -1];

/* C99 leaves the right shift of a negative number to the compiler; these round down everywhere, and
   compile to one instruction. */
static int64_t shifted_64(int64_t value, int bits)
{
    return value >= 0 ? value >> bits : ~(~value >> bits);
}

static int32_t shifted(int32_t value, int bits)
{
    return value >= 0 ? value >> bits : ~(~value >> bits);
}

static int32_t limited(int32_t value)
{
    if (value > STATE_MAX) {
        return STATE_MAX;
    }
    return value < -STATE_MAX - 1 ? -STATE_MAX - 1 : value;
}

/* The audio sample at `index`, little endian int16; silence before the start. */
static int32_t sample(const uint8_t *data, int32_t index)
{
    int32_t value;

    if (index < 0) {
        return 0;
    }
    data += (ptrdiff_t)2 * index;
    value = (int32_t)data[0] | ((int32_t)data[1] << 8);
    return value > 32767 ? value - 65536 : value;
}

struct filter {
    int32_t newer, older; /* the last two outputs */
};

/* Runs one channel's band-pass over a step; returns the sum of its rectified output. */
static uint32_t envelope(struct filter *filter, int channel, const int32_t *difference)
{
    const int64_t b0 = nr_asc_b0[channel], a1 = nr_asc_a1[channel], a2 = nr_asc_a2[channel];
    const int64_t half = (int64_t)1 << (COEFFICIENT_BITS - 1);
    uint32_t total = 0;
    int n;

    for (n = 0; n < NR_ASC_HOP; n++) {
        /* |products| < 2^54, 2^61, 2^60: the sum fits. */
        int64_t next = shifted_64(
            b0 * difference[n] - a1 * filter->newer - a2 * filter->older + half, COEFFICIENT_BITS);

        if (next > INT32_MAX) {
            next = INT32_MAX;
        } else if (next < -INT32_MAX) {
            next = -INT32_MAX;
        }
        filter->older = filter->newer;
        filter->newer = (int32_t)next;
        total += (uint32_t)(next < 0 ? -next : next) >> ENVELOPE_SHIFT;
    }
    return total;
}

/* The base-2 logarithm in sixteenths, linear between powers of two; 0 of 0. */
static int16_t logarithm(uint32_t value)
{
    uint32_t mantissa = value;
    int exponent = 0;

    if (value == 0) {
        return 0;
    }
    while (mantissa > 1) {
        mantissa >>= 1;
        exponent++;
    }
    mantissa =
        exponent >= LOG_BITS ? value >> (exponent - LOG_BITS) : value << (LOG_BITS - exponent);
    return (int16_t)(exponent * (1 << LOG_BITS) + (int)(mantissa & ((1U << LOG_BITS) - 1U)));
}

/* Fills `spikes` with log envelopes; returns their mean, rounded down. */
static int32_t fill_levels(struct nr_asc *asc, const uint8_t *data)
{
    struct filter filters[NR_ASC_CHANNELS] = {{0, 0}};
    int32_t difference[NR_ASC_HOP];
    int32_t total = 0;
    int step, channel, n;

    for (step = 0; step < NR_ASC_STEPS; step++) {
        for (n = 0; n < NR_ASC_HOP; n++) {
            int32_t at = (int32_t)step * NR_ASC_HOP + n;

            difference[n] = (sample(data, at) - sample(data, at - 2)) * AUDIO_SCALE;
        }
        for (channel = 0; channel < NR_ASC_CHANNELS; channel++) {
            int16_t level = logarithm(envelope(&filters[channel], channel, difference));

            asc->spikes[step][channel] = level;
            total += level;
        }
    }
    return total / (NR_ASC_STEPS * NR_ASC_CHANNELS);
}

/* Turns log envelopes into spike counts: integrate and fire without a leak, the rest carried to the
   next step. */
static void fire_inputs(struct nr_asc *asc, int32_t mean)
{
    int step, channel;

    for (channel = 0; channel < NR_ASC_CHANNELS; channel++) {
        int32_t charge = 0;

        for (step = 0; step < NR_ASC_STEPS; step++) {
            int32_t current = asc->spikes[step][channel] - mean + nr_asc_offset[channel];
            int32_t fired;

            charge += current > 0 ? current : 0;
            fired = charge >> SPIKE_SHIFT;
            charge -= fired * (1 << SPIKE_SHIFT);
            asc->spikes[step][channel] =
                (int16_t)(fired > INPUT_SPIKES_MAX ? INPUT_SPIKES_MAX : fired);
        }
    }
}

/* Decay of a state in a step: value >> dash, but at least 1 towards zero. */
static int32_t decay(int32_t value, int dash)
{
    int32_t loss = shifted(value, dash);

    return loss == 0 && value > 0 ? 1 : loss;
}

/* An input that has spikes in a step. */
struct event {
    int16_t input, spikes;
};

/* Lists the inputs that have spikes; returns their end. */
static const struct event *list_events(struct event *events, const int16_t *spikes, int count)
{
    int n;

    for (n = 0; n < count; n++) {
        if (spikes[n] != 0) {
            events->input = (int16_t)n;
            events->spikes = spikes[n];
            events++;
        }
    }
    return events;
}

static int32_t weighted_sum(const int8_t *weights, const struct event *event,
                            const struct event *end)
{
    int32_t sum = 0;

    for (; event != end; event++) {
        sum += weights[event->input] * event->spikes;
    }
    return sum;
}

/* Moves one layer by one step; `first` is its first neuron's place in the state. */
static void step_layer(struct nr_asc *asc, const struct nr_asc_layer *layer, int first,
                       const int16_t *input)
{
    struct event events[NR_ASC_MODEL_NEURONS + NR_ASC_CHANNELS];
    const struct event *end = list_events(events, input, layer->inputs);
    int n;

    for (n = 0; n < layer->neurons; n++) {
        int32_t current = asc->current[first + n];
        int32_t membrane = asc->membrane[first + n];
        int16_t fired = 0;

        current = limited(
            current
            + weighted_sum(&layer->weight[(ptrdiff_t)n * layer->inputs], events, end));
        current -= decay(current, layer->dash_syn[n]);
        membrane = limited(membrane + limited(current - decay(membrane, layer->dash_mem[n])));
        while (membrane >= layer->threshold[n] && fired < layer->spikes_max) {
            membrane -= layer->threshold[n];
            fired++;
        }
        asc->current[first + n] = (int16_t)current;
        asc->membrane[first + n] = (int16_t)membrane;
        asc->fired[first + n] = fired;
    }
}

static void step_network(struct nr_asc *asc, int step)
{
    const int16_t *input = asc->spikes[step];
    int first = 0, number, n;

    for (number = 0; number < NR_ASC_MODEL_LAYERS; number++) {
        step_layer(asc, &nr_asc_layers[number], first, input);
        input = &asc->fired[first];
        first += nr_asc_layers[number].neurons;
    }
    for (n = 0; n < NR_ASC_CLASSES; n++) {
        asc->output_spikes[n] = (uint16_t)(asc->output_spikes[n] + input[n]);
    }
}

static int asc_load(void *state, const uint8_t *data, uint32_t length_b)
{
    (void)state;
    (void)data;
    return length_b == NR_ASC_INPUT_B ? 0 : NR_ASC_E_LENGTH;
}

static int asc_preprocess(void *state, const uint8_t *data, uint32_t length_b)
{
    struct nr_asc *asc = state;

    if (length_b != NR_ASC_INPUT_B) {
        return NR_ASC_E_LENGTH;
    }
    fire_inputs(asc, fill_levels(asc, data));
    asc->preprocessed = 1;
    return 0;
}

static int asc_infer(void *state)
{
    struct nr_asc *asc = state;
    int step;

    if (!asc->preprocessed) {
        return NR_ASC_E_NOT_PREPROCESSED;
    }
    memset(asc->current, 0, sizeof asc->current);
    memset(asc->membrane, 0, sizeof asc->membrane);
    memset(asc->output_spikes, 0, sizeof asc->output_spikes);
    for (step = 0; step < NR_ASC_STEPS; step++) {
        step_network(asc, step);
    }
    return 0;
}

/* Four int32, little endian: spikes * 65536 + membrane + 32768, so the larger number is the better
   class. */
static uint32_t asc_result(void *state, uint8_t *output)
{
    const struct nr_asc *asc = state;
    int n, b;

    for (n = 0; n < NR_ASC_CLASSES; n++) {
        int32_t membrane = asc->membrane[NR_ASC_MODEL_NEURONS - NR_ASC_CLASSES + n];
        uint32_t packed =
            asc->output_spikes[n] * (uint32_t)65536 + (uint32_t)(membrane + STATE_MAX + 1);

        for (b = 0; b < 4; b++) {
            output[4 * n + b] = (uint8_t)(packed >> (8 * b));
        }
    }
    return NR_ASC_OUTPUT_B;
}

void nr_asc_workload(struct nr_workload *out, struct nr_asc *state)
{
    memset(state, 0, sizeof *state);
    out->name = "asc";
    out->model = NR_ASC_MODEL;
    out->slot_bytes = NR_ASC_INPUT_B;
    out->output_bytes = NR_ASC_OUTPUT_B;
    out->phases = 2;
    out->state = state;
    out->load = asc_load;
    out->preprocess = asc_preprocess;
    out->infer = asc_infer;
    out->result = asc_result;
    out->optimize = NULL;
    out->memory_bytes = 0;
    out->start = NULL;
    out->features = NULL;
}
