/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of the framed layer, which come here in order and once; docs/reference/PROTOCOL.md,
   section 4. */
#include "nr_shim_parts.h"

#include <string.h>

/* ---- the line ---- */

static void on_baud(struct nr_shim *shim, uint32_t baud)
{
    const struct nr_port *port = shim->port;
    if (port->set_baud == NULL) {
        nr_answer_error(shim, NR_E_UNSUPPORTED, 0, "this UART has a fixed rate");
        return;
    }
    /* Tried first, while the host is silent: a rate that cannot be made is refused at once, not
       after a failed switch. */
    nr_drain(shim);
    if (baud == 0 || port->set_baud(port->context, baud) != 0) {
        nr_answer_error(shim, NR_E_ARGUMENT, baud, "this UART cannot make that rate");
        return;
    }
    (void)port->set_baud(port->context, shim->baud);
    nr_answer_status(shim);
    nr_drain(shim);
    (void)port->set_baud(port->context, baud);
    shim->baud_on_trial = true;
    shim->baud_before = shim->baud;
    shim->baud = baud;
    shim->baud_from_tick = nr_now_tick(shim);
}

/* ---- the device itself ---- */

static void on_unknown(struct nr_shim *shim, uint8_t type)
{
    nr_answer_error(shim, NR_E_TYPE, type, "unknown request");
}

static void on_self_test(struct nr_shim *shim, uint16_t reads, uint16_t repeat)
{
    if (!NR_WITH_SELF_TEST) {
        on_unknown(shim, NR_SELFTEST);
    } else if (reads == 0 || repeat == 0) {
        nr_answer_error(shim, NR_E_ARGUMENT, 1, "reads and repeat are 1 or more");
    } else {
        nr_self_test(shim, reads, repeat);
    }
}

/* ---- inputs and outputs ---- */

static void on_load(struct nr_shim *shim, const uint8_t *payload)
{
    uint16_t slot = nr_get_u16(payload);
    uint32_t length_b = nr_get_u32(payload + 2);
    if (slot >= shim->memory.slot_count) {
        nr_answer_error(shim, NR_E_SLOT, shim->memory.slot_count, "no such slot");
        return;
    }
    if (nr_stream_plays(shim) && !nr_stream_allows_load(shim, slot)) {
        nr_answer_error(shim, NR_E_ARGUMENT, shim->stream.done, "this slot is still to be played");
        return;
    }
    if (length_b > shim->workload->slot_bytes) {
        nr_answer_error(shim, NR_E_TOO_LARGE, shim->workload->slot_bytes, "larger than a slot");
        return;
    }
    nr_upload_open(shim, slot, length_b, nr_get_u32(payload + 6));
    nr_answer_status(shim);
}

static void on_unstorable_data(struct nr_shim *shim, size_t payload_b)
{
    if (payload_b <= NR_DATA_FIXED_B) {
        nr_answer_error(shim, NR_E_LENGTH, NR_DATA_FIXED_B + 1,
                        "DATA holds an offset and 1 byte or more");
    } else if (shim->upload != NR_UPLOAD_OPEN) {
        nr_answer_error(shim, NR_E_ARGUMENT, 0, "no slot is open");
    } else {
        nr_answer_error(shim, NR_E_ARGUMENT, shim->slot_length_b[shim->upload_slot],
                        "outside the opened slot");
    }
}

static void on_commit(struct nr_shim *shim, uint16_t slot)
{
    uint32_t crc;
    int code;
    if (slot >= shim->memory.slot_count) {
        nr_answer_error(shim, NR_E_SLOT, shim->memory.slot_count, "no such slot");
        return;
    }
    if (shim->upload != NR_UPLOAD_OPEN || slot != shim->upload_slot) {
        nr_answer_error(shim, NR_E_NOT_LOADED, slot, "this slot is not open");
        return;
    }
    if (shim->upload_received_b != shim->slot_length_b[slot]) {
        nr_upload_drop(shim);
        nr_answer_error(shim, NR_E_CRC, shim->upload_received_b,
                        "not the declared number of bytes");
        return;
    }
    crc = nr_upload_crc(shim);
    if (crc != shim->upload_crc) {
        nr_upload_drop(shim);
        nr_answer_error(shim, NR_E_CRC, crc, "CRC of the content differs");
        return;
    }
    code = nr_upload_finish(shim);
    if (code == NR_LOAD_TOO_LARGE) {
        nr_answer_error(shim, NR_E_TOO_LARGE, shim->workload->memory_bytes,
                        "needs more memory than the workload has");
        return;
    }
    if (code != 0) {
        nr_answer_error(shim, NR_E_WORKLOAD, (uint32_t)code, "the workload refuses this input");
        return;
    }
    if (nr_stream_plays(shim)) {
        nr_stream_on_loaded(shim);
    }
    nr_answer_status(shim);
}

