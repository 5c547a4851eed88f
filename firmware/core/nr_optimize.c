/* SPDX-License-Identifier: Apache-2.0 */
/* OPTIMIZE: a search that ends at a target or by time, and marks the costs it reaches;
   docs/reference/PROTOCOL.md, section 4. */
#include "nr_shim_parts.h"

enum { THRESHOLD_B = 4 };

/* ---- the request ---- */

/* Takes the thresholds over; false, and answered, where they are too many or do not fall. */
static bool take_thresholds(struct nr_shim *shim, const uint8_t *bytes, size_t count)
{
    size_t most = sizeof shim->thresholds / sizeof shim->thresholds[0];
    if (count > most) {
        nr_answer_error(shim, NR_E_ARGUMENT, (uint32_t)most, "too many thresholds");
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        shim->thresholds[i] = (int32_t)nr_get_u32(bytes + THRESHOLD_B * i);
        if (i != 0 && shim->thresholds[i] >= shim->thresholds[i - 1]) {
            nr_answer_error(shim, NR_E_ARGUMENT, (uint32_t)i, "thresholds must fall");
            return false;
        }
    }
    shim->threshold_count = (uint8_t)count;
    return true;
}

void nr_optimize_request(struct nr_shim *shim, const uint8_t *payload, size_t payload_b)
{
    if (payload_b < NR_OPTIMIZE_FIXED_B || (payload_b - NR_OPTIMIZE_FIXED_B) % THRESHOLD_B != 0) {
        nr_answer_error(shim, NR_E_LENGTH, NR_OPTIMIZE_FIXED_B, "wrong payload length");
        return;
    }
    if (!nr_knows_optimize(shim)) {
        nr_answer_error(shim, NR_E_UNSUPPORTED, 0, "this workload is no search");
        return;
    }
    shim->job.slot = nr_get_u16(payload);
    if (!nr_can_run(shim, shim->job.slot)
        || !take_thresholds(shim, payload + NR_OPTIMIZE_FIXED_B,
                            (payload_b - NR_OPTIMIZE_FIXED_B) / THRESHOLD_B)) {
        return;
    }
    shim->job.repeat = nr_get_u32(payload + 2);
    shim->job.time_us = nr_get_u32(payload + 6);
    shim->target = (int32_t)nr_get_u32(payload + 10);
    if (shim->job.time_us == 0) {
        nr_answer_error(shim, NR_E_ARGUMENT, 1, "the time-out is 1 us or more");
        return;
    }
    nr_guard_accept(shim, NR_OPTIMIZE, nr_get_u32(payload + 14), nr_get_u16(payload + 18));
}

/* ---- the window ---- */

static uint64_t search_ticks(void *context)
{
    const struct nr_shim *shim = context;
    return nr_now_tick(shim);
}

/* The tick is read before the mark, which may have to wait until the pulse before it is over. */
static void search_reached(void *context, uint8_t last)
{
    struct nr_shim *shim = context;
    uint64_t now = nr_now_tick(shim);
    while (shim->known <= last && shim->known < shim->threshold_count) {
        shim->known_tick[shim->known++] = now;
    }
    nr_mark(shim, (uint8_t)(NR_PHASE_REACHED + last));
}

int nr_optimize_window(struct nr_shim *shim)
{
    struct nr_search search;
    uint64_t duration_ticks;
    int code = nr_preprocess(shim, shim->job.slot, 1);
    if (code != 0) {
        return code;
    }
    duration_ticks = nr_us_to_ticks(shim, shim->job.time_us);
    shim->known = 0;
    /* the only phase: the clock starts when the workload has been taken in */
    nr_mark(shim, NR_PHASE_PREPROCESS);
    search.seed = shim->job.repeat;
    search.target = shim->target;
    search.end_tick = shim->mark_tick[0] + duration_ticks;
    search.thresholds = shim->thresholds;
    search.threshold_count = shim->threshold_count;
    search.context = shim;
    search.ticks = search_ticks;
    search.reached = search_reached;
    code = shim->workload->optimize(shim->workload->state, &search);
    shim->iterations = code == 0;
    nr_mark(shim, NR_PHASE_END);
    return code;
}

/* ---- after the window ---- */

void nr_optimize_knew(struct nr_shim *shim, uint8_t first)
{
    uint8_t *to = shim->answer + NR_KNOWN_FIXED_B;
    if (first > shim->known) {
        nr_answer_error(shim, NR_E_ARGUMENT, shim->known, "behind the last threshold reached");
        return;
    }
    shim->answer[0] = shim->known;
    shim->answer[1] = first;
    for (uint8_t i = first; i < shim->known && to + NR_TICK_B <= shim->answer + sizeof shim->answer;
         i++) {
        nr_put_u64(to, shim->known_tick[i]);
        to += NR_TICK_B;
    }
    nr_answer(shim, NR_KNOWN, (size_t)(to - shim->answer));
}
