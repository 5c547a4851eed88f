/* SPDX-License-Identifier: Apache-2.0 */
/* STREAM: a signal played by the device's own timer, answered window by window while the next ones
   come in; docs/reference/PROTOCOL.md, section 9. */
#include "nr_division.h"
#include "nr_shim_parts.h"

#include <string.h>

enum {
    /* rest() may take as long as that: closer to a window we wait in parts, for which bytes are
       left to the port's ring */
    NEAR_MS = 10,
    PART_MS = 2,
    LONG_PART_US = 1000,
    SHORT_PART_US = 100,
    /* the last quarter of a millisecond is not waited but looked at, as no wait ends on the
       microsecond */
    LAST_OF_MS = 4
};

/* in place of the workload's code: outputs differ in length */
static const uint32_t unequal = 0xFFFFFFFFU;

/* Fails to compile when a build chose a number that does not fit where it is sent. */
typedef char nr_check_records[(NR_STREAM_RECORDS >= 1 && NR_STREAM_RECORDS <= 255) ? 1 : -1];

/* ---- what there is ---- */

static uint8_t *output_of(const struct nr_shim *shim, uint32_t window)
{
    return shim->memory.output
           + (size_t)(window % NR_STREAM_RECORDS) * shim->workload->output_bytes;
}

static uint16_t slot_after(const struct nr_shim *shim, uint16_t slot)
{
    return slot + 1U < shim->memory.slot_count ? (uint16_t)(slot + 1U) : 0;
}

/* ---- time ---- */

/* The tick at which so many samples have been captured. */
static uint64_t tick_of(const struct nr_shim *shim, uint32_t samples)
{
    return shim->stream.start_tick + nr_scale(samples, shim->port->tick_hz, shim->stream.sample_hz);
}

/* The tick at which the last sample of a window is captured. */
static uint64_t ready_tick_of(const struct nr_shim *shim, uint32_t window)
{
    return tick_of(shim, window * shim->stream.hop + shim->stream.window);
}

/* For window number `done`, which there is. */
static void set_next(struct nr_shim *shim)
{
    struct nr_stream *stream = &shim->stream;
    uint32_t ahead = shim->memory.slot_count;
    stream->ready_tick = ready_tick_of(shim, stream->done);
    stream->overrun_tick = ahead < stream->windows - stream->done
                               ? ready_tick_of(shim, stream->done + ahead)
                               : UINT64_MAX;
}

/* Counts window number `loaded` as late where its newest hop has begun. */
static void note_late(struct nr_shim *shim)
{
    struct nr_stream *stream = &shim->stream;
    uint64_t due_tick = tick_of(shim, stream->loaded * stream->hop + stream->window - stream->hop);
    uint64_t now_tick = nr_now_tick(shim);
    if (now_tick <= due_tick) {
        return;
    }
    if (stream->late++ == 0 || now_tick - due_tick > stream->worst_ticks) {
        stream->worst_window = stream->loaded;
        stream->worst_ticks =
            now_tick - due_tick < UINT32_MAX ? (uint32_t)(now_tick - due_tick) : UINT32_MAX;
    }
}

/* ---- start and end ---- */

void nr_stream_end(struct nr_shim *shim, enum nr_stream_state state)
{
    shim->marks = 0;
    nr_mark(shim, NR_PHASE_END);
    shim->stream.end_tick = shim->mark_tick[0];
    shim->stream.state = state;
}

/* True where the numbers make a stream, else answered. Less than 2^32 samples: a day at 48 kHz. */
static bool can_play(struct nr_shim *shim, uint16_t hold_us)
{
    const struct nr_stream *stream = &shim->stream;
    if (stream->windows == 0 || stream->sample_hz == 0 || stream->hop == 0
        || stream->hop > stream->window
        || (uint64_t)(stream->windows - 1U) * stream->hop + stream->window > UINT32_MAX) {
        nr_answer_error(shim, NR_E_ARGUMENT, 0, "no such stream");
        return false;
    }
    if (hold_us != 0 && hold_us < shim->port->hold_min_us) {
        nr_answer_error(shim, NR_E_ARGUMENT, shim->port->hold_min_us,
                        "hold shorter than hold_min_us");
        return false;
    }
    for (uint16_t slot = 0; slot < shim->memory.slot_count && slot < stream->windows; slot++) {
        if (!nr_can_run(shim, slot)) {
            return false;
        }
    }
    return true;
}