static void on_result(struct nr_shim *shim, uint32_t offset_b)
{
    size_t bytes_b;
    if (offset_b > shim->output_b) {
        nr_answer_error(shim, NR_E_ARGUMENT, shim->output_b, "behind the end of the output");
        return;
    }
    bytes_b = shim->output_b - offset_b;
    if (bytes_b > NR_MAX_PAYLOAD_B - NR_CHUNK_FIXED_B) {
        bytes_b = NR_MAX_PAYLOAD_B - NR_CHUNK_FIXED_B;
    }
    nr_put_u32(shim->answer, offset_b);
    memcpy(shim->answer + NR_CHUNK_FIXED_B, shim->memory.output + offset_b, bytes_b);
    nr_answer(shim, NR_CHUNK, NR_CHUNK_FIXED_B + bytes_b);
}

/* ---- jobs for the window ---- */

static void on_run(struct nr_shim *shim, const uint8_t *payload)
{
    shim->job.slot = nr_get_u16(payload);
    shim->job.repeat = nr_get_u32(payload + 2);
    if (!nr_can_run(shim, shim->job.slot)) {
        return;
    }
    if (!nr_knows_run(shim)) {
        nr_answer_error(shim, NR_E_UNSUPPORTED, 0,
                        shim->workload->infer == NULL ? "this workload knows OPTIMIZE only"
                                                      : "this workload knows STREAM only");
        return;
    }
    if (shim->job.repeat == 0) {
        nr_answer_error(shim, NR_E_ARGUMENT, 1, "repeat is 1 or more");
        return;
    }
    nr_guard_accept(shim, NR_RUN, nr_get_u32(payload + 6), nr_get_u16(payload + 10));
}

/* The number of slots in a BATCH, or 0, and answered, where they are too few or too many to be
   run. */
static uint16_t batch_count(struct nr_shim *shim, size_t payload_b)
{
    size_t slots_b = payload_b - NR_BATCH_FIXED_B;
    if (payload_b < NR_BATCH_FIXED_B + 2U || slots_b % 2U != 0) {
        nr_answer_error(shim, NR_E_LENGTH, NR_BATCH_FIXED_B + 2, "wrong payload length");
        return 0;
    }
    if (!nr_knows_batch(shim)) {
        nr_answer_error(shim, NR_E_UNSUPPORTED, 0, "no room for the outputs");
        return 0;
    }
    if (slots_b / 2U > shim->memory.slot_count) {
        nr_answer_error(shim, NR_E_ARGUMENT, shim->memory.slot_count, "no such slot");
        return 0;
    }
    return (uint16_t)(slots_b / 2U);
}

static void on_batch(struct nr_shim *shim, const uint8_t *payload, size_t payload_b)
{
    uint16_t count = batch_count(shim, payload_b);
    if (count == 0) {
        return;
    }
    for (uint16_t i = 0; i < count; i++) {
        shim->job.batch[i] = nr_get_u16(payload + NR_BATCH_FIXED_B + (size_t)2 * i);
        if (!nr_can_run(shim, shim->job.batch[i])) {
            return;
        }
    }
    shim->job.batch_count = count;
    shim->job.repeat = nr_get_u32(payload);
    if (shim->job.repeat == 0 || (uint64_t)shim->job.repeat * count > UINT32_MAX) {
        nr_answer_error(shim, NR_E_ARGUMENT, 1, "repeat is 1 or more"); /* or cannot be counted */
        return;
    }
    nr_guard_accept(shim, NR_BATCH, nr_get_u32(payload + 4), nr_get_u16(payload + 8));
}

static void on_idle(struct nr_shim *shim, const uint8_t *payload)
{
    shim->job.time_us = nr_get_u32(payload);
    nr_guard_accept(shim, NR_IDLE, nr_get_u32(payload + 4), nr_get_u16(payload + 8));
}

