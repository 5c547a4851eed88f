/* SPDX-License-Identifier: Apache-2.0 */
#include "nr_frame.h"

#include <string.h>

#include "nr_wire.h"

/* Sixteen entries: a full table costs 1 KiB of flash and is no faster at UART speed. */
static const uint32_t crc_of_nibble[16] = {
    0x00000000U, 0x1DB71064U, 0x3B6E20C8U, 0x26D930ACU,
    0x76DC4190U, 0x6B6B51F4U, 0x4DB26158U, 0x5005713CU,
    0xEDB88320U, 0xF00F9344U, 0xD6D6A3E8U, 0xCB61B38CU,
    0x9B64C2B0U, 0x86D3D2D4U, 0xA00AE278U, 0xBDBDF21CU,
};

uint32_t nr_crc32(uint32_t crc, const uint8_t *bytes, size_t length_b)
{
    crc = ~crc;
    for (size_t i = 0; i < length_b; i++) {
        crc ^= bytes[i];
        crc = (crc >> 4) ^ crc_of_nibble[crc & 15U];
        crc = (crc >> 4) ^ crc_of_nibble[crc & 15U];
    }
    return ~crc;
}

uint16_t nr_get_u16(const uint8_t *from) { return (uint16_t)(from[0] | (unsigned)from[1] << 8); }

uint32_t nr_get_u32(const uint8_t *from)
{
    return nr_get_u16(from) | ((uint32_t)nr_get_u16(from + 2) << 16);
}

void nr_put_u16(uint8_t *to, uint16_t value)
{
    to[0] = (uint8_t)(value & 0xFFU);
    to[1] = (uint8_t)(value >> 8);
}

void nr_put_u32(uint8_t *to, uint32_t value)
{
    nr_put_u16(to, (uint16_t)(value & 0xFFFFU));
    nr_put_u16(to + 2, (uint16_t)(value >> 16));
}

void nr_put_u64(uint8_t *to, uint64_t value)
{
    nr_put_u32(to, (uint32_t)(value & 0xFFFFFFFFU));
    nr_put_u32(to + 4, (uint32_t)(value >> 32));
}

/* ---- receiving ---- */

static void rx_restart(struct nr_frame_rx *rx)
{
    rx->code = 0xFF; /* no zero stands before the first block */
    rx->left = 0;
    rx->started = false;
    rx->bad = false;
}

void nr_frame_rx_init(struct nr_frame_rx *rx, uint8_t *buffer, size_t capacity_b)
{
    rx->buffer = buffer;
    rx->capacity_b = capacity_b;
    rx->length_b = 0;
    rx->dropped = 0;
    rx_restart(rx);
}

void nr_frame_rx_drop(struct nr_frame_rx *rx)
{
    if (rx->started) {
        rx->dropped++;
    }
    rx->length_b = 0;
    rx_restart(rx);
}

static void rx_append(struct nr_frame_rx *rx, uint8_t byte)
{
    if (rx->length_b == rx->capacity_b) {
        rx->bad = true;
        return;
    }
    rx->buffer[rx->length_b++] = byte;
}

static bool rx_delimiter(struct nr_frame_rx *rx)
{
    if (!rx->started) {
        return false;
    }
    if (rx->bad || rx->left != 0) {
        nr_frame_rx_drop(rx);
        return false;
    }
    rx_restart(rx);
    return true;
}

bool nr_cobs_rx_byte(struct nr_frame_rx *rx, uint8_t byte)
{
    if (byte == 0) {
        return rx_delimiter(rx);
    }
    if (!rx->started) {
        rx->started = true;
        rx->length_b = 0;
    }
    if (rx->left != 0) {
        rx->left--;
        rx_append(rx, byte);
        return false;
    }
    if (rx->code != 0xFF) {
        rx_append(rx, 0);
    }
    rx->code = byte;
    rx->left = (uint8_t)(byte - 1U);
    return false;
}

