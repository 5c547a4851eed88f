/* SPDX-License-Identifier: Apache-2.0 */
#include "nr_shim.h"

#include <string.h>

enum {
    CAPS_FIXED_B = 28,
    CAPS_STRINGS = 6,
    CAPS_MAX_B = 256,
    DONE_FIXED_B = 8,
    DONE_MARK_B = 9,
    ERROR_FIXED_B = 5,
    ERROR_TEXT_MAX_B = 40,
    DATA_OFFSET_B = 4,
    ESCAPE_MISSED = 0xFF
};

/* Fails to compile when a build chose sizes that cannot work. */
typedef char nr_check_payload[(NR_MAX_PAYLOAD_B >= 64 && NR_MAX_PAYLOAD_B <= 4096) ? 1 : -1];
typedef char nr_check_window[(NR_WINDOW >= 1 && NR_WINDOW <= 32) ? 1 : -1];
typedef char nr_check_marks[(NR_MARKS_MAX >= 3 && DONE_FIXED_B + DONE_MARK_B * NR_MARKS_MAX <= NR_MAX_PAYLOAD_B) ? 1 : -1];
typedef char nr_check_slots[(NR_SLOTS_MAX >= 1 && NR_SLOTS_MAX <= 65535) ? 1 : -1];
typedef char nr_check_backlog[(NR_BACKLOG_B >= 1 && NR_BACKLOG_B <= 65535) ? 1 : -1];

static const char escape_text[] = "name%";

/* ---- the port ---- */

static uint64_t now_tick(const struct nr_shim *shim) { return shim->port->ticks(shim->port->context); }

static void drain(const struct nr_shim *shim) { shim->port->drain(shim->port->context); }

static uint64_t us_to_ticks(const struct nr_shim *shim, uint64_t duration_us)
{
    uint64_t seconds = duration_us / 1000000U;
    uint64_t rest_us = duration_us % 1000000U;
    return seconds * shim->port->tick_hz + rest_us * shim->port->tick_hz / 1000000U;
}

static uint64_t ticks_to_us(const struct nr_shim *shim, uint64_t ticks)
{
    uint64_t seconds = ticks / shim->port->tick_hz;
    uint64_t rest = ticks % shim->port->tick_hz;
    return seconds * 1000000U + rest * 1000000U / shim->port->tick_hz;
}

/* True when at least `duration_us` lie between two readings of the timer, whatever its phase was. */
static bool passed(const struct nr_shim *shim, uint64_t from_tick, uint64_t to_tick, uint64_t duration_us)
{
    return to_tick - from_tick > us_to_ticks(shim, duration_us);
}

static void mark(struct nr_shim *shim, uint8_t phase)
{
    uint64_t tick = shim->port->mark(shim->port->context, phase, shim->job.hold_us);
    if (shim->marks < NR_MARKS_MAX) {
        shim->mark_tick[shim->marks] = tick;
        shim->mark_phase[shim->marks] = phase;
        shim->marks++;
    }
}

/* ---- the workload ---- */

static uint8_t *slot_memory(const struct nr_shim *shim, uint16_t slot)
{
    return shim->memory.slots + (size_t)slot * shim->workload->slot_bytes;
}

static void drop_upload(struct nr_shim *shim) { shim->upload = NR_UPLOAD_NONE; }

static void open_upload(struct nr_shim *shim, uint16_t slot, uint32_t length_b, uint32_t crc)
{
    shim->upload = NR_UPLOAD_OPEN;
    shim->upload_slot = slot;
    shim->upload_crc = crc;
    shim->upload_received_b = 0;
    shim->slot_length_b[slot] = length_b;
    shim->slot_loaded[slot] = false;
}

/* Ends an upload whose bytes are all there; returns the workload's verdict. */
static int finish_upload(struct nr_shim *shim)
{
    uint16_t slot = shim->upload_slot;
    int code = shim->workload->load(shim->workload->state, slot_memory(shim, slot), shim->slot_length_b[slot]);
    drop_upload(shim);
    shim->slot_loaded[slot] = code == 0;
    return code;
}

static uint8_t phase_of_infer(const struct nr_shim *shim)
{
    return shim->workload->phases < 2 ? (uint8_t)NR_PHASE_PREPROCESS : (uint8_t)NR_PHASE_INFER;
}

static int preprocess(struct nr_shim *shim, uint16_t slot, uint32_t repeat)
{
    const uint8_t *data = slot_memory(shim, slot);
    int code = 0;
    while (code == 0 && repeat-- != 0) {
        code = shim->workload->preprocess(shim->workload->state, data, shim->slot_length_b[slot]);
    }
    return code;
}

static int infer(struct nr_shim *shim, uint32_t repeat)
{
    int code = 0;
    while (code == 0 && repeat-- != 0) {
        code = shim->workload->infer(shim->workload->state);
    }
    return code;
}

static void fetch_output(struct nr_shim *shim, int code)
{
    shim->output_valid = code == 0;
    shim->output_b = code == 0 ? shim->workload->result(shim->workload->state, shim->memory.output) : 0;
    if (shim->output_b > shim->workload->output_bytes) {
        shim->output_b = shim->workload->output_bytes;
    }
}