static void on_sync(struct nr_shim *shim, const uint8_t *payload)
{
    if (payload[0] < 2 || payload[0] > NR_MARKS_MAX) {
        nr_answer_error(shim, NR_E_ARGUMENT, NR_MARKS_MAX, "count is 2 to marks_max");
        return;
    }
    shim->job.repeat = payload[0];
    shim->job.time_us = nr_get_u32(payload + 1);
    nr_guard_accept(shim, NR_SYNC, nr_get_u32(payload + 5), nr_get_u16(payload + 9));
}

static void on_optimize(struct nr_shim *shim, const uint8_t *payload, size_t payload_b)
{
    if (NR_WITH_OPTIMIZE) {
        nr_optimize_request(shim, payload, payload_b);
    } else {
        on_unknown(shim, NR_OPTIMIZE);
    }
}

static void on_knew(struct nr_shim *shim, uint8_t first)
{
    if (NR_WITH_OPTIMIZE) {
        nr_optimize_knew(shim, first);
    } else {
        on_unknown(shim, NR_KNEW);
    }
}

static void on_stream(struct nr_shim *shim, const uint8_t *payload)
{
    if (NR_WITH_STREAM) {
        nr_stream_start(shim, payload);
    } else {
        on_unknown(shim, NR_STREAM);
    }
}

static void on_take(struct nr_shim *shim, const uint8_t *payload)
{
    if (NR_WITH_STREAM) {
        nr_stream_take(shim, nr_get_u32(payload));
    } else {
        on_unknown(shim, NR_TAKE);
    }
}

/* ---- all of them ---- */

/* Length of a request's payload, or -1 where any will do. */
static int payload_b_of(uint8_t type)
{
    switch (type) {
    case NR_BAUD: return NR_BAUD_B;
    case NR_TEXT: return 0;
    case NR_SELFTEST: return NR_WITH_SELF_TEST ? NR_SELFTEST_B : -1;
    case NR_LOAD: return NR_LOAD_B;
    case NR_COMMIT: return NR_COMMIT_B;
    case NR_RUN: return NR_RUN_B;
    case NR_IDLE: return NR_IDLE_B;
    case NR_SYNC: return NR_SYNC_B;
    case NR_RESULT: return NR_RESULT_B;
    case NR_KNEW: return NR_WITH_OPTIMIZE ? NR_KNEW_B : -1;
    case NR_STREAM: return NR_WITH_STREAM ? NR_STREAM_B : -1;
    case NR_TAKE: return NR_WITH_STREAM ? NR_TAKE_B : -1;
    default: return -1;
    }
}

void nr_request_execute(struct nr_shim *shim)
{
    uint8_t type = nr_frame_type(&shim->frame_rx);
    const uint8_t *payload = nr_frame_payload(&shim->frame_rx);
    size_t payload_b = nr_frame_payload_b(&shim->frame_rx);
    int wanted_b = payload_b_of(type);

    if (wanted_b >= 0 && payload_b != (size_t)wanted_b) {
        nr_answer_error(shim, NR_E_LENGTH, (uint32_t)wanted_b, "wrong payload length");
        return;
    }
    if (nr_stream_plays(shim) && !nr_stream_allows(type)) {
        nr_answer_error(shim, NR_E_ARGUMENT, 0, "a stream is played");
        return;
    }
    switch (type) {
    case NR_PING:
        memcpy(shim->answer, payload, payload_b);
        nr_answer(shim, NR_PONG, payload_b);
        break;
    case NR_BAUD: on_baud(shim, nr_get_u32(payload)); break;
    case NR_TEXT:
        nr_answer_status(shim);
        nr_text_layer_enter(shim);
        break;
    case NR_SELFTEST: on_self_test(shim, nr_get_u16(payload), nr_get_u16(payload + 2)); break;
    case NR_LOAD: on_load(shim, payload); break;
    case NR_DATA: on_unstorable_data(shim, payload_b); break;
    case NR_COMMIT: on_commit(shim, nr_get_u16(payload)); break;
    case NR_RUN: on_run(shim, payload); break;
    case NR_BATCH: on_batch(shim, payload, payload_b); break;
    case NR_STREAM: on_stream(shim, payload); break;
    case NR_TAKE: on_take(shim, payload); break;
    case NR_OPTIMIZE: on_optimize(shim, payload, payload_b); break;
    case NR_KNEW: on_knew(shim, payload[0]); break;
    case NR_IDLE: on_idle(shim, payload); break;
    case NR_SYNC: on_sync(shim, payload); break;
    case NR_RESULT: on_result(shim, nr_get_u32(payload)); break;
    default: on_unknown(shim, type); break;
    }
}
