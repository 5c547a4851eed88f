/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of the framed layer: the one that is kept for repetition, and those built on the fly. */
#include "nr_shim_parts.h"

#include <string.h>

enum {
    CAPS_FIXED_B = 28,
    CAPS_STRINGS = 6,
    CAPS_MAX_B = 256,
    ERROR_FIXED_B = 5,
    ERROR_TEXT_MAX_B = 40
};

/* ---- kept ---- */

void nr_answer_again(struct nr_shim *shim)
{
    nr_frame_tx_begin(&shim->frame_tx, shim->answer_type, shim->answer_seq);
    nr_frame_tx_put(&shim->frame_tx, shim->answer, shim->answer_b);
    nr_frame_tx_end(&shim->frame_tx);
}

void nr_answer(struct nr_shim *shim, uint8_t seq, uint8_t type, size_t length_b)
{
    shim->answer_valid = true;
    shim->answer_seq = seq;
    shim->answer_type = type;
    shim->answer_b = length_b;
    nr_answer_again(shim);
}

void nr_answer_status(struct nr_shim *shim, uint8_t seq) { nr_answer(shim, seq, NR_STATUS, 0); }

void nr_answer_error(struct nr_shim *shim, uint8_t seq, uint8_t code, uint32_t detail, const char *text)
{
    size_t text_b = strlen(text);
    if (text_b > ERROR_TEXT_MAX_B) {
        text_b = ERROR_TEXT_MAX_B;
    }
    shim->answer[0] = code;
    nr_put_u32(shim->answer + 1, detail);
    memcpy(shim->answer + ERROR_FIXED_B, text, text_b);
    nr_answer(shim, seq, NR_ERROR, ERROR_FIXED_B + text_b);
}

/* ---- on the fly ---- */

void nr_send_ack(struct nr_shim *shim)
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

void nr_send_caps(struct nr_shim *shim, uint8_t seq)
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
    if (nr_knows_batch(shim)) {
        fixed[27] |= NR_CAP_BATCH;
    }
    nr_frame_tx_begin(&shim->frame_tx, NR_CAPS, seq);
    nr_frame_tx_put(&shim->frame_tx, fixed, sizeof fixed);
    send_caps_strings(shim);
    nr_frame_tx_end(&shim->frame_tx);
}

/* Not kept, as HELLO has no place in the order; the session stays as it is. */
void nr_refuse_hello(struct nr_shim *shim, uint8_t seq, uint8_t code, uint32_t detail)
{
    uint8_t error[ERROR_FIXED_B];
    error[0] = code;
    nr_put_u32(error + 1, detail);
    nr_frame_tx_begin(&shim->frame_tx, NR_ERROR, seq);
    nr_frame_tx_put(&shim->frame_tx, error, sizeof error);
    nr_frame_tx_end(&shim->frame_tx);
}