/* ---- the text layer ---- */

static void say(struct nr_shim *shim, const char *line)
{
    nr_text_put(&shim->text_tx, line);
    nr_text_put(&shim->text_tx, "\r\n");
}

static void say_named(struct nr_shim *shim, const char *before, const char *name, const char *after)
{
    nr_text_put(&shim->text_tx, before);
    nr_text_put(&shim->text_tx, name);
    say(shim, after);
}

static void say_number(struct nr_shim *shim, const char *before, uint64_t number, const char *after)
{
    nr_text_put(&shim->text_tx, before);
    nr_text_put_number(&shim->text_tx, number);
    say(shim, after);
}

static void say_ready(struct nr_shim *shim)
{
    say(shim, "m-ready");
    nr_text_flush(&shim->text_tx);
}

static void text_help(struct nr_shim *shim)
{
    say(shim, "m-help-name");
    say(shim, "m-help-profile");
    say(shim, "m-help-timestamp");
    say(shim, "m-help-timestamp-mode");
    say(shim, "m-help-db load N");
    say(shim, "m-help-db HEX");
    say(shim, "m-help-infer N [W=10]");
    say(shim, "m-help-results");
    say(shim, "m-help-help");
    say(shim, "m-help-frame V");
}

static uint16_t text_hold_us(const struct nr_shim *shim)
{
    return shim->port->hold_min_us > NR_TEXT_HOLD_US ? shim->port->hold_min_us : (uint16_t)NR_TEXT_HOLD_US;
}

static void text_timestamp(struct nr_shim *shim)
{
    nr_text_flush(&shim->text_tx); /* earlier answers, which may still be on their way */
    drain(shim);
    shim->marks = 0;
    shim->job.hold_us = text_hold_us(shim);
    mark(shim, NR_PHASE_END);
    say_number(shim, "m-lap-us-", ticks_to_us(shim, shim->mark_tick[0]), "");
}

static void text_db_load(struct nr_shim *shim, uint32_t length_b)
{
    /* The old input goes first: after a refused load nothing may run on it by mistake. */
    drop_upload(shim);
    shim->slot_loaded[0] = false;
    if (length_b == 0) {
        say(shim, "e-[db load needs 1 byte or more]");
    } else if (length_b > shim->workload->slot_bytes) {
        say_number(shim, "e-[db load takes at most ", shim->workload->slot_bytes, " bytes]");
    } else {
        open_upload(shim, 0, length_b, 0);
        say_number(shim, "m-[Expecting ", length_b, " bytes]");
    }
}

/* Stores hex digits; returns what is wrong with them, or NULL. */
static const char *store_hex(struct nr_shim *shim, const uint8_t *hex, size_t hex_b)
{
    uint8_t *to = slot_memory(shim, 0) + shim->upload_received_b;
    if (hex_b % 2 != 0) {
        return "e-[odd number of hex digits, load dropped]";
    }
    if (hex_b / 2 > shim->slot_length_b[0] - shim->upload_received_b) {
        return "e-[more bytes than declared, load dropped]";
    }
    for (size_t i = 0; i < hex_b; i += 2) {
        int high = nr_text_hex_digit(hex[i]);
        int low = nr_text_hex_digit(hex[i + 1]);
        if (high < 0 || low < 0) {
            return "e-[not a hex digit, load dropped]";
        }
        *to++ = (uint8_t)(high * 16 + low);
    }
    shim->upload_received_b += (uint32_t)(hex_b / 2);
    return NULL;
}

static void text_db(struct nr_shim *shim, const struct nr_command *command)
{
    const char *problem;
    if (shim->upload != NR_UPLOAD_OPEN) {
        say(shim, "e-[no db load is open]");
        return;
    }
    problem = store_hex(shim, command->hex, command->hex_b);
    if (problem != NULL) {
        drop_upload(shim);
        say(shim, problem);
    } else if (shim->upload_received_b == shim->slot_length_b[0]) {
        int code = finish_upload(shim);
        if (code != 0) {
            say_number(shim, "e-[the workload refuses this input, code ", (uint64_t)code, "]");
        } else {
            say(shim, "m-load-done");
        }
    }
}

static void text_results(struct nr_shim *shim)
{
    if (!shim->output_valid || shim->output_b < 4) {
        say(shim, "e-[no results]");
        return;
    }
    nr_text_put(&shim->text_tx, "m-results-[");
    nr_text_put_results(&shim->text_tx, shim->memory.output, shim->output_b / 4);
    say(shim, "]");
}

/* The timed part of the text layer's `infer`: as silent as a RUN. */
static int text_infer_window(struct nr_shim *shim, uint32_t repeat)
{
    int code;
    nr_text_flush(&shim->text_tx);
    drain(shim);
    shim->marks = 0;
    shim->job.hold_us = text_hold_us(shim);
    mark(shim, phase_of_infer(shim));
    code = infer(shim, repeat);
    mark(shim, NR_PHASE_END);
    return code;
}

