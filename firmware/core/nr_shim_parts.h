/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations shared by the files of the shim; users need nr_shim.h alone. All work on the
   caller's struct nr_shim. */
#ifndef NR_SHIM_PARTS_H
#define NR_SHIM_PARTS_H

#include "nr_shim.h"

/* ---- nr_time.c ---- */

/* The port's time, in ticks. */
uint64_t nr_now_tick(const struct nr_shim *shim);

/* Returns when the last bit handed to the port has left the UART; what text_tx still holds must be
   flushed before. */
void nr_drain(const struct nr_shim *shim);

/* Both round down, and overflow only where their result does not fit. */
uint64_t nr_us_to_ticks(const struct nr_shim *shim, uint64_t duration_us);
uint64_t nr_ticks_to_us(const struct nr_shim *shim, uint64_t ticks);

/* ---- nr_capabilities.c ---- */

/* True where the workload infers, and each answer depends on its own input alone. */
bool nr_knows_run(const struct nr_shim *shim);

/* True where the output memory takes an output of each slot. */
bool nr_knows_batch(const struct nr_shim *shim);

/* True where the workload is a search. */
bool nr_knows_optimize(const struct nr_shim *shim);

/* True where there is room for the answers of a stream, and TAKEN takes one. */
bool nr_knows_stream(const struct nr_shim *shim);

/* ---- nr_layers.c ---- */

/* Returns to the text layer silently, and forgets session, guard and upload. */
void nr_text_layer_enter(struct nr_shim *shim);

/* Goes to the framed layer, without a session until a HELLO. */
void nr_framed_layer_enter(struct nr_shim *shim);

/* ---- nr_text_layer.c ---- */

/* Sends the boot text. */
void nr_text_layer_boot(struct nr_shim *shim);

/* Takes a byte; the last one of a command executes it and sends its answer. */
void nr_text_layer_byte(struct nr_shim *shim, uint8_t byte);

/* ---- nr_text_classic.c, nr_text_minimal.c ---- */

/* Execute the command in text_rx and send its answer, up to `m-ready`; NR_WITH_CLASSIC chooses one
   of them. */
void nr_text_classic(struct nr_shim *shim);
void nr_text_minimal(struct nr_shim *shim);

/* ---- nr_framed_layer.c: session and order ---- */

/* Takes a byte; the last one of a frame has it dealt with. */
void nr_framed_layer_byte(struct nr_shim *shim, uint8_t byte);

/* Forgets the bytes since the last delimiter. */
void nr_framed_layer_drop_partial(struct nr_shim *shim);

/* ---- nr_answers.c ---- */

/* Keeps and sends an answer to the request being executed, of `length_b` bytes, which the caller
   has put into `shim->answer`. */
void nr_answer(struct nr_shim *shim, uint8_t type, size_t length_b);

/* Keeps and sends STATUS. */
void nr_answer_status(struct nr_shim *shim);

/* Keeps and sends ERROR; `text` is for people, and cut where it is too long. Without words no text
   is left in the image. */
void nr_answer_code(struct nr_shim *shim, uint8_t code, uint32_t detail);
void nr_answer_words(struct nr_shim *shim, uint8_t code, uint32_t detail, const char *text);
static inline void nr_answer_error(struct nr_shim *shim, uint8_t code, uint32_t detail,
                                   const char *text)
{
    if (NR_WITH_WORDS) {
        nr_answer_words(shim, code, detail, text);
    } else {
        nr_answer_code(shim, code, detail);
    }
}

/* Sends the kept answer again. */
void nr_answer_again(struct nr_shim *shim);

/* These are built on the fly: they must not overwrite the answer that is kept. A refused HELLO is
   an ERROR without a text. */
void nr_send_ack(struct nr_shim *shim);
void nr_send_caps(struct nr_shim *shim, uint8_t seq);
void nr_refuse_hello(struct nr_shim *shim, uint8_t seq, uint8_t code, uint32_t detail);

/* ---- nr_checks.c ---- */

/* True where a slot can be run, else answered. */
bool nr_can_run(struct nr_shim *shim, uint16_t slot);

/* ---- nr_requests.c ---- */

/* Executes the request in the receive buffer; it is in order and has not been executed before. */
void nr_request_execute(struct nr_shim *shim);

/* ---- nr_optimize.c ---- */

/* Answers an OPTIMIZE as nr_guard_accept does. */
void nr_optimize_request(struct nr_shim *shim, const uint8_t *payload, size_t payload_b);

/* Does its timed part, with its marks, and counts it as one iteration; returns 0 or the workload's
   code. */
int nr_optimize_window(struct nr_shim *shim);

/* Answers a KNEW: the ticks of the last search's thresholds, from number `first` on. */
void nr_optimize_knew(struct nr_shim *shim, uint8_t first);

