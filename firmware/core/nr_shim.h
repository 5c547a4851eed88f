/* SPDX-License-Identifier: Apache-2.0 */
/* The shim: one state machine between a UART and a workload, as docs/reference/PROTOCOL.md
   specifies. All memory is the caller's: this struct, the slots and the output. Call init once,
   then poll for ever. */
#ifndef NR_SHIM_H
#define NR_SHIM_H

#include <stdbool.h>
#include <stdint.h>

#include "nr_frame.h"
#include "nr_port.h"
#include "nr_text.h"
#include "nr_wire.h"
#include "nr_workload.h"

#ifndef NR_FIRMWARE_VERSION
#define NR_FIRMWARE_VERSION "0.1.0"
#endif

/* Sizes that trade RAM for speed; a build may set them. About 2 * NR_MAX_PAYLOAD_B + 1 KiB of RAM
   in all. */
#ifndef NR_MAX_PAYLOAD_B
#define NR_MAX_PAYLOAD_B 256 /* 64 to 4096 */
#endif
#ifndef NR_WINDOW
/* 1 to 32 requests under way; the port's receive ring should hold as many frames */
#define NR_WINDOW 8
#endif
#ifndef NR_MARKS_MAX
/* 3 or more, and DONE must fit: 12 + 9 * NR_MARKS_MAX <= NR_MAX_PAYLOAD_B */
#define NR_MARKS_MAX 18
#endif
#ifndef NR_SLOTS_MAX
#define NR_SLOTS_MAX 4
#endif
#ifndef NR_STREAM_RECORDS
/* 1 to 255 answers of a stream that wait to be fetched; a power of 2 saves divisions */
#define NR_STREAM_RECORDS 4
#endif
#ifndef NR_BACKLOG_B
#define NR_BACKLOG_B 64 /* 1 to 65535; also the largest rx_in_window that can be counted */
#endif

/* Parts that a small device can do without: a build may set them to 0, and the linker
   (--gc-sections) then leaves them out. */
#ifndef NR_WITH_CLASSIC
/* 0: of the text layer `name` and `frame` alone, no session without frames */
#define NR_WITH_CLASSIC 1
#endif
#ifndef NR_WITH_SELF_TEST
#define NR_WITH_SELF_TEST 1 /* 0: no SELFTEST */
#endif
#ifndef NR_WITH_OPTIMIZE
#define NR_WITH_OPTIMIZE 1 /* 0: no OPTIMIZE */
#endif
#ifndef NR_WITH_STREAM
#define NR_WITH_STREAM 1 /* 0: no STREAM, no TAKE */
#endif
#ifndef NR_WITH_WORDS
/* 0: an ERROR carries code and detail alone; the host has words of its own for them */
#define NR_WITH_WORDS 1
#endif

/* Memory for inputs and outputs, static in most images. */
struct nr_memory {
    uint8_t *slots;      /* slot_count * workload->slot_bytes */
    uint16_t slot_count; /* 1 to NR_SLOTS_MAX; the text layer uses slot 0 */
    uint8_t *output;     /* workload->output_bytes, or so many for each slot; never NULL */
    /* size of `output`: where it holds an output for each slot, the device knows BATCH; 0: it does
       not. Where it holds NR_STREAM_RECORDS of them, and TAKEN one, it knows STREAM */
    uint32_t output_b;
};

enum nr_layer { NR_LAYER_TEXT, NR_LAYER_FRAMED };

enum nr_upload_state {
    NR_UPLOAD_NONE,
    NR_UPLOAD_OPEN /* of `slot`, which cannot be run meanwhile */
};

/* A signal that is played, or was. Windows are counted from 0. */
struct nr_stream {
    enum nr_stream_state state;
    uint16_t slot;         /* of window number `done` */
    uint16_t loading_slot; /* of window number `loaded` */
    uint32_t windows;
    uint32_t hop; /* this and `window`: in samples */
    uint32_t window;
    uint32_t sample_hz;
    uint32_t loaded;   /* windows that came in, */
    uint32_t done;     /* that were answered, */
    uint32_t first;    /* and whose answers were fetched */
    uint32_t output_b; /* length of each answer */
    /* windows that came in after their newest hop had begun; which of them by most, and by how
       much */
    uint32_t late;
    uint32_t worst_window;
    uint32_t worst_ticks;
    uint32_t code; /* of the workload that failed */
    uint32_t ms_ticks; /* in a millisecond */
    uint64_t start_tick;
    uint64_t end_tick;
    /* of window number `done`, and of the one that shares its slot: known before, as a window
       begins at once */
    uint64_t ready_tick;
    uint64_t overrun_tick;
    /* marks of the windows from `first` on; their outputs are in memory.output */
    uint64_t ticks[NR_STREAM_RECORDS][3];
};