static int text_infer_parts(struct nr_shim *shim, uint32_t repeat, uint32_t warmups)
{
    int code = preprocess(shim, 0, 1);
    if (code != 0) {
        return code;
    }
    say_number(shim, "m-warmup-start-", warmups, "");
    code = infer(shim, warmups);
    if (code != 0) {
        return code;
    }
    say(shim, "m-warmup-done");
    say_number(shim, "m-infer-start-", repeat, "");
    return text_infer_window(shim, repeat);
}

static void text_infer(struct nr_shim *shim, uint32_t repeat, uint32_t warmups)
{
    int code;
    if (!shim->slot_loaded[0]) {
        say(shim, "e-[no input is loaded]");
        return;
    }
    code = text_infer_parts(shim, repeat, warmups);
    fetch_output(shim, code);
    if (code != 0) {
        say_number(shim, "e-[the workload failed, code ", (uint64_t)code, "]");
        return;
    }
    say_number(shim, "m-lap-us-", ticks_to_us(shim, shim->mark_tick[0]), "");
    say_number(shim, "m-lap-us-", ticks_to_us(shim, shim->mark_tick[1]), "");
    say(shim, "m-infer-done");
    text_results(shim);
}

static void enter_framed(struct nr_shim *shim)
{
    shim->layer = NR_LAYER_FRAMED;
    shim->session = false;
    shim->expected = 0;
    shim->received = 0;
    shim->answer_valid = false;
    shim->escape_b = 0;
    drop_upload(shim);
    nr_frame_rx_drop(&shim->frame_rx);
}

static void text_frame(struct nr_shim *shim, uint32_t version)
{
    if (version != NR_PROTOCOL) {
        say_number(shim, "e-[frame takes version ", NR_PROTOCOL, "]");
        return;
    }
    say_number(shim, "m-frame-[", NR_PROTOCOL, "]");
    enter_framed(shim);
}

static void text_execute(struct nr_shim *shim, const struct nr_command *command)
{
    switch (command->kind) {
    case NR_COMMAND_BAD: say_named(shim, "e-[", command->problem, "]"); break;
    case NR_COMMAND_NAME: say_named(shim, "m-name-dut-[", shim->port->device, "]"); break;
    case NR_COMMAND_PROFILE:
        say_named(shim, "m-profile-[neurorig ", shim->workload->name, "]");
        say_named(shim, "m-model-[", shim->workload->model, "]");
        break;
    case NR_COMMAND_TIMESTAMP: text_timestamp(shim); break;
    case NR_COMMAND_TIMESTAMP_MODE: say(shim, "m-timestamp-mode-performance"); break;
    case NR_COMMAND_DB_LOAD: text_db_load(shim, command->number[0]); break;
    case NR_COMMAND_DB: text_db(shim, command); break;
    case NR_COMMAND_INFER: text_infer(shim, command->number[0], command->number[1]); break;
    case NR_COMMAND_RESULTS: text_results(shim); break;
    case NR_COMMAND_HELP: text_help(shim); break;
    case NR_COMMAND_FRAME: text_frame(shim, command->number[0]); break;
    }
}

static void text_byte(struct nr_shim *shim, uint8_t byte)
{
    struct nr_command command;
    if (!nr_text_rx_byte(&shim->text_rx, byte)) {
        return;
    }
    nr_text_parse(&shim->text_rx, &command);
    text_execute(shim, &command);
    nr_text_rx_init(&shim->text_rx);
    say_ready(shim);
}

static void enter_text(struct nr_shim *shim)
{
    shim->layer = NR_LAYER_TEXT;
    shim->session = false;
    shim->guarding = false;
    drop_upload(shim);
    nr_text_rx_init(&shim->text_rx);
}

/* ---- the framed layer: answers ---- */

/* Sends what is in `answer` (again). */
static void send_answer(struct nr_shim *shim)
{
    nr_frame_tx_begin(&shim->frame_tx, shim->answer_type, shim->answer_seq);
    nr_frame_tx_put(&shim->frame_tx, shim->answer, shim->answer_b);
    nr_frame_tx_end(&shim->frame_tx);
}

/* Keeps and sends an answer of `length_b` bytes, which the caller has put into `answer`. */
static void answer(struct nr_shim *shim, uint8_t seq, uint8_t type, size_t length_b)
{
    shim->answer_valid = true;
    shim->answer_seq = seq;
    shim->answer_type = type;
    shim->answer_b = length_b;
    send_answer(shim);
}

static void answer_status(struct nr_shim *shim, uint8_t seq) { answer(shim, seq, NR_STATUS, 0); }

static void answer_error(struct nr_shim *shim, uint8_t seq, uint8_t code, uint32_t detail, const char *text)
{
    size_t text_b = strlen(text);
    if (text_b > ERROR_TEXT_MAX_B) {
        text_b = ERROR_TEXT_MAX_B;
    }
    shim->answer[0] = code;
    nr_put_u32(shim->answer + 1, detail);
    memcpy(shim->answer + ERROR_FIXED_B, text, text_b);
    answer(shim, seq, NR_ERROR, ERROR_FIXED_B + text_b);
}

