/* SPDX-License-Identifier: Apache-2.0 */
/* The shim: one state machine between a UART and a workload; docs/PROTOCOL.md is what it does.
   All memory is the caller's: this struct, the slots and the output. Call init once, then poll for ever. */
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

/* Sizes that trade RAM for speed; a build may set them. About 2 * NR_MAX_PAYLOAD_B + 1 KiB of RAM in all. */
#ifndef NR_MAX_PAYLOAD_B
#define NR_MAX_PAYLOAD_B 256 /* 64 to 4096 */
#endif
#ifndef NR_WINDOW
#define NR_WINDOW 8 /* 1 to 32 requests under way; the port's receive ring should hold as many frames */
#endif
#ifndef NR_MARKS_MAX
#define NR_MARKS_MAX 16 /* 3 or more, and DONE must fit: 12 + 9 * NR_MARKS_MAX <= NR_MAX_PAYLOAD_B */
#endif
#ifndef NR_SLOTS_MAX
#define NR_SLOTS_MAX 4
#endif
#ifndef NR_BACKLOG_B
#define NR_BACKLOG_B 64 /* 1 to 65535; also the largest rx_in_window that can be counted */
#endif

/* Memory for inputs and outputs, static in most images. */
struct nr_memory {
    uint8_t *slots;      /* slot_count * workload->slot_bytes */
    uint16_t slot_count; /* 1 to NR_SLOTS_MAX; the text layer uses slot 0 */
    uint8_t *output;     /* workload->output_bytes, or so many for each slot; never NULL */
    uint32_t output_b;   /* size of `output`: where it holds an output for each slot, the device knows BATCH; 0: it does not */
};

enum nr_layer { NR_LAYER_TEXT, NR_LAYER_FRAMED };

enum nr_upload_state {
    NR_UPLOAD_NONE,
    NR_UPLOAD_OPEN /* of `slot`, which cannot be run meanwhile */
};

struct nr_shim {
    const struct nr_port *port;
    const struct nr_workload *workload;
    struct nr_memory memory;

    enum nr_layer layer;

    /* What has been read from the port and not yet looked at. */
    uint8_t backlog[NR_BACKLOG_B];
    size_t backlog_used_b;
    size_t backlog_next_b;
    uint64_t last_byte_tick;

    /* For SELFTEST: received since the last one; of the dropped frames, how many there were then. */
    uint32_t rx_bytes;
    uint32_t rx_frames;
    uint32_t rx_dropped;

    struct nr_text_rx text_rx;
    struct nr_text_tx text_tx;
    struct nr_frame_rx frame_rx;
    struct nr_frame_tx frame_tx;
    uint8_t frame_rx_buffer[NR_MAX_PAYLOAD_B + NR_FRAME_OVERHEAD_B];
    uint8_t frame_tx_buffer[NR_FRAME_TX_MIN_B + 32];
    uint8_t escape_b; /* bytes of `name%` seen since the last delimiter; ESCAPE_MISSED after any other byte */

    /* Order: section 3. Bit i of `received` is set when number expected + 1 + i is there. */
    bool session;
    uint32_t nonce;
    uint8_t expected;
    uint32_t received;

    /* The last answer, kept for repetition; the last request is number expected - 1. */
    bool answer_valid;
    uint8_t answer_seq;
    uint8_t answer_type;
    size_t answer_b;
    uint8_t answer[NR_MAX_PAYLOAD_B];

    /* Inputs. */
    enum nr_upload_state upload;
    uint16_t upload_slot;
    uint32_t upload_crc;
    uint32_t upload_received_b;
    uint32_t slot_length_b[NR_SLOTS_MAX];
    bool slot_loaded[NR_SLOTS_MAX];

    /* Outputs. */
    bool output_valid;
    uint32_t output_b;

    /* A RUN, BATCH, IDLE or SYNC whose guard is running. */
    bool guarding;
    uint8_t guard_restarts;
    uint64_t guard_from_tick;
    uint32_t guard_us;
    struct {
        uint8_t type;
        uint8_t seq;
        uint16_t slot;
        uint16_t hold_us;
        uint32_t repeat; /* RUN: repetitions; BATCH: rounds; SYNC: pulses */
        uint32_t time_us; /* IDLE: duration; SYNC: period */
        uint16_t batch[NR_SLOTS_MAX]; /* BATCH: slots, in the order of the request */
        uint16_t batch_count;
    } job;

    /* Marks of the window; written between the edges, hence no packing. */
    uint64_t mark_tick[NR_MARKS_MAX];
    uint8_t mark_phase[NR_MARKS_MAX];
    uint16_t marks;
    uint32_t iterations; /* inferences of the window that were completed, counted one by one */

    /* A baud switch that no good frame has confirmed yet. */
    bool baud_on_trial;
    uint32_t baud;
    uint32_t baud_before;
    uint64_t baud_from_tick;
};

/* Sends the boot text. `port` and `workload` are kept, `memory` is copied. */
void nr_shim_init(struct nr_shim *shim, const struct nr_port *port, const struct nr_workload *workload, const struct nr_memory *memory);

/* Looks at what came, does what is due, and rests when there was nothing. A window (RUN, BATCH, IDLE, SYNC, `infer`) runs inside one call. */
void nr_shim_poll(struct nr_shim *shim);

#endif