void nr_stream_start(struct nr_shim *shim, const uint8_t *payload)
{
    struct nr_stream *stream = &shim->stream;
    uint16_t hold_us = nr_get_u16(payload + 16);
    uint16_t slots = shim->memory.slot_count;
    int code;
    if (!nr_knows_stream(shim)) {
        nr_answer_error(shim, NR_E_UNSUPPORTED, 0, "no room for the answers");
        return;
    }
    memset(stream, 0, sizeof *stream);
    stream->windows = nr_get_u32(payload);
    stream->hop = nr_get_u32(payload + 4);
    stream->window = nr_get_u32(payload + 8);
    stream->sample_hz = nr_get_u32(payload + 12);
    if (!can_play(shim, hold_us)) {
        return;
    }
    code = shim->workload->start != NULL ? shim->workload->start(shim->workload->state) : 0;
    if (code != 0) {
        nr_answer_error(shim, NR_E_WORKLOAD, (uint32_t)code, "the workload failed");
        return;
    }
    nr_upload_drop(shim); /* a slot that was being filled is none of the stream's */
    shim->output_valid = false;
    shim->output_b = 0;
    stream->loaded = slots < stream->windows ? slots : stream->windows;
    stream->ms_ticks = (uint32_t)nr_us_to_ticks(shim, LONG_PART_US);
    shim->job.hold_us = hold_us != 0 ? hold_us : shim->port->hold_min_us;
    nr_answer_status(shim);
    nr_drain(shim); /* a preloaded stream is silent from its first mark on */
    shim->marks = 0;
    nr_mark(shim, NR_PHASE_STREAM);
    stream->start_tick = shim->mark_tick[0];
    set_next(shim);
    stream->state = NR_STREAM_PLAYING;
}

/* ---- a window ---- */

/* Keeps the answer beside its ticks; false where outputs differ in length: the host could not tell
   where one ends. */
static bool keep_answer(struct nr_shim *shim)
{
    struct nr_stream *stream = &shim->stream;
    uint32_t output_b =
        shim->workload->result(shim->workload->state, output_of(shim, stream->done));
    if (stream->done == 0) {
        stream->output_b = output_b;
    }
    memcpy(stream->ticks[stream->done % NR_STREAM_RECORDS], shim->mark_tick,
           sizeof stream->ticks[0]);
    return output_b == stream->output_b && output_b <= shim->workload->output_bytes;
}

/* All that a workload does to an input is in a hop's time, so a workload that times no
   pre-processing has it in its only phase. */
static void process(struct nr_shim *shim)
{
    struct nr_stream *stream = &shim->stream;
    int code;
    shim->marks = 0;
    nr_mark(shim, NR_PHASE_PREPROCESS);
    code = nr_preprocess(shim, stream->slot, 1);
    if (code == 0 && shim->workload->phases >= 2) {
        nr_mark(shim, NR_PHASE_INFER);
    }
    if (code == 0) {
        code = nr_infer(shim, 1);
    }
    if (code != 0) {
        stream->code = (uint32_t)code;
        nr_stream_end(shim, NR_STREAM_FAILED);
        return;
    }
    nr_mark(shim, NR_PHASE_DECIDED);
    if (!keep_answer(shim)) {
        stream->code = unequal;
        nr_stream_end(shim, NR_STREAM_FAILED);
        return;
    }
    stream->slot = slot_after(shim, stream->slot);
    stream->done++;
    if (stream->done == stream->windows) {
        nr_stream_end(shim, NR_STREAM_FINISHED);
    } else {
        set_next(shim);
    }
}

void nr_stream_step(struct nr_shim *shim)
{
    struct nr_stream *stream = &shim->stream;
    uint64_t now_tick = nr_now_tick(shim);
    if (now_tick < stream->ready_tick) {
        return;
    }
    if (stream->done == stream->loaded) {
        note_late(shim);
        nr_stream_end(shim, NR_STREAM_STARVED);
    } else if (now_tick >= stream->overrun_tick) { /* the signal has come round to its slot */
        nr_stream_end(shim, NR_STREAM_OVERRUN);
    } else if (stream->done - stream->first < NR_STREAM_RECORDS) {
        process(shim);
    }
}