/* ACK and CAPS are built on the fly: they must not overwrite the answer that is kept. */
static void send_ack(struct nr_shim *shim)
{
    uint8_t received[4];
    nr_put_u32(received, shim->received);
    nr_frame_tx_begin(&shim->frame_tx, NR_ACK, shim->expected);
    nr_frame_tx_put(&shim->frame_tx, received, sizeof received);
    nr_frame_tx_end(&shim->frame_tx);
}

static void send_caps_strings(struct nr_shim *shim)
{
    const char *const strings[CAPS_STRINGS] = {
        shim->port->device, NR_FIRMWARE_VERSION, shim->workload->name, shim->workload->model, shim->port->build, shim->port->sync_pin,
    };
    size_t room_b = CAPS_MAX_B - CAPS_FIXED_B - CAPS_STRINGS;
    for (size_t i = 0; i < CAPS_STRINGS; i++) {
        size_t length_b = strlen(strings[i]);
        uint8_t byte;
        if (length_b > room_b) {
            length_b = room_b;
        }
        room_b -= length_b;
        byte = (uint8_t)length_b;
        nr_frame_tx_put(&shim->frame_tx, &byte, 1);
        for (size_t at = 0; at < length_b; at++) {
            byte = (uint8_t)strings[i][at];
            nr_frame_tx_put(&shim->frame_tx, &byte, 1);
        }
    }
}

static void send_caps(struct nr_shim *shim, uint8_t seq)
{
    const struct nr_port *port = shim->port;
    uint8_t fixed[CAPS_FIXED_B];
    nr_put_u32(fixed, shim->nonce);
    fixed[4] = NR_PROTOCOL;
    fixed[5] = NR_WINDOW;
    nr_put_u16(fixed + 6, NR_MAX_PAYLOAD_B);
    nr_put_u16(fixed + 8, shim->memory.slot_count);
    nr_put_u32(fixed + 10, shim->workload->slot_bytes);
    nr_put_u32(fixed + 14, shim->workload->output_bytes);
    nr_put_u16(fixed + 18, NR_MARKS_MAX);
    nr_put_u32(fixed + 20, port->tick_hz);
    nr_put_u16(fixed + 24, port->hold_min_us);
    fixed[26] = shim->workload->phases;
    fixed[27] = port->set_baud != NULL ? port->flags : (uint8_t)(port->flags & ~NR_CAP_BAUD);
    nr_frame_tx_begin(&shim->frame_tx, NR_CAPS, seq);
    nr_frame_tx_put(&shim->frame_tx, fixed, sizeof fixed);
    send_caps_strings(shim);
    nr_frame_tx_end(&shim->frame_tx);
}

/* ---- the framed layer: order ---- */

/* Number `expected` has come: goes on behind it and all that were noted next to it. */
static void advance(struct nr_shim *shim)
{
    bool more;
    do {
        more = (shim->received & 1U) != 0;
        shim->received >>= 1;
        shim->expected++;
    } while (more);
    shim->answer_valid = false;
}

/* Notes number expected + `ahead`; false when it was there already. */
static bool note(struct nr_shim *shim, uint8_t ahead)
{
    uint32_t bit;
    if (ahead == 0) {
        advance(shim);
        return true;
    }
    bit = (uint32_t)1U << (ahead - 1U);
    if ((shim->received & bit) != 0) {
        return false;
    }
    shim->received |= bit;
    return true;
}

static bool data_fits(const struct nr_shim *shim)
{
    size_t payload_b = nr_frame_payload_b(&shim->frame_rx);
    uint32_t offset_b;
    uint32_t length_b;
    if (shim->upload != NR_UPLOAD_OPEN || payload_b <= DATA_OFFSET_B) {
        return false;
    }
    offset_b = nr_get_u32(nr_frame_payload(&shim->frame_rx));
    length_b = shim->slot_length_b[shim->upload_slot];
    return offset_b <= length_b && payload_b - DATA_OFFSET_B <= length_b - offset_b;
}

static void store_data(struct nr_shim *shim, uint8_t ahead)
{
    const uint8_t *payload = nr_frame_payload(&shim->frame_rx);
    size_t bytes_b = nr_frame_payload_b(&shim->frame_rx) - DATA_OFFSET_B;
    if (note(shim, ahead)) {
        memcpy(slot_memory(shim, shim->upload_slot) + nr_get_u32(payload), payload + DATA_OFFSET_B, bytes_b);
        shim->upload_received_b += (uint32_t)bytes_b;
    }
    send_ack(shim);
}

/* ---- the framed layer: requests ---- */

