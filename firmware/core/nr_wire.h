/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers on the wire: docs/reference/PROTOCOL.md, sections 2 to 4.
   Made by wire_header.py from sut_backends/shim/messages: change them there. */
#ifndef NR_WIRE_H
#define NR_WIRE_H

enum {
    NR_PROTOCOL = 1,
    NR_US_PER_S = 1000000,
    NR_FRAME_OVERHEAD_B = 6,     /* type, seq, crc32 */
    NR_CAPS_MAX_B = 256,
    NR_PARTIAL_TIMEOUT_MS = 100, /* a partial frame is dropped after this silence */
    NR_BAUD_TIMEOUT_MS = 500,    /* without a good frame the old rate returns */
    NR_TEXT_COMMAND_MAX = 80,
    NR_TEXT_HOLD_US = 50,        /* SYNC pulse of fixed length, which slow monitors see too */
    NR_GUARD_RESTARTS_MAX = 8,
    NR_THRESHOLDS_MAX = 16       /* of OPTIMIZE, where as many marks and two more are kept */
};

enum nr_message {
    NR_HELLO = 0x01,
    NR_PING = 0x02,
    NR_BAUD = 0x03,
    NR_TEXT = 0x04,
    NR_SELFTEST = 0x05,
    NR_LOAD = 0x10,
    NR_DATA = 0x11,
    NR_COMMIT = 0x12,
    NR_RUN = 0x20,
    NR_IDLE = 0x21,
    NR_SYNC = 0x22,
    NR_RESULT = 0x23,
    NR_BATCH = 0x24,
    NR_GO = 0x25,
    NR_STREAM = 0x30,
    NR_TAKE = 0x31,
    NR_OPTIMIZE = 0x40,
    NR_KNEW = 0x41,
    NR_ACK = 0x80,
    NR_CAPS = 0x81,
    NR_PONG = 0x82,
    NR_STATUS = 0x83,
    NR_REPORT = 0x84,
    NR_DONE = 0x90,
    NR_CHUNK = 0x91,
    NR_TAKEN = 0x92,
    NR_KNOWN = 0x93,
    NR_ERROR = 0xFF
};

/* Lengths of payloads; FIXED_B where a tail may follow. */
enum nr_payload {
    NR_HELLO_B = 5,
    NR_BAUD_B = 4,
    NR_SELFTEST_B = 4,
    NR_LOAD_B = 10,
    NR_DATA_FIXED_B = 4,
    NR_COMMIT_B = 2,
    NR_RUN_B = 12,
    NR_IDLE_B = 10,
    NR_SYNC_B = 11,
    NR_RESULT_B = 4,
    NR_BATCH_FIXED_B = 10,
    NR_STREAM_B = 18,
    NR_TAKE_B = 4,
    NR_OPTIMIZE_FIXED_B = 20,
    NR_KNEW_B = 1,
    NR_ACK_B = 4,
    NR_CAPS_FIXED_B = 28,
    NR_REPORT_B = 55,
    NR_DONE_FIXED_B = 12,
    NR_CHUNK_FIXED_B = 4,
    NR_TAKEN_FIXED_B = 43,
    NR_KNOWN_FIXED_B = 2,
    NR_ERROR_FIXED_B = 5,
    NR_DONE_MARK_B = 9,
    NR_TICK_B = 8
};

enum nr_phase {
    NR_PHASE_END = 0x00,
    NR_PHASE_PREPROCESS = 0x01,
    NR_PHASE_INFER = 0x02,
    NR_PHASE_BATCH = 0x03,
    NR_PHASE_STREAM = 0x20,
    NR_PHASE_DECIDED = 0x21,
    NR_PHASE_IDLE = 0x40,
    NR_PHASE_SYNC = 0x50,
    NR_PHASE_REACHED = 0x60 /* of a search, and threshold 0; the others follow */
};

enum nr_error {
    NR_E_TYPE = 1,
    NR_E_LENGTH = 2,
    NR_E_SLOT = 3,
    NR_E_TOO_LARGE = 4,
    NR_E_NOT_LOADED = 5,
    NR_E_CRC = 6,
    NR_E_WORKLOAD = 7,
    NR_E_ARGUMENT = 8,
    NR_E_UNSUPPORTED = 9
};

enum nr_stream_state {
    NR_STREAM_NONE = 0,
    NR_STREAM_PLAYING = 1,
    NR_STREAM_FINISHED = 2,
    NR_STREAM_STARVED = 3,
    NR_STREAM_OVERRUN = 4,
    NR_STREAM_FAILED = 5
};

enum nr_caps_flag {
    NR_CAP_BAUD = 1,
    NR_CAP_SYNC_LINE = 2,
    NR_CAP_MARK_NONBLOCKING = 4,
    NR_CAP_BATCH = 8,
    NR_CAP_OPTIMIZE = 16,
    NR_CAP_STREAM = 32,
    NR_CAP_NO_SELF_TEST = 64, /* inverted: older firmware has a self-test and sets no bit */
    NR_CAP_NO_CLASSIC = 128
};

/* In a byte after the strings of CAPS, which older firmware does not send and older hosts do not
   read. */
enum nr_caps_more {
    NR_MORE_KNEW = 1,
    NR_MORE_SIMULATED = 2,
    NR_MORE_GO = 4,
    NR_MORE_STATEFUL = 8
};

#endif
