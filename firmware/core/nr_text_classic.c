/* SPDX-License-Identifier: Apache-2.0 */
/* All commands of the text layer: docs/reference/PROTOCOL.md, section 1. Their words and numbers
   are taken apart in nr_text.c. */
#include "nr_shim_parts.h"

/* ---- lines ---- */

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

/* ---- commands ---- */

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
    if (shim->workload->start != NULL) {
        say(shim, "m-help-start_uart_stream");
        say(shim, "m-help-extract_uart_stream");
    }
    say(shim, "m-help-help");
    say(shim, "m-help-frame V");
}

static uint16_t text_hold_us(const struct nr_shim *shim)
{
    return shim->port->hold_min_us > NR_TEXT_HOLD_US ? shim->port->hold_min_us
                                                     : (uint16_t)NR_TEXT_HOLD_US;
}

static void text_timestamp(struct nr_shim *shim)
{
    nr_text_flush(&shim->text_tx); /* earlier answers, which may still be on their way */
    nr_drain(shim);
    shim->marks = 0;
    shim->job.hold_us = text_hold_us(shim);
    nr_mark(shim, NR_PHASE_END);
    say_number(shim, "m-lap-us-", nr_ticks_to_us(shim, shim->mark_tick[0]), "");
}

static void text_db_load(struct nr_shim *shim, uint32_t length_b)
{
    /* The old input is dropped first: after a refused load it must not be run by mistake. */
    nr_upload_drop(shim);
    shim->slot_loaded[0] = false;
    if (length_b == 0) {
        say(shim, "e-[db load needs 1 byte or more]");
    } else if (length_b > shim->workload->slot_bytes) {
        say_number(shim, "e-[db load takes at most ", shim->workload->slot_bytes, " bytes]");
    } else {
        nr_upload_open(shim, 0, length_b, 0);
        say_number(shim, "m-[Expecting ", length_b, " bytes]");
    }
}

/* Stores hex digits; returns an error message, or NULL. */
static const char *store_hex(struct nr_shim *shim, const uint8_t *hex, size_t hex_b)
{
    uint8_t *to = nr_slot_memory(shim, 0) + shim->upload_received_b;
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
        nr_upload_drop(shim);
        say(shim, problem);
    } else if (shim->upload_received_b == shim->slot_length_b[0]) {
        int code = nr_upload_finish(shim);
        if (code == NR_LOAD_TOO_LARGE) {
            say_number(shim, "e-[this input needs more than the workload's ",
                       shim->workload->memory_bytes, " bytes]");
        } else if (code != 0) {
            say_number(shim, "e-[the workload refuses this input, code ", (uint64_t)code, "]");
        } else {
            say(shim, "m-load-done");
        }
    }
}

/* Says why there is no `infer`. */
static void text_no_infer(struct nr_shim *shim)
{
    say(shim, shim->workload->infer == NULL
                  ? "e-[this workload knows OPTIMIZE only, in frames]"
                  : "e-[this workload knows STREAM only, in frames]");
}

static void text_results(struct nr_shim *shim)
{
    if (!nr_knows_run(shim)) {
        text_no_infer(shim);
        return;
    }
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
    nr_drain(shim);
    shim->marks = 0;
    shim->job.hold_us = text_hold_us(shim);
    nr_mark(shim, nr_phase_of_infer(shim));
    code = nr_infer(shim, repeat);
    nr_mark(shim, NR_PHASE_END);
    return code;
}

static int text_infer_parts(struct nr_shim *shim, uint32_t repeat, uint32_t warmups)
{
    int code = nr_preprocess(shim, 0, 1);
    if (code != 0) {
        return code;
    }
    say_number(shim, "m-warmup-start-", warmups, "");
    code = nr_infer(shim, warmups);
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
    if (!nr_knows_run(shim)) {
        text_no_infer(shim);
        return;
    }
    if (!shim->slot_loaded[0]) {
        say(shim, "e-[no input is loaded]");
        return;
    }
    code = text_infer_parts(shim, repeat, warmups);
    nr_fetch_output(shim, code);
    if (code != 0) {
        say_number(shim, "e-[the workload failed, code ", (uint64_t)code, "]");
        return;
    }
    say_number(shim, "m-lap-us-", nr_ticks_to_us(shim, shim->mark_tick[0]), "");
    say_number(shim, "m-lap-us-", nr_ticks_to_us(shim, shim->mark_tick[1]), "");
    say(shim, "m-infer-done");
    text_results(shim);
}

/* True where the workload answers for windows that follow each other, else said. */
static bool text_streams(struct nr_shim *shim)
{
    if (shim->workload->start == NULL || shim->workload->infer == NULL) {
        say(shim, "e-[this workload is no stream's]");
        return false;
    }
    return true;
}

static void text_start_stream(struct nr_shim *shim)
{
    int code;
    if (!text_streams(shim)) {
        return;
    }
    code = shim->workload->start(shim->workload->state);
    if (code != 0) {
        say_number(shim, "e-[the workload failed, code ", (uint64_t)code, "]");
        return;
    }
    say(shim, "m-stream-started");
}

static void say_bytes(struct nr_shim *shim, const char *before, const int8_t *numbers, size_t count)
{
    nr_text_put(&shim->text_tx, before);
    nr_text_put_bytes(&shim->text_tx, numbers, count);
    say(shim, "]");
}

/* Takes what slot 0 holds for the next window of a stream. */
static void text_extract(struct nr_shim *shim)
{
    const struct nr_workload *workload = shim->workload;
    int code;
    if (!text_streams(shim)) {
        return;
    }
    if (!shim->slot_loaded[0]) {
        say(shim, "e-[no input is loaded]");
        return;
    }
    shim->slot_loaded[0] = false; /* a window is taken once, also one that fails on the way */
    code = nr_preprocess(shim, 0, 1);
    if (code == 0) {
        code = nr_infer(shim, 1);
    }
    nr_fetch_output(shim, code);
    if (code != 0) {
        say_number(shim, "e-[the workload failed, code ", (uint64_t)code, "]");
        return;
    }
    if (workload->features != NULL) {
        uint32_t count = 0;
        const int8_t *features = workload->features(workload->state, &count);
        say_bytes(shim, "m-features-[", features, count);
    }
    say_bytes(shim, "m-activations-[", (const int8_t *)shim->memory.output, shim->output_b);
}

static void text_frame(struct nr_shim *shim, uint32_t version)
{
    if (version != NR_PROTOCOL) {
        say_number(shim, "e-[frame takes version ", NR_PROTOCOL, "]");
        return;
    }
    say_number(shim, "m-frame-[", NR_PROTOCOL, "]");
    nr_framed_layer_enter(shim);
}

static void execute(struct nr_shim *shim, const struct nr_command *command)
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
    case NR_COMMAND_START_STREAM: text_start_stream(shim); break;
    case NR_COMMAND_EXTRACT: text_extract(shim); break;
    }
}

void nr_text_classic(struct nr_shim *shim)
{
    struct nr_command command;
    nr_text_parse(&shim->text_rx, &command);
    execute(shim, &command);
}