static void on_baud(struct nr_shim *shim, uint8_t seq, uint32_t baud)
{
    const struct nr_port *port = shim->port;
    if (port->set_baud == NULL) {
        answer_error(shim, seq, NR_E_UNSUPPORTED, 0, "this UART has a fixed rate");
        return;
    }
    /* Tried first, while the host is silent: a rate that cannot be made is refused at once, not after a failed switch. */
    drain(shim);
    if (baud == 0 || port->set_baud(port->context, baud) != 0) {
        answer_error(shim, seq, NR_E_ARGUMENT, baud, "this UART cannot make that rate");
        return;
    }
    (void)port->set_baud(port->context, shim->baud);
    answer_status(shim, seq);
    drain(shim);
    (void)port->set_baud(port->context, baud);
    shim->baud_on_trial = true;
    shim->baud_before = shim->baud;
    shim->baud = baud;
    shim->baud_from_tick = now_tick(shim);
}

static void on_load(struct nr_shim *shim, uint8_t seq, const uint8_t *payload)
{
    uint16_t slot = nr_get_u16(payload);
    uint32_t length_b = nr_get_u32(payload + 2);
    if (slot >= shim->memory.slot_count) {
        answer_error(shim, seq, NR_E_SLOT, shim->memory.slot_count, "no such slot");
        return;
    }
    if (length_b > shim->workload->slot_bytes) {
        answer_error(shim, seq, NR_E_TOO_LARGE, shim->workload->slot_bytes, "larger than a slot");
        return;
    }
    open_upload(shim, slot, length_b, nr_get_u32(payload + 6));
    answer_status(shim, seq);
}

static void on_commit(struct nr_shim *shim, uint8_t seq, uint16_t slot)
{
    uint32_t crc;
    int code;
    if (slot >= shim->memory.slot_count) {
        answer_error(shim, seq, NR_E_SLOT, shim->memory.slot_count, "no such slot");
        return;
    }
    if (shim->upload != NR_UPLOAD_OPEN || slot != shim->upload_slot) {
        answer_error(shim, seq, NR_E_NOT_LOADED, slot, "this slot is not open");
        return;
    }
    if (shim->upload_received_b != shim->slot_length_b[slot]) {
        drop_upload(shim);
        answer_error(shim, seq, NR_E_CRC, shim->upload_received_b, "not the declared number of bytes");
        return;
    }
    crc = nr_crc32(0, slot_memory(shim, slot), shim->slot_length_b[slot]);
    if (crc != shim->upload_crc) {
        drop_upload(shim);
        answer_error(shim, seq, NR_E_CRC, crc, "CRC of the content differs");
        return;
    }
    code = finish_upload(shim);
    if (code != 0) {
        answer_error(shim, seq, NR_E_WORKLOAD, (uint32_t)code, "the workload refuses this input");
        return;
    }
    answer_status(shim, seq);
}

static void on_result(struct nr_shim *shim, uint8_t seq, uint32_t offset_b)
{
    size_t bytes_b;
    if (offset_b > shim->output_b) {
        answer_error(shim, seq, NR_E_ARGUMENT, shim->output_b, "behind the end of the output");
        return;
    }
    bytes_b = shim->output_b - offset_b;
    if (bytes_b > NR_MAX_PAYLOAD_B - 4U) {
        bytes_b = NR_MAX_PAYLOAD_B - 4U;
    }
    nr_put_u32(shim->answer, offset_b);
    memcpy(shim->answer + 4, shim->memory.output + offset_b, bytes_b);
    answer(shim, seq, NR_CHUNK, 4U + bytes_b);
}

/* Acknowledges a job and listens for its repetition; the window opens when the guard has passed. */
static void start_guard(struct nr_shim *shim)
{
    send_ack(shim);
    drain(shim);
    shim->guard_from_tick = now_tick(shim);
}

static void accept_job(struct nr_shim *shim, uint8_t seq, uint8_t type, uint32_t guard_us, uint16_t hold_us)
{
    if (hold_us != 0 && hold_us < shim->port->hold_min_us) {
        answer_error(shim, seq, NR_E_ARGUMENT, shim->port->hold_min_us, "hold shorter than hold_min_us");
        return;
    }
    shim->job.type = type;
    shim->job.seq = seq;
    shim->job.hold_us = hold_us != 0 ? hold_us : shim->port->hold_min_us;
    shim->guard_us = guard_us;
    shim->guard_restarts = 0;
    shim->guarding = true;
    start_guard(shim);
}

static void on_run(struct nr_shim *shim, uint8_t seq, const uint8_t *payload)
{
    uint16_t slot = nr_get_u16(payload);
    uint32_t repeat = nr_get_u32(payload + 2);
    if (slot >= shim->memory.slot_count) {
        answer_error(shim, seq, NR_E_SLOT, shim->memory.slot_count, "no such slot");
    } else if (!shim->slot_loaded[slot]) {
        answer_error(shim, seq, NR_E_NOT_LOADED, slot, "this slot is not loaded");
    } else if (repeat == 0) {
        answer_error(shim, seq, NR_E_ARGUMENT, 1, "repeat is 1 or more");
    } else {
        shim->job.slot = slot;
        shim->job.repeat = repeat;
        accept_job(shim, seq, NR_RUN, nr_get_u32(payload + 6), nr_get_u16(payload + 10));
    }
}

