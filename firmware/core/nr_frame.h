/* SPDX-License-Identifier: Apache-2.0 */
/* Frames: COBS (Cheshire & Baker 1999) around type, seq, payload and CRC-32;
   docs/reference/PROTOCOL.md, section 2. Both directions work byte by byte in memory of the caller,
   so that a frame never has to exist twice. */
#ifndef NR_FRAME_H
#define NR_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* CRC-32/ISO-HDLC as in zlib: start with 0, hand the result in again to go on. */
uint32_t nr_crc32(uint32_t crc, const uint8_t *bytes, size_t length_b);

/* Integers as they are on the wire, little-endian, at any alignment. */
uint16_t nr_get_u16(const uint8_t *from);
uint32_t nr_get_u32(const uint8_t *from);
void nr_put_u16(uint8_t *to, uint16_t value);
void nr_put_u32(uint8_t *to, uint32_t value);
void nr_put_u64(uint8_t *to, uint64_t value);

/* ---- receiving ---- */

struct nr_frame_rx {
    uint8_t *buffer; /* decoded bytes: type, seq, payload, CRC */
    size_t capacity_b;
    size_t length_b;
    uint8_t code;     /* last COBS code byte; a zero follows its run unless it is 0xFF */
    uint8_t left;     /* bytes still owed to the last code */
    bool started;     /* a byte came since the last delimiter */
    bool bad;         /* longer than the buffer: skip to the delimiter */
    uint32_t dropped; /* frames dropped since the start, for debugging */
};

/* `capacity_b` is max_payload + NR_FRAME_OVERHEAD_B: longer frames are dropped. */
void nr_frame_rx_init(struct nr_frame_rx *rx, uint8_t *buffer, size_t capacity_b);

/* Takes one byte from the line; true when it ended a good frame, which stays in the buffer until
   the next call. */
bool nr_frame_rx_byte(struct nr_frame_rx *rx, uint8_t byte);

/* Drops a partial frame, and counts it; the next byte is taken for the first after a delimiter. */
void nr_frame_rx_drop(struct nr_frame_rx *rx);

/* COBS alone: true at a delimiter that ends a non-empty, well-formed run; the decoded bytes are in
   the buffer. `nr_frame_rx_byte` is this and the check of length and CRC. */
bool nr_cobs_rx_byte(struct nr_frame_rx *rx, uint8_t byte);

static inline uint8_t nr_frame_type(const struct nr_frame_rx *rx) { return rx->buffer[0]; }
static inline uint8_t nr_frame_seq(const struct nr_frame_rx *rx) { return rx->buffer[1]; }
static inline const uint8_t *nr_frame_payload(const struct nr_frame_rx *rx)
{
    return rx->buffer + 2;
}
static inline size_t nr_frame_payload_b(const struct nr_frame_rx *rx) { return rx->length_b - 6U; }

/* ---- sending ---- */

/* The smallest buffer that can send any frame piecewise: one full COBS block of 255 bytes and both
   delimiters. */
enum { NR_FRAME_TX_MIN_B = 257 };

struct nr_frame_tx {
    uint8_t *buffer;
    size_t capacity_b;
    size_t used_b;
    size_t code_at;   /* where the code of the open block goes */
    bool overflow;    /* no `write`, and the buffer was too small */
    uint32_t crc;
    /* NULL: the whole frame stays in the buffer */
    void (*write)(void *context, const uint8_t *bytes, size_t length_b);
    void *context;
};

/* With `write`, the buffer has NR_FRAME_TX_MIN_B or more and is handed over whenever it fills; a
   frame that fits is one write. Without, encoded bytes are in `buffer`, `used_b` of them, and
   `overflow` says whether they are worthless. */
void nr_frame_tx_init(struct nr_frame_tx *tx, uint8_t *buffer, size_t capacity_b,
                      void (*write)(void *context, const uint8_t *bytes, size_t length_b),
                      void *context);
void nr_frame_tx_begin(struct nr_frame_tx *tx, uint8_t type, uint8_t seq);
void nr_frame_tx_put(struct nr_frame_tx *tx, const uint8_t *bytes, size_t length_b);
void nr_frame_tx_end(struct nr_frame_tx *tx);

/* COBS alone, with both delimiters and without CRC; the three above are these and the CRC. */
void nr_cobs_tx_begin(struct nr_frame_tx *tx);
void nr_cobs_tx_byte(struct nr_frame_tx *tx, uint8_t byte);
void nr_cobs_tx_end(struct nr_frame_tx *tx);

#endif