/* Fields that are used often come first, large ones last: a Cortex-M0 reaches the first 32 bytes
   (words: the first 128) in one instruction, which saves 5 % of the flash. */
struct nr_shim {
    const struct nr_port *port;
    const struct nr_workload *workload;
    struct nr_memory memory;

    enum nr_layer layer;
    /* bytes of `name%` seen since the last delimiter; ESCAPE_MISSED after any other byte */
    uint8_t escape_b;

    /* Order: section 3. Bit i of `received` is set when number expected + 1 + i is there. */
    bool session;
    uint8_t expected;
    uint32_t nonce;
    uint32_t received;

    /* The last answer, kept for repetition; the last request is number expected - 1. Its bytes are
       in `answer`. */
    bool answer_valid;
    uint8_t answer_seq; /* set when the request is executed: all that is kept answers it */
    uint8_t answer_type;
    size_t answer_b;

    /* Inputs. */
    enum nr_upload_state upload;
    uint16_t upload_slot;
    uint32_t upload_crc;
    uint32_t upload_received_b;
    /* of the first so many bytes `upload_sum` is the CRC: a COMMIT must not hold up a stream */
    uint32_t upload_summed_b;
    uint32_t upload_sum;

    /* Outputs. */
    bool output_valid;
    uint32_t output_b;

    /* A RUN, BATCH, IDLE, SYNC or OPTIMIZE whose guard is running. */
    bool guarding;
    uint8_t guard_restarts;
    uint32_t guard_us;
    struct {
        uint8_t type;
        uint16_t slot;
        uint16_t hold_us;
        uint16_t batch_count;
        uint32_t repeat; /* RUN: repetitions; BATCH: rounds; SYNC: pulses; OPTIMIZE: seed */
        uint32_t time_us; /* IDLE: duration; SYNC: period; OPTIMIZE: time-out */
        uint16_t batch[NR_SLOTS_MAX]; /* BATCH: slots, in the order of the request */
    } job;
    uint64_t guard_from_tick;

    uint16_t marks; /* so many of mark_tick and mark_phase */
    uint32_t iterations; /* inferences of the window that were completed, counted one by one */

    /* Bytes that were read from the port into `backlog` and not yet processed. */
    size_t backlog_used_b;
    size_t backlog_next_b;
    uint64_t last_byte_tick;

    uint32_t slot_length_b[NR_SLOTS_MAX];
    bool slot_loaded[NR_SLOTS_MAX];

    /* A baud switch that no good frame has confirmed yet. */
    bool baud_on_trial;
    uint32_t baud;
    uint32_t baud_before;
    uint64_t baud_from_tick;

    /* For SELFTEST: received since the last one; of the dropped frames, how many there were
       then. */
    uint32_t rx_bytes;
    uint32_t rx_frames;
    uint32_t rx_dropped;

    struct nr_frame_rx frame_rx;
    struct nr_frame_tx frame_tx;
    struct nr_text_rx text_rx;
    struct nr_text_tx text_tx;

    /* Marks of the window; written between the edges, hence no packing. */
    uint64_t mark_tick[NR_MARKS_MAX];
    uint8_t mark_phase[NR_MARKS_MAX];

    struct nr_stream stream;

    /* The rest of an OPTIMIZE. */
    uint8_t threshold_count;
    int32_t target;
    int32_t thresholds[NR_MARKS_MAX - 2 < NR_THRESHOLDS_MAX ? NR_MARKS_MAX - 2 : NR_THRESHOLDS_MAX];
    /* so many thresholds of the last search were reached: when the device knew each, before its
       mark waited for SYNC */
    uint8_t known;
    uint64_t known_tick[!NR_WITH_OPTIMIZE                      ? 1
                        : NR_MARKS_MAX - 2 < NR_THRESHOLDS_MAX ? NR_MARKS_MAX - 2
                                                               : NR_THRESHOLDS_MAX];

    uint8_t answer[NR_MAX_PAYLOAD_B];
    uint8_t backlog[NR_BACKLOG_B];
    uint8_t frame_rx_buffer[NR_MAX_PAYLOAD_B + NR_FRAME_OVERHEAD_B];
    uint8_t frame_tx_buffer[NR_FRAME_TX_MIN_B + 32];
};

/* Sends the boot text. `port` and `workload` are kept, `memory` is copied. */
void nr_shim_init(struct nr_shim *shim, const struct nr_port *port,
                  const struct nr_workload *workload, const struct nr_memory *memory);

/* Processes received bytes and timers, and rests if there were none. A window (RUN, BATCH, IDLE,
   SYNC, OPTIMIZE, `infer`) runs inside one call. */
void nr_shim_poll(struct nr_shim *shim);

#endif
