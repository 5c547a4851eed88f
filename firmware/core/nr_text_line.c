/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the text layer, as they come and go. */
#include "nr_text.h"

/* ---- receiving ---- */

void nr_text_rx_init(struct nr_text_rx *rx)
{
    rx->length_b = 0;
    rx->overflow = false;
}

bool nr_text_rx_byte(struct nr_text_rx *rx, uint8_t byte)
{
    if (byte == '%') {
        return true;
    }
    /* no text holds a zero: a stray frame, whose bytes must not spoil the next command */
    if (byte == 0) {
        nr_text_rx_init(rx);
        return false;
    }
    if ((byte == '\r' || byte == '\n') && rx->length_b == 0) {
        return false;
    }
    if (rx->length_b == NR_TEXT_COMMAND_MAX) {
        rx->overflow = true;
        return false;
    }
    rx->line[rx->length_b++] = byte;
    return false;
}

/* ---- sending ---- */

void nr_text_tx_init(struct nr_text_tx *tx,
                     void (*write)(void *context, const uint8_t *bytes, size_t length_b),
                     void *context)
{
    tx->used_b = 0;
    tx->write = write;
    tx->context = context;
}

void nr_text_flush(struct nr_text_tx *tx)
{
    if (tx->used_b != 0) {
        tx->write(tx->context, tx->buffer, tx->used_b);
        tx->used_b = 0;
    }
}

void nr_text_put_char(struct nr_text_tx *tx, char character)
{
    if (tx->used_b == sizeof tx->buffer) {
        nr_text_flush(tx);
    }
    tx->buffer[tx->used_b++] = (uint8_t)character;
}

void nr_text_put(struct nr_text_tx *tx, const char *text)
{
    for (; *text != '\0'; text++) {
        nr_text_put_char(tx, *text);
    }
}
