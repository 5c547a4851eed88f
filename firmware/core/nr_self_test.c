/* SPDX-License-Identifier: Apache-2.0 */
/* SELFTEST: measurements of a device on its own port; docs/reference/PROTOCOL.md, section 7. The
   host judges them. */
#include "nr_shim_parts.h"

enum { QUERIES = 8, LEVEL_UNKNOWN = 0xFF };

static const uint32_t unknown = 0xFFFFFFFFU;

/* ---- a workload without work ---- */

static int nothing_to_load(void *state, const uint8_t *data, uint32_t length_b)
{
    (void)state;
    (void)data;
    (void)length_b;
    return 0;
}

static int nothing_to_infer(void *state)
{
    (void)state;
    return 0;
}

static uint32_t no_result(void *state, uint8_t *output)
{
    (void)state;
    (void)output;
    return 0;
}

static const struct nr_workload no_workload = {
    "", "", 0, 0, 2, NULL, nothing_to_load, nothing_to_load, nothing_to_infer, no_result, NULL, 0,
    NULL, NULL,
};

/* ---- parts of the report ---- */

static uint32_t at_most_u32(uint64_t ticks) { return ticks < unknown ? (uint32_t)ticks : unknown; }

/* step_min:4 steps:2 back:2 of so many readings in a row. */
static void watch_timer(const struct nr_shim *shim, uint16_t reads, uint8_t *to)
{
    uint64_t before = nr_now_tick(shim);
    uint64_t step_min = UINT64_MAX;
    uint16_t steps = 0;
    uint16_t back = 0;
    while (reads-- != 0) {
        uint64_t now = nr_now_tick(shim);
        if (now < before) {
            back++;
        } else if (now != before) {
            steps++;
            step_min = now - before < step_min ? now - before : step_min;
        }
        before = now;
    }
    nr_put_u32(to, at_most_u32(step_min));
    nr_put_u16(to + 4, steps);
    nr_put_u16(to + 6, back);
}

/* bytes:4 frames:4 dropped:4 lost:4, all but the last since the report before. */
static void count_received(struct nr_shim *shim, uint8_t *to)
{
    const struct nr_port *port = shim->port;
    nr_put_u32(to, shim->rx_bytes);
    nr_put_u32(to + 4, shim->rx_frames);
    nr_put_u32(to + 8, shim->frame_rx.dropped - shim->rx_dropped);
    nr_put_u32(to + 12, port->rx_lost_b != NULL ? port->rx_lost_b(port->context) : unknown);
    shim->rx_bytes = 0;
    shim->rx_frames = 0;
    shim->rx_dropped = shim->frame_rx.dropped;
}

/* stack:4 unused:4 */
static void look_at_stack(const struct nr_shim *shim, uint8_t *to)
{
    const struct nr_port *port = shim->port;
    nr_put_u32(to, port->stack_unused_b != NULL ? port->stack_b : 0);
    nr_put_u32(to + 4, port->stack_unused_b != NULL ? port->stack_unused_b(port->context) : 0);
}

static uint8_t sync_level(const struct nr_shim *shim)
{
    return shim->port->sync_level != NULL ? shim->port->sync_level(shim->port->context)
                                          : (uint8_t)LEVEL_UNKNOWN;
}

/* SYNC at rest:1, after a mark:1, and at rest again:1. */
static void toggle_sync(struct nr_shim *shim, uint8_t *to)
{
    uint16_t hold_us = shim->port->hold_min_us > NR_TEXT_HOLD_US ? shim->port->hold_min_us
                                                                 : (uint16_t)NR_TEXT_HOLD_US;
    to[0] = sync_level(shim);
    shim->job.hold_us = hold_us;
    nr_mark(shim, NR_PHASE_PREPROCESS);
    to[1] = sync_level(shim);
    nr_mark(shim, NR_PHASE_END);
    shim->port->wait(shim->port->context, 2U * hold_us);
    to[2] = sync_level(shim);
}

/* span_min:4 span_max:4 from the first mark to the last of queries with empty phases, `repeat`
   times each. */
static void time_empty_queries(struct nr_shim *shim, uint16_t repeat, uint8_t *to)
{
    const struct nr_workload *workload = shim->workload;
    uint64_t span_min = UINT64_MAX;
    uint64_t span_max = 0;
    shim->workload = &no_workload;
    shim->job.slot = 0;
    shim->job.hold_us = shim->port->hold_min_us;
    for (int i = 0; i < QUERIES; i++) {
        uint64_t span;
        shim->marks = 0;
        shim->job.repeat = repeat;
        (void)nr_run_phases(shim);
        span = shim->mark_tick[shim->marks - 1U] - shim->mark_tick[0];
        span_min = span < span_min ? span : span_min;
        span_max = span > span_max ? span : span_max;
    }
    shim->workload = workload;
    nr_put_u32(to, at_most_u32(span_min));
    nr_put_u32(to + 4, at_most_u32(span_max));
}

void nr_self_test(struct nr_shim *shim, uint16_t reads, uint16_t repeat)
{
    uint8_t *report = shim->answer;
    uint64_t from_tick = nr_now_tick(shim); /* first: the host knows when it asked */
    nr_put_u64(report, from_tick);
    count_received(shim, report + 16);
    watch_timer(shim, reads, report + 8);
    nr_drain(shim);
    shim->marks = 0;
    toggle_sync(shim, report + 40);
    time_empty_queries(shim, repeat, report + 43);
    look_at_stack(shim, report + 32); /* last: all of this has used it */
    nr_put_u32(report + 51, at_most_u32(nr_now_tick(shim) - from_tick));
    nr_answer(shim, NR_REPORT, NR_REPORT_B);
}