static void on_idle(struct nr_shim *shim, uint8_t seq, const uint8_t *payload)
{
    shim->job.time_us = nr_get_u32(payload);
    accept_job(shim, seq, NR_IDLE, nr_get_u32(payload + 4), nr_get_u16(payload + 8));
}

static void on_sync(struct nr_shim *shim, uint8_t seq, const uint8_t *payload)
{
    if (payload[0] < 2 || payload[0] > NR_MARKS_MAX) {
        answer_error(shim, seq, NR_E_ARGUMENT, NR_MARKS_MAX, "count is 2 to marks_max");
        return;
    }
    shim->job.repeat = payload[0];
    shim->job.time_us = nr_get_u32(payload + 1);
    accept_job(shim, seq, NR_SYNC, nr_get_u32(payload + 5), nr_get_u16(payload + 9));
}

/* Length of a request's payload, or -1 where any will do. */
static int payload_b_of(uint8_t type)
{
    switch (type) {
    case NR_BAUD: return 4;
    case NR_TEXT: return 0;
    case NR_LOAD: return 10;
    case NR_COMMIT: return 2;
    case NR_RUN: return 12;
    case NR_IDLE: return 10;
    case NR_SYNC: return 11;
    case NR_RESULT: return 4;
    default: return -1;
    }
}

static void on_unstorable_data(struct nr_shim *shim, uint8_t seq, size_t payload_b)
{
    if (payload_b <= DATA_OFFSET_B) {
        answer_error(shim, seq, NR_E_LENGTH, DATA_OFFSET_B + 1, "DATA holds an offset and 1 byte or more");
    } else if (shim->upload != NR_UPLOAD_OPEN) {
        answer_error(shim, seq, NR_E_ARGUMENT, 0, "no slot is open");
    } else {
        answer_error(shim, seq, NR_E_ARGUMENT, shim->slot_length_b[shim->upload_slot], "outside the opened slot");
    }
}

/* Executes the request in the receive buffer; it is in order and has not been executed before. */
static void execute(struct nr_shim *shim)
{
    uint8_t type = nr_frame_type(&shim->frame_rx);
    uint8_t seq = nr_frame_seq(&shim->frame_rx);
    const uint8_t *payload = nr_frame_payload(&shim->frame_rx);
    size_t payload_b = nr_frame_payload_b(&shim->frame_rx);
    int wanted_b = payload_b_of(type);

    if (wanted_b >= 0 && payload_b != (size_t)wanted_b) {
        answer_error(shim, seq, NR_E_LENGTH, (uint32_t)wanted_b, "wrong payload length");
        return;
    }
    switch (type) {
    case NR_PING:
        memcpy(shim->answer, payload, payload_b);
        answer(shim, seq, NR_PONG, payload_b);
        break;
    case NR_BAUD: on_baud(shim, seq, nr_get_u32(payload)); break;
    case NR_TEXT:
        answer_status(shim, seq);
        enter_text(shim);
        break;
    case NR_LOAD: on_load(shim, seq, payload); break;
    case NR_DATA: on_unstorable_data(shim, seq, payload_b); break;
    case NR_COMMIT: on_commit(shim, seq, nr_get_u16(payload)); break;
    case NR_RUN: on_run(shim, seq, payload); break;
    case NR_IDLE: on_idle(shim, seq, payload); break;
    case NR_SYNC: on_sync(shim, seq, payload); break;
    case NR_RESULT: on_result(shim, seq, nr_get_u32(payload)); break;
    default: answer_error(shim, seq, NR_E_TYPE, type, "unknown request"); break;
    }
}

static void new_session(struct nr_shim *shim, uint8_t seq, uint32_t nonce)
{
    shim->session = true;
    shim->nonce = nonce;
    shim->expected = (uint8_t)(seq + 1U);
    shim->received = 0;
    shim->answer_valid = false;
    shim->guarding = false;
    shim->output_valid = false;
    shim->output_b = 0;
    drop_upload(shim);
    memset(shim->slot_loaded, 0, sizeof shim->slot_loaded);
}

/* A HELLO that is refused leaves the session as it is; its answer is sent but not kept, as HELLO has no place in the order. */
static void refuse_hello(struct nr_shim *shim, uint8_t seq, uint8_t code, uint32_t detail)
{
    uint8_t error[ERROR_FIXED_B];
    error[0] = code;
    nr_put_u32(error + 1, detail);
    nr_frame_tx_begin(&shim->frame_tx, NR_ERROR, seq);
    nr_frame_tx_put(&shim->frame_tx, error, sizeof error);
    nr_frame_tx_end(&shim->frame_tx);
}

static void on_hello(struct nr_shim *shim)
{
    const uint8_t *payload = nr_frame_payload(&shim->frame_rx);
    uint8_t seq = nr_frame_seq(&shim->frame_rx);
    if (nr_frame_payload_b(&shim->frame_rx) != 5) {
        refuse_hello(shim, seq, NR_E_LENGTH, 5);
        return;
    }
    if (payload[4] != NR_PROTOCOL) {
        refuse_hello(shim, seq, NR_E_UNSUPPORTED, NR_PROTOCOL);
        return;
    }
    if (!shim->session || shim->nonce != nr_get_u32(payload)) {
        new_session(shim, seq, nr_get_u32(payload));
    }
    send_caps(shim, seq);
}