/* ---- nr_stream.c ---- */

/* Marks of each window. */
static inline uint8_t nr_stream_marks(const struct nr_shim *shim)
{
    return shim->workload->phases < 2 ? 2 : 3;
}

/* Answers a STREAM, and starts it. */
void nr_stream_start(struct nr_shim *shim, const uint8_t *payload);

/* Answers a TAKE. */
void nr_stream_take(struct nr_shim *shim, uint32_t next);

/* True while a stream is played; what follows but nr_stream_stop is only for then. */
static inline bool nr_stream_plays(const struct nr_shim *shim)
{
    return NR_WITH_STREAM && shim->stream.state == NR_STREAM_PLAYING;
}

/* Ends the stream with its last mark. */
void nr_stream_end(struct nr_shim *shim, enum nr_stream_state state);

/* Ends the stream, if any, and forgets its answers. */
static inline void nr_stream_stop(struct nr_shim *shim)
{
    if (nr_stream_plays(shim)) {
        nr_stream_end(shim, NR_STREAM_NONE);
    }
    shim->stream.state = NR_STREAM_NONE;
}

/* Processes the next window when its time has come; ends a stream that cannot continue. */
void nr_stream_step(struct nr_shim *shim);

/* Rests for some milliseconds at most; right before a window it returns at once. */
void nr_stream_rest(const struct nr_shim *shim);

/* True where a request may be executed meanwhile. */
bool nr_stream_allows(uint8_t type);

/* True where a slot may be filled: only that of the next window may, once it was played. */
bool nr_stream_allows_load(const struct nr_shim *shim, uint16_t slot);

/* Takes note that this slot was filled. */
void nr_stream_on_loaded(struct nr_shim *shim);

/* ---- nr_self_test.c ---- */

/* Answers SELFTEST by REPORT; pulses SYNC 26 times. */
void nr_self_test(struct nr_shim *shim, uint16_t reads, uint16_t repeat);

/* ---- nr_marks.c: timed phases ---- */

/* Marks the start of `phase` with a pulse of job.hold_us. Marks after number NR_MARKS_MAX are made,
   but not noted. */
void nr_mark(struct nr_shim *shim, uint8_t phase);

/* Phase that infer is marked with: the first one where the workload times no other. */
uint8_t nr_phase_of_infer(const struct nr_shim *shim);

/* Call the workload `repeat` times, or until it fails; return 0 or its code. */
int nr_preprocess(struct nr_shim *shim, uint16_t slot, uint32_t repeat);
int nr_infer(struct nr_shim *shim, uint32_t repeat);

/* Does a RUN's timed part: the marks, and between them each phase job.repeat times; returns 0 or
   the workload's code. */
int nr_run_phases(struct nr_shim *shim);

/* Takes the workload's output after an infer that returned `code`; after a failed one there is
   none. */
void nr_fetch_output(struct nr_shim *shim, int code);

/* ---- nr_guard.c ---- */

/* Answers a RUN, BATCH, IDLE, SYNC or OPTIMIZE, whose own fields the caller has put into `job`: ACK
   and the start of its guard, or ERROR. */
void nr_guard_accept(struct nr_shim *shim, uint8_t type, uint32_t guard_us, uint16_t hold_us);

/* Handles a frame that came while the guard runs: the same job is answered, and restarts the guard;
   a GO of its number ends it. */
void nr_guard_frame(struct nr_shim *shim);

/* ---- nr_window.c ---- */

/* The guard has passed: does the job, which takes as long as it takes, and answers DONE or
   ERROR. */
void nr_window_open(struct nr_shim *shim);

/* ---- nr_input.c: slots and uploads ---- */

/* Memory of a slot; the caller has checked the number. */
uint8_t *nr_slot_memory(const struct nr_shim *shim, uint16_t slot);

/* Opens a checked slot for `length_b` bytes, at most slot_bytes; it is not loaded until finished.
   Drops the upload before. */
void nr_upload_open(struct nr_shim *shim, uint16_t slot, uint32_t length_b, uint32_t crc);

/* Ends the upload, if any; its slot stays not loaded. */
void nr_upload_drop(struct nr_shim *shim);

/* True when the receive buffer, a DATA, can be stored: it has bytes, and all lie inside the open
   slot. */
bool nr_upload_fits(const struct nr_shim *shim);

/* Stores that DATA. Once for each number: the bytes are counted. */
void nr_upload_store(struct nr_shim *shim);

/* The CRC of all bytes of the open slot. */
uint32_t nr_upload_crc(const struct nr_shim *shim);

/* Ends an upload whose bytes are all there; returns the workload's verdict, 0 or its code. */
int nr_upload_finish(struct nr_shim *shim);

#endif
