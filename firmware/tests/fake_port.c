/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_port.h"

#include <stdlib.h>
#include <string.h>

/* Aborts rather than returns: a full buffer is an error of the test. */
static void need(bool condition)
{
    if (!condition) {
        abort();
    }
}

static size_t fake_read(void *context, uint8_t *bytes, size_t capacity_b)
{
    struct fake *fake = context;
    size_t count = 0;
    while (count < capacity_b && fake->input_next < fake->input_used
           && fake->input_due[fake->input_next] <= fake->tick) {
        uint8_t byte = fake->input[fake->input_next++];
        bytes[count++] = fake->baud == fake->host_baud ? byte : (uint8_t)(byte ^ 0xA5U);
    }
    return count;
}

static void fake_write(void *context, const uint8_t *bytes, size_t length_b)
{
    struct fake *fake = context;
    if (fake->in_window) {
        fake->writes_in_window++;
    }
    fake->undrained_b += length_b;
    need(fake->output_used + length_b <= FAKE_OUTPUT_B);
    for (size_t i = 0; i < length_b; i++) {
        fake->output[fake->output_used++] =
            fake->baud == fake->host_baud ? bytes[i] : (uint8_t)(bytes[i] ^ 0xA5U);
    }
}

static void fake_drain(void *context)
{
    struct fake *fake = context;
    fake->tick += fake->undrained_b * 87U; /* 115 200 baud */
    fake->undrained_b = 0;
}

static uint64_t fake_ticks(void *context)
{
    struct fake *fake = context;
    fake->tick += fake->tick_a_read;
    if (fake->back_at_read != 0 && --fake->back_at_read == 0) {
        fake->tick -= 1000;
    }
    return fake->tick;
}

static bool is_silent_phase(uint8_t phase)
{
    return phase != NR_PHASE_END && phase != NR_PHASE_STREAM && phase != NR_PHASE_DECIDED;
}

static uint64_t fake_mark(void *context, uint8_t phase, uint16_t hold_us)
{
    struct fake *fake = context;
    struct fake_edge *edge = &fake->edges[fake->edge_count++ % FAKE_EDGES];
    if (fake->shim.stream.state != NR_STREAM_PLAYING) { /* while a stream plays, the line goes on */
        fake->undrained_at_mark += fake->undrained_b;
    }
    fake->in_window = phase == NR_PHASE_SYNC ? --fake->sync_left != 0 : is_silent_phase(phase);
    edge->tick = fake->tick;
    edge->phase = phase;
    edge->hold_us = hold_us;
    fake->tick += 2;
    return edge->tick;
}

static void fake_wait(void *context, uint32_t duration_us)
{
    struct fake *fake = context;
    fake->tick += duration_us;
}

static void fake_rest(void *context)
{
    struct fake *fake = context;
    fake->tick += FAKE_REST_US;
}

static uint8_t fake_sync_level(void *context)
{
    const struct fake *fake = context;
    const struct fake_edge *last = &fake->edges[(fake->edge_count - 1) % FAKE_EDGES];
    return fake->sync_stuck || fake->edge_count == 0 || fake->tick >= last->tick + last->hold_us;
}

static uint32_t fake_lost_b(void *context)
{
    const struct fake *fake = context;
    return fake->lost_b;
}

static uint32_t fake_stack_unused_b(void *context)
{
    const struct fake *fake = context;
    return fake->stack_unused_b;
}

static int fake_set_baud(void *context, uint32_t baud)
{
    struct fake *fake = context;
    need(fake->undrained_b == 0);
    fake->baud_calls++;
    if (baud == fake->refused_baud) {
        return -1;
    }
    fake->baud = baud;
    return 0;
}

static int fake_load(void *state, const uint8_t *data, uint32_t length_b)
{
    struct fake *fake = state;
    (void)data;
    (void)length_b;
    fake->loads++;
    return fake->load_code;
}

static int fake_preprocess(void *state, const uint8_t *data, uint32_t length_b)
{
    struct fake *fake = state;
    fake->preprocesses++;
    fake->tick += FAKE_PHASE_US;
    fake->data = data;
    fake->length_b = length_b;
    return fake->preprocess_code;
}

static int fake_infer(void *state)
{
    struct fake *fake = state;
    fake->infers++;
    fake->tick += FAKE_PHASE_US;
    if (fake->infers_max != 0 && fake->infers > fake->infers_max) {
        return 99;
    }
    return fake->infer_code;
}

/* The input's bytes, each plus one, over and over. */
static uint32_t fake_result(void *state, uint8_t *output)
{
    struct fake *fake = state;
    fake->results++;
    if (fake->output_as_input) {
        fake->output_length_b =
            fake->length_b < FAKE_OUTPUT_BYTES ? fake->length_b : FAKE_OUTPUT_BYTES;
    }
    for (uint32_t i = 0; i < fake->output_length_b; i++) {
        output[i] = fake->length_b != 0 ? (uint8_t)(fake->data[i % fake->length_b] + 1U) : 0;
    }
    return fake->output_length_b;
}

/* Costs as the test says, one a move, until the target or the time is reached; thresholds that one
   move reaches are told together. */