/* Between the ACK of a job and its window only that job is answered. */
static void on_frame_in_guard(struct nr_shim *shim)
{
    if (nr_frame_type(&shim->frame_rx) != shim->job.type || nr_frame_seq(&shim->frame_rx) != shim->job.seq) {
        return;
    }
    if (shim->guard_restarts < NR_GUARD_RESTARTS_MAX) {
        shim->guard_restarts++;
        start_guard(shim);
    }
}

static void on_frame(struct nr_shim *shim)
{
    uint8_t type = nr_frame_type(&shim->frame_rx);
    uint8_t seq = nr_frame_seq(&shim->frame_rx);
    uint8_t ahead = (uint8_t)(seq - shim->expected);

    if (type >= NR_ACK) {
        return; /* a device's message: our own echo, which proves nothing and must be answered by nobody */
    }
    shim->baud_on_trial = false; /* a good frame, whatever it asks, proves the rate */
    if (type == NR_HELLO) {
        on_hello(shim);
    } else if (!shim->session) {
        send_ack(shim);
    } else if (shim->guarding) {
        on_frame_in_guard(shim);
    } else if (type == NR_DATA && ahead < NR_WINDOW && data_fits(shim)) {
        store_data(shim, ahead);
    } else if (ahead == 0) {
        advance(shim);
        execute(shim);
    } else if (ahead == 0xFF && shim->answer_valid && seq == shim->answer_seq) {
        send_answer(shim);
    } else {
        send_ack(shim);
    }
}

/* ---- the window: from the first mark to the last nothing is sent and nothing is read ---- */

static int run_phases(struct nr_shim *shim)
{
    bool timed = shim->workload->phases >= 2;
    int code;
    if (timed) {
        mark(shim, NR_PHASE_PREPROCESS);
    }
    code = preprocess(shim, shim->job.slot, timed ? shim->job.repeat : 1);
    if (code == 0) {
        mark(shim, phase_of_infer(shim));
        code = infer(shim, shim->job.repeat);
    }
    if (shim->marks != 0) {
        mark(shim, NR_PHASE_END);
    }
    return code;
}

static void stay_idle(struct nr_shim *shim)
{
    mark(shim, NR_PHASE_IDLE);
    shim->port->wait(shim->port->context, shim->job.time_us);
    mark(shim, NR_PHASE_END);
}

/* Waits until a moment in ticks: a burst must not stretch by what its pulses cost. */
static void wait_until(struct nr_shim *shim, uint64_t tick)
{
    uint64_t now = now_tick(shim);
    while (now < tick) {
        uint64_t left_us = ticks_to_us(shim, tick - now);
        if (left_us == 0) {
            return;
        }
        shim->port->wait(shim->port->context, left_us < UINT32_MAX ? (uint32_t)left_us : UINT32_MAX);
        now = now_tick(shim);
    }
}

/* The intervals 1, 2, 1, 4 make a burst unmistakable: a lost or doubled edge shows at once. */
static void send_sync_burst(struct nr_shim *shim)
{
    static const uint8_t periods[4] = {1, 2, 1, 4};
    uint64_t since_first_us = 0;
    for (uint32_t i = 0; i < shim->job.repeat; i++) {
        if (i != 0) {
            wait_until(shim, shim->mark_tick[0] + us_to_ticks(shim, since_first_us));
        }
        mark(shim, NR_PHASE_SYNC);
        since_first_us += (uint64_t)periods[i % 4U] * shim->job.time_us;
    }
}

static void answer_done(struct nr_shim *shim, uint32_t output_b)
{
    uint8_t *to = shim->answer + DONE_FIXED_B;
    size_t room_b;
    nr_put_u16(shim->answer, (uint16_t)shim->backlog_used_b);
    nr_put_u16(shim->answer + 2, shim->marks);
    nr_put_u32(shim->answer + 4, output_b);
    for (uint16_t i = 0; i < shim->marks; i++) {
        to[0] = shim->mark_phase[i];
        nr_put_u64(to + 1, shim->mark_tick[i]);
        to += DONE_MARK_B;
    }
    room_b = sizeof shim->answer - (size_t)(to - shim->answer);
    if (output_b < room_b) {
        room_b = output_b;
    }
    memcpy(to, shim->memory.output, room_b);
    answer(shim, shim->job.seq, NR_DONE, (size_t)(to - shim->answer) + room_b);
}

/* Reads what came in the window, right after its last mark; it is looked at only after the answer. */
static void count_disturbance(struct nr_shim *shim)
{
    shim->backlog_next_b = 0;
    shim->backlog_used_b = shim->port->read(shim->port->context, shim->backlog, sizeof shim->backlog);
    if (shim->backlog_used_b != 0) {
        shim->last_byte_tick = now_tick(shim);
    }
}