bool nr_frame_rx_byte(struct nr_frame_rx *rx, uint8_t byte)
{
    if (!nr_cobs_rx_byte(rx, byte)) {
        return false;
    }
    if (rx->length_b >= NR_FRAME_OVERHEAD_B) {
        size_t body_b = rx->length_b - 4U;
        if (nr_crc32(0, rx->buffer, body_b) == nr_get_u32(rx->buffer + body_b)) {
            return true;
        }
    }
    rx->dropped++;
    rx->length_b = 0;
    return false;
}

/* ---- sending ---- */

void nr_frame_tx_init(struct nr_frame_tx *tx, uint8_t *buffer, size_t capacity_b,
                      void (*write)(void *context, const uint8_t *bytes, size_t length_b),
                      void *context)
{
    tx->buffer = buffer;
    tx->capacity_b = capacity_b;
    tx->used_b = 0;
    tx->code_at = 0;
    tx->overflow = false;
    tx->crc = 0;
    tx->write = write;
    tx->context = context;
}

/* Hands over all closed blocks and moves the open one to the front. */
static void tx_flush(struct nr_frame_tx *tx)
{
    if (tx->write == NULL || tx->code_at == 0) {
        return;
    }
    tx->write(tx->context, tx->buffer, tx->code_at);
    memmove(tx->buffer, tx->buffer + tx->code_at, tx->used_b - tx->code_at);
    tx->used_b -= tx->code_at;
    tx->code_at = 0;
}

static void tx_append(struct nr_frame_tx *tx, uint8_t byte)
{
    if (tx->used_b == tx->capacity_b) {
        tx_flush(tx);
    }
    if (tx->used_b == tx->capacity_b) {
        tx->overflow = true;
        return;
    }
    tx->buffer[tx->used_b++] = byte;
}

static void tx_open_block(struct nr_frame_tx *tx)
{
    /* first, as a flush removes the bytes up to code_at */
    if (tx->used_b == tx->capacity_b) {
        tx->code_at = tx->used_b;
        tx_flush(tx);
    }
    tx->code_at = tx->used_b;
    tx_append(tx, 0); /* the code, written when the block is closed */
}

static void tx_close_block(struct nr_frame_tx *tx)
{
    if (!tx->overflow) {
        tx->buffer[tx->code_at] = (uint8_t)(tx->used_b - tx->code_at);
    }
}

void nr_cobs_tx_begin(struct nr_frame_tx *tx)
{
    tx->used_b = 0;
    tx->code_at = 0;
    tx->overflow = false;
    tx_append(tx, 0);
    tx_open_block(tx);
}

void nr_cobs_tx_byte(struct nr_frame_tx *tx, uint8_t byte)
{
    /* opened only when a byte follows, so that no empty block ends a frame */
    if (tx->used_b - tx->code_at == 0xFFU) {
        tx_close_block(tx);
        tx_open_block(tx);
    }
    if (byte == 0) {
        tx_close_block(tx);
        tx_open_block(tx);
        return;
    }
    tx_append(tx, byte);
}

void nr_cobs_tx_end(struct nr_frame_tx *tx)
{
    tx_close_block(tx);
    tx_open_block(tx); /* its place is the closing delimiter */
    if (tx->write != NULL && !tx->overflow) {
        tx->write(tx->context, tx->buffer, tx->used_b);
        tx->used_b = 0;
        tx->code_at = 0;
    }
}

void nr_frame_tx_begin(struct nr_frame_tx *tx, uint8_t type, uint8_t seq)
{
    const uint8_t head[2] = {type, seq};
    nr_cobs_tx_begin(tx);
    tx->crc = 0;
    nr_frame_tx_put(tx, head, sizeof head);
}

void nr_frame_tx_put(struct nr_frame_tx *tx, const uint8_t *bytes, size_t length_b)
{
    tx->crc = nr_crc32(tx->crc, bytes, length_b);
    for (size_t i = 0; i < length_b; i++) {
        nr_cobs_tx_byte(tx, bytes[i]);
    }
}

void nr_frame_tx_end(struct nr_frame_tx *tx)
{
    uint8_t crc[4];
    nr_put_u32(crc, tx->crc);
    for (size_t i = 0; i < sizeof crc; i++) {
        nr_cobs_tx_byte(tx, crc[i]);
    }
    nr_cobs_tx_end(tx);
}