static int fake_optimize(void *state, const struct nr_search *search)
{
    struct fake *fake = state;
    int32_t best = 0;
    uint8_t told = 0;
    fake->searches++;
    fake->search = *search;
    for (size_t move = 0;
         best > search->target && search->ticks(search->context) < search->end_tick; move++) {
        uint8_t before = told;
        fake->tick += FAKE_MOVE_US;
        best = fake->search_costs[move < FAKE_COSTS ? move : FAKE_COSTS - 1];
        while (told < search->threshold_count && best <= search->thresholds[told]) {
            told++;
        }
        if (told != before) {
            search->reached(search->context, (uint8_t)(told - 1U));
        }
    }
    return fake->search_code;
}

void fake_only_searches(struct fake *fake)
{
    fake->workload.infer = NULL;
    fake->workload.optimize = fake_optimize;
    fake->workload.phases = 1;
    fake->workload.memory_bytes = 4096;
}

static int fake_begin(void *state)
{
    struct fake *fake = state;
    fake->starts++;
    fake->feature = 0;
    return fake->start_code;
}

static int fake_add_up(void *state, const uint8_t *data, uint32_t length_b)
{
    struct fake *fake = state;
    fake->feature = (int8_t)(fake->feature + data[0] % 16);
    return fake_preprocess(state, data, length_b);
}

static const int8_t *fake_features(void *state, uint32_t *count)
{
    const struct fake *fake = state;
    *count = 1;
    return &fake->feature;
}

static uint32_t fake_sum(void *state, uint8_t *output)
{
    struct fake *fake = state;
    fake->results++;
    memset(output, fake->feature, fake->output_length_b);
    return fake->output_length_b;
}

void fake_is_stateful(struct fake *fake)
{
    fake->workload.start = fake_begin;
    fake->workload.preprocess = fake_add_up;
    fake->workload.features = fake_features;
    fake->workload.result = fake_sum;
}

static void fill_port(struct fake *fake)
{
    fake->port.context = fake;
    fake->port.tick_hz = 1000000;
    fake->port.hold_min_us = 2;
    fake->port.flags = NR_CAP_BAUD | NR_CAP_SYNC_LINE;
    fake->port.baud = 115200;
    fake->port.device = "fake";
    fake->port.build = "0123456789abcdef";
    fake->port.sync_pin = "PA8";
    fake->port.read = fake_read;
    fake->port.write = fake_write;
    fake->port.drain = fake_drain;
    fake->port.ticks = fake_ticks;
    fake->port.mark = fake_mark;
    fake->port.wait = fake_wait;
    fake->port.rest = fake_rest;
    fake->port.set_baud = fake_set_baud;
    fake->port.stack_b = FAKE_STACK_B;
    fake->port.stack_unused_b = fake_stack_unused_b;
    fake->port.rx_lost_b = fake_lost_b;
    fake->port.sync_level = fake_sync_level;
}

static void fill_workload(struct fake *fake)
{
    fake->workload.name = "fake";
    fake->workload.model = "fake-1";
    fake->workload.slot_bytes = FAKE_SLOT_B;
    fake->workload.output_bytes = FAKE_OUTPUT_BYTES;
    fake->workload.phases = 2;
    fake->workload.state = fake;
    fake->workload.load = fake_load;
    fake->workload.preprocess = fake_preprocess;
    fake->workload.infer = fake_infer;
    fake->workload.result = fake_result;
}

void fake_start(struct fake *fake)
{
    memset(fake, 0, sizeof *fake);
    fake->tick = 12345678;
    fake->baud = 115200;
    fake->host_baud = 115200;
    fake->output_length_b = 16;
    fill_port(fake);
    fill_workload(fake);
    fake->memory.slots = fake->slots;
    fake->memory.slot_count = FAKE_SLOTS;
    fake->memory.output = fake->output_memory;
    fake->memory.output_b = sizeof fake->output_memory;
    nr_shim_init(&fake->shim, &fake->port, &fake->workload, &fake->memory);
}

void fake_send_later(struct fake *fake, const void *bytes, size_t length_b, uint64_t delay_us)
{
    if (fake->input_next == fake->input_used) {
        fake->input_next = 0;
        fake->input_used = 0;
    }
    need(fake->input_used + length_b <= FAKE_INPUT_B);
    memcpy(fake->input + fake->input_used, bytes, length_b);
    for (size_t i = 0; i < length_b; i++) {
        fake->input_due[fake->input_used++] = fake->tick + delay_us;
    }
}

void fake_send(struct fake *fake, const void *bytes, size_t length_b)
{
    fake_send_later(fake, bytes, length_b, 0);
}

void fake_run_us(struct fake *fake, uint64_t duration_us)
{
    uint64_t until = fake->tick + duration_us;
    while (fake->tick < until) {
        nr_shim_poll(&fake->shim);
    }
}

size_t fake_receive(struct fake *fake, uint8_t *bytes, size_t capacity_b)
{
    size_t count = fake->output_used - fake->output_next;
    need(count <= capacity_b);
    memcpy(bytes, fake->output + fake->output_next, count);
    fake->output_used = 0;
    fake->output_next = 0;
    return count;
}