static void open_window(struct nr_shim *shim)
{
    int code = 0;
    shim->guarding = false;
    shim->marks = 0;
    drain(shim);
    switch (shim->job.type) {
    case NR_RUN: code = run_phases(shim); break;
    case NR_IDLE: stay_idle(shim); break;
    default: send_sync_burst(shim); break;
    }
    count_disturbance(shim);
    if (shim->job.type == NR_RUN) {
        fetch_output(shim, code);
    }
    if (code != 0) {
        answer_error(shim, shim->job.seq, NR_E_WORKLOAD, (uint32_t)code, "the workload failed");
    } else {
        answer_done(shim, shim->job.type == NR_RUN ? shim->output_b : 0);
    }
}

/* ---- bytes and time ---- */

/* `name%` right behind a delimiter is no frame: type 0x61 does not exist. It leads out of a session nobody remembers. */
static bool is_escape(struct nr_shim *shim, uint8_t byte)
{
    if (byte == 0) {
        shim->escape_b = 0;
    } else if (shim->escape_b < sizeof escape_text - 1U && byte == (uint8_t)escape_text[shim->escape_b]) {
        shim->escape_b++;
    } else {
        shim->escape_b = ESCAPE_MISSED;
    }
    return shim->escape_b == sizeof escape_text - 1U;
}

static void escape(struct nr_shim *shim)
{
    shim->baud_on_trial = false;
    nr_frame_rx_drop(&shim->frame_rx);
    enter_text(shim);
    for (size_t i = 0; i < sizeof escape_text - 1U; i++) {
        text_byte(shim, (uint8_t)escape_text[i]);
    }
}

static void take_byte(struct nr_shim *shim, uint8_t byte)
{
    if (shim->layer == NR_LAYER_TEXT) {
        text_byte(shim, byte);
    } else if (is_escape(shim, byte)) {
        escape(shim);
    } else if (nr_frame_rx_byte(&shim->frame_rx, byte)) {
        on_frame(shim);
    }
}

static void drop_partial_frame(struct nr_shim *shim)
{
    nr_frame_rx_drop(&shim->frame_rx);
    shim->escape_b = 0;
}

static void return_to_old_baud(struct nr_shim *shim)
{
    shim->baud_on_trial = false;
    drain(shim);
    (void)shim->port->set_baud(shim->port->context, shim->baud_before);
    shim->baud = shim->baud_before;
    drop_partial_frame(shim);
}

/* Nothing had come up to `tick`: what has been waiting for silence is due. */
static void on_silence(struct nr_shim *shim, uint64_t tick)
{
    if (shim->layer == NR_LAYER_FRAMED && shim->frame_rx.started
        && passed(shim, shim->last_byte_tick, tick, (uint64_t)NR_PARTIAL_TIMEOUT_MS * 1000U)) {
        drop_partial_frame(shim);
    }
    if (shim->baud_on_trial && passed(shim, shim->baud_from_tick, tick, (uint64_t)NR_BAUD_TIMEOUT_MS * 1000U)) {
        return_to_old_baud(shim);
    }
    if (shim->guarding && !shim->frame_rx.started && passed(shim, shim->guard_from_tick, tick, shim->guard_us)) {
        open_window(shim);
        return;
    }
    shim->port->rest(shim->port->context);
}

void nr_shim_init(struct nr_shim *shim, const struct nr_port *port, const struct nr_workload *workload, const struct nr_memory *memory)
{
    memset(shim, 0, sizeof *shim);
    shim->port = port;
    shim->workload = workload;
    shim->memory = *memory;
    if (shim->memory.slot_count > NR_SLOTS_MAX) {
        shim->memory.slot_count = NR_SLOTS_MAX;
    }
    shim->baud = port->baud;
    shim->layer = NR_LAYER_TEXT;
    nr_text_rx_init(&shim->text_rx);
    nr_text_tx_init(&shim->text_tx, port->write, port->context);
    nr_frame_rx_init(&shim->frame_rx, shim->frame_rx_buffer, sizeof shim->frame_rx_buffer);
    nr_frame_tx_init(&shim->frame_tx, shim->frame_tx_buffer, sizeof shim->frame_tx_buffer, port->write, port->context);
    say(shim, "m-init-done");
    say_ready(shim);
}

void nr_shim_poll(struct nr_shim *shim)
{
    if (shim->backlog_next_b == shim->backlog_used_b) {
        /* The timer is read before the UART: only then does an empty UART prove silence up to that moment, however late we are. */
        uint64_t tick = now_tick(shim);
        shim->backlog_next_b = 0;
        shim->backlog_used_b = shim->port->read(shim->port->context, shim->backlog, sizeof shim->backlog);
        if (shim->backlog_used_b == 0) {
            on_silence(shim, tick);
            return;
        }
        shim->last_byte_tick = now_tick(shim);
    }
    while (shim->backlog_next_b != shim->backlog_used_b) {
        take_byte(shim, shim->backlog[shim->backlog_next_b++]);
    }
}
