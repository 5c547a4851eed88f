/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of the framed layer: the one that is kept for repetition, and those built on the fly. */
#include "nr_shim_parts.h"

#include <string.h>

enum { CAPS_STRINGS = 6, CAPS_MORE_B = 1, ERROR_TEXT_MAX_B = 40 };

static void send(struct nr_shim *shim, uint8_t type, uint8_t seq, const uint8_t *payload,
                 size_t length_b)
{
    nr_frame_tx_begin(&shim->frame_tx, type, seq);
    nr_frame_tx_put(&shim->frame_tx, payload, length_b);
    nr_frame_tx_end(&shim->frame_tx);
}

/* ---- kept ---- */

void nr_answer_again(struct nr_shim *shim)
{
    send(shim, shim->answer_type, shim->answer_seq, shim->answer, shim->answer_b);
}

void nr_answer(struct nr_shim *shim, uint8_t type, size_t length_b)
{
    shim->answer_valid = true;
    shim->answer_type = type;
    shim->answer_b = length_b;
    nr_answer_again(shim);
}

void nr_answer_status(struct nr_shim *shim) { nr_answer(shim, NR_STATUS, 0); }

static void put_error(uint8_t *to, uint8_t code, uint32_t detail)
{
    to[0] = code;
    nr_put_u32(to + 1, detail);
}

void nr_answer_code(struct nr_shim *shim, uint8_t code, uint32_t detail)
{
    put_error(shim->answer, code, detail);
    nr_answer(shim, NR_ERROR, NR_ERROR_FIXED_B);
}

void nr_answer_words(struct nr_shim *shim, uint8_t code, uint32_t detail, const char *text)
{
    size_t text_b = strlen(text);
    if (text_b > ERROR_TEXT_MAX_B) {
        text_b = ERROR_TEXT_MAX_B;
    }
    put_error(shim->answer, code, detail);
    memcpy(shim->answer + NR_ERROR_FIXED_B, text, text_b);
    nr_answer(shim, NR_ERROR, NR_ERROR_FIXED_B + text_b);
}

/* ---- on the fly ---- */

void nr_send_ack(struct nr_shim *shim)
{
    uint8_t received[NR_ACK_B];
    nr_put_u32(received, shim->received);
    send(shim, NR_ACK, shim->expected, received, sizeof received);
}

/* What more this firmware knows than `flags` has bits for. */
static uint8_t caps_more(const struct nr_shim *shim)
{
    return (uint8_t)(NR_MORE_GO | (nr_knows_optimize(shim) ? NR_MORE_KNEW : 0)
                     | (shim->workload->start != NULL ? NR_MORE_STATEFUL : 0));
}

static void send_caps_strings(struct nr_shim *shim)
{
    const char *const strings[CAPS_STRINGS] = {
        shim->port->device,    NR_FIRMWARE_VERSION, shim->workload->name,
        shim->workload->model, shim->port->build,   shim->port->sync_pin,
    };
    size_t room_b = NR_CAPS_MAX_B - NR_CAPS_FIXED_B - CAPS_STRINGS - CAPS_MORE_B;
    for (size_t i = 0; i < CAPS_STRINGS; i++) {
        size_t length_b = strlen(strings[i]);
        uint8_t byte;
        if (length_b > room_b) {
            length_b = room_b;
        }
        room_b -= length_b;
        byte = (uint8_t)length_b;
        nr_frame_tx_put(&shim->frame_tx, &byte, 1);
        nr_frame_tx_put(&shim->frame_tx, (const uint8_t *)strings[i], length_b);
    }
}

static uint8_t caps_flags(const struct nr_shim *shim)
{
    uint8_t flags = shim->port->flags;
    if (shim->port->set_baud == NULL) {
        flags &= (uint8_t)~NR_CAP_BAUD;
    }
    if (nr_knows_batch(shim)) {
        flags |= NR_CAP_BATCH;
    }
    if (nr_knows_optimize(shim)) {
        flags |= NR_CAP_OPTIMIZE;
    }
    if (nr_knows_stream(shim)) {
        flags |= NR_CAP_STREAM;
    }
    if (!NR_WITH_SELF_TEST) {
        flags |= NR_CAP_NO_SELF_TEST;
    }
    if (!NR_WITH_CLASSIC) {
        flags |= NR_CAP_NO_CLASSIC;
    }
    return flags;
}

void nr_send_caps(struct nr_shim *shim, uint8_t seq)
{
    const struct nr_port *port = shim->port;
    uint8_t fixed[NR_CAPS_FIXED_B];
    uint8_t more = caps_more(shim);
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
    fixed[27] = caps_flags(shim);
    nr_frame_tx_begin(&shim->frame_tx, NR_CAPS, seq);
    nr_frame_tx_put(&shim->frame_tx, fixed, sizeof fixed);
    send_caps_strings(shim);
    nr_frame_tx_put(&shim->frame_tx, &more, CAPS_MORE_B);
    nr_frame_tx_end(&shim->frame_tx);
}

/* Not kept, as HELLO has no place in the order; the session stays as it is. */
void nr_refuse_hello(struct nr_shim *shim, uint8_t seq, uint8_t code, uint32_t detail)
{
    uint8_t error[NR_ERROR_FIXED_B];
    put_error(error, code, detail);
    send(shim, NR_ERROR, seq, error, sizeof error);
}
