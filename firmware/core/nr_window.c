/* SPDX-License-Identifier: Apache-2.0 */
/* The window: from its first mark to its last no byte is sent or read. DONE follows. */
#include "nr_shim_parts.h"

#include <string.h>

enum { UNEVEN = -1 };

/* Fails to compile when a build chose more marks than DONE can hold. */
enum { DONE_MOST_B = NR_DONE_FIXED_B + NR_DONE_MARK_B * NR_MARKS_MAX };
typedef char nr_check_marks[(NR_MARKS_MAX >= 3 && DONE_MOST_B <= NR_MAX_PAYLOAD_B) ? 1 : -1];

/* ---- the jobs ---- */

/* Processes each slot of the batch once and appends its output to the one before; returns 0, the
   workload's code, or UNEVEN where the outputs differ in length: the host could not separate them.
   */
static int run_round(struct nr_shim *shim)
{
    const struct nr_workload *workload = shim->workload;
    uint32_t first_b = 0;
    shim->output_b = 0;
    for (uint16_t i = 0; i < shim->job.batch_count; i++) {
        uint32_t length_b;
        int code = nr_preprocess(shim, shim->job.batch[i], 1);
        if (code == 0) {
            code = workload->infer(workload->state);
        }
        if (code != 0) {
            return code;
        }
        shim->iterations++;
        length_b = workload->result(workload->state, shim->memory.output + shim->output_b);
        if (i == 0) {
            first_b = length_b;
        }
        if (length_b != first_b || length_b > workload->output_bytes) {
            return UNEVEN;
        }
        shim->output_b += length_b;
    }
    return 0;
}

/* One window for all: pre-processing, inference and the copy of the output are in it, sample by
   sample. */
static int run_batch(struct nr_shim *shim)
{
    int code = 0;
    nr_mark(shim, NR_PHASE_BATCH);
    for (uint32_t rounds = 0; code == 0 && rounds < shim->job.repeat; rounds++) {
        code = run_round(shim);
    }
    nr_mark(shim, NR_PHASE_END);
    shim->output_valid = code == 0;
    if (code != 0) {
        shim->output_b = 0;
    }
    return code;
}

static void stay_idle(struct nr_shim *shim)
{
    nr_mark(shim, NR_PHASE_IDLE);
    shim->port->wait(shim->port->context, shim->job.time_us);
    nr_mark(shim, NR_PHASE_END);
}

/* Waits until a moment in ticks: a burst must not stretch by what its pulses cost. */
static void wait_until(struct nr_shim *shim, uint64_t tick)
{
    uint64_t now = nr_now_tick(shim);
    while (now < tick) {
        uint64_t left_us = nr_ticks_to_us(shim, tick - now);
        if (left_us == 0) {
            return;
        }
        shim->port->wait(shim->port->context,
                         left_us < UINT32_MAX ? (uint32_t)left_us : UINT32_MAX);
        now = nr_now_tick(shim);
    }
}

/* The intervals 1, 2, 1, 4 make a burst unmistakable: a lost or doubled edge shows at once. */
static void send_sync_burst(struct nr_shim *shim)
{
    static const uint8_t periods[4] = {1, 2, 1, 4};
    uint64_t since_first_us = 0;
    for (uint32_t i = 0; i < shim->job.repeat; i++) {
        if (i != 0) {
            wait_until(shim, shim->mark_tick[0] + nr_us_to_ticks(shim, since_first_us));
        }
        nr_mark(shim, NR_PHASE_SYNC);
        since_first_us += (uint64_t)periods[i % 4U] * shim->job.time_us;
    }
}

/* ---- the window ---- */

/* Reads the bytes that came in the window, right after its last mark; they are processed only after
   the answer. */
static void count_disturbance(struct nr_shim *shim)
{
    shim->backlog_next_b = 0;
    shim->backlog_used_b =
        shim->port->read(shim->port->context, shim->backlog, sizeof shim->backlog);
    if (shim->backlog_used_b != 0) {
        shim->last_byte_tick = nr_now_tick(shim);
    }
}

static void answer_done(struct nr_shim *shim, uint32_t output_b)
{
    uint8_t *to = shim->answer + NR_DONE_FIXED_B;
    size_t room_b;
    nr_put_u16(shim->answer, (uint16_t)shim->backlog_used_b);
    nr_put_u16(shim->answer + 2, shim->marks);
    nr_put_u32(shim->answer + 4, output_b);
    nr_put_u32(shim->answer + 8, shim->iterations);
    for (uint16_t i = 0; i < shim->marks; i++) {
        to[0] = shim->mark_phase[i];
        nr_put_u64(to + 1, shim->mark_tick[i]);
        to += NR_DONE_MARK_B;
    }
    room_b = sizeof shim->answer - (size_t)(to - shim->answer);
    if (output_b < room_b) {
        room_b = output_b;
    }
    memcpy(to, shim->memory.output, room_b);
    nr_answer(shim, NR_DONE, (size_t)(to - shim->answer) + room_b);
}

void nr_window_open(struct nr_shim *shim)
{
    int code = 0;
    shim->guarding = false;
    nr_stream_stop(shim); /* whose answers lie where outputs go */
    shim->marks = 0;
    shim->iterations = 0;
    nr_drain(shim);
    switch (shim->job.type) {
    case NR_RUN: code = nr_run_phases(shim); break;
    case NR_BATCH: code = run_batch(shim); break;
    case NR_OPTIMIZE: code = NR_WITH_OPTIMIZE ? nr_optimize_window(shim) : 0; break;
    case NR_IDLE: stay_idle(shim); break;
    default: send_sync_burst(shim); break;
    }
    count_disturbance(shim);
    if (shim->job.type == NR_RUN || shim->job.type == NR_OPTIMIZE) {
        nr_fetch_output(shim, code);
    }
    if (code == UNEVEN) {
        nr_answer_error(shim, NR_E_UNSUPPORTED, 0, "unequal outputs");
    } else if (code != 0) {
        nr_answer_error(shim, NR_E_WORKLOAD, (uint32_t)code, "the workload failed");
    } else {
        answer_done(shim,
                    shim->job.type == NR_IDLE || shim->job.type == NR_SYNC ? 0 : shim->output_b);
    }
}