void nr_stream_rest(const struct nr_shim *shim)
{
    const struct nr_port *port = shim->port;
    const uint32_t ms_ticks = shim->stream.ms_ticks;
    const uint32_t near_ticks = NEAR_MS * ms_ticks;
    const uint32_t part_ticks = PART_MS * ms_ticks;
    uint64_t now_tick = nr_now_tick(shim);
    uint64_t left_ticks =
        shim->stream.ready_tick > now_tick ? shim->stream.ready_tick - now_tick : 0;
    bool waits_for_room =
        left_ticks == 0 && shim->stream.done - shim->stream.first >= NR_STREAM_RECORDS;
    if (waits_for_room || left_ticks > near_ticks) {
        port->rest(port->context);
    } else if (left_ticks > part_ticks) {
        port->wait(port->context, LONG_PART_US);
    } else if (left_ticks > ms_ticks / LAST_OF_MS) {
        port->wait(port->context, SHORT_PART_US);
    }
}

/* ---- requests meanwhile ---- */

bool nr_stream_allows(uint8_t type)
{
    return type == NR_PING || type == NR_LOAD || type == NR_DATA || type == NR_COMMIT
           || type == NR_TAKE;
}

/* Slots are filled in the order of playing: if all are still to be played, the next slot is the one
   played next. */
bool nr_stream_allows_load(const struct nr_shim *shim, uint16_t slot)
{
    const struct nr_stream *stream = &shim->stream;
    return stream->loaded < stream->windows
           && stream->loaded - stream->done < shim->memory.slot_count
           && slot == stream->loading_slot;
}

void nr_stream_on_loaded(struct nr_shim *shim)
{
    note_late(shim);
    shim->stream.loaded++;
    shim->stream.loading_slot = slot_after(shim, shim->stream.loading_slot);
}

/* ---- answers ---- */

static uint8_t *put_record(const struct nr_shim *shim, uint32_t window, uint8_t *to)
{
    for (uint8_t i = 0; i < nr_stream_marks(shim); i++, to += NR_TICK_B) {
        nr_put_u64(to, shim->stream.ticks[window % NR_STREAM_RECORDS][i]);
    }
    memcpy(to, output_of(shim, window), shim->stream.output_b);
    return to + shim->stream.output_b;
}

static void put_state(const struct nr_stream *stream, uint8_t *to)
{
    to[0] = (uint8_t)stream->state;
    to[1] = NR_STREAM_RECORDS;
    nr_put_u64(to + 2, stream->start_tick);
    nr_put_u64(to + 10, stream->end_tick);
    nr_put_u32(to + 18, stream->done);
    nr_put_u32(to + 22, stream->late);
    nr_put_u32(to + 26, stream->worst_window);
    nr_put_u32(to + 30, stream->worst_ticks);
    nr_put_u32(to + 34, stream->code);
    nr_put_u32(to + 38, stream->first);
}

void nr_stream_take(struct nr_shim *shim, uint32_t next)
{
    struct nr_stream *stream = &shim->stream;
    uint8_t *to = shim->answer + NR_TAKEN_FIXED_B;
    size_t record_b = (size_t)nr_stream_marks(shim) * NR_TICK_B + stream->output_b;
    uint8_t count = 0;
    if (!nr_knows_stream(shim)) {
        nr_answer_error(shim, NR_E_UNSUPPORTED, 0, "no room for the answers");
        return;
    }
    if (next > stream->done) {
        nr_answer_error(shim, NR_E_ARGUMENT, stream->done, "no such window yet");
        return;
    }
    if (next > stream->first) {
        stream->first = next;
    }
    while (stream->state != NR_STREAM_NONE && stream->first + count != stream->done
           && record_b <= (size_t)(shim->answer + sizeof shim->answer - to)) {
        to = put_record(shim, stream->first + count, to);
        count++;
    }
    put_state(stream, shim->answer);
    shim->answer[NR_TAKEN_FIXED_B - 1] = count;
    nr_answer(shim, NR_TAKEN, (size_t)(to - shim->answer));
}
