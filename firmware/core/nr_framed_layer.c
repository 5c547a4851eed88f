/* SPDX-License-Identifier: Apache-2.0 */
/* Session and order of the framed layer: which frame is executed, repeated, acknowledged or passed
   over; docs/reference/PROTOCOL.md, section 3. */
#include "nr_shim_parts.h"

#include <string.h>

/* ---- session ---- */

static void new_session(struct nr_shim *shim, uint8_t seq, uint32_t nonce)
{
    shim->session = true;
    shim->nonce = nonce;
    shim->expected = (uint8_t)(seq + 1U);
    shim->received = 0;
    shim->answer_valid = false;
    shim->guarding = false;
    shim->output_valid = false;
    shim->output_b = 0;
    nr_upload_drop(shim);
    nr_stream_stop(shim);
    memset(shim->slot_loaded, 0, sizeof shim->slot_loaded);
}

static void on_hello(struct nr_shim *shim)
{
    const uint8_t *payload = nr_frame_payload(&shim->frame_rx);
    uint8_t seq = nr_frame_seq(&shim->frame_rx);
    if (nr_frame_payload_b(&shim->frame_rx) != NR_HELLO_B) {
        nr_refuse_hello(shim, seq, NR_E_LENGTH, NR_HELLO_B);
        return;
    }
    if (payload[4] != NR_PROTOCOL) {
        nr_refuse_hello(shim, seq, NR_E_UNSUPPORTED, NR_PROTOCOL);
        return;
    }
    if (!shim->session || shim->nonce != nr_get_u32(payload)) {
        new_session(shim, seq, nr_get_u32(payload));
    }
    nr_send_caps(shim, seq);
}

/* ---- order ---- */

/* Number `expected` has come: advances past it and those received next to it. */
static void advance(struct nr_shim *shim)
{
    bool more;
    do {
        more = (shim->received & 1U) != 0;
        shim->received >>= 1;
        shim->expected++;
    } while (more);
    shim->answer_valid = false;
}

/* Notes number expected + `ahead`; false when it was there already. */
static bool note(struct nr_shim *shim, uint8_t ahead)
{
    uint32_t bit;
    if (ahead == 0) {
        advance(shim);
        return true;
    }
    bit = (uint32_t)1U << (ahead - 1U);
    if ((shim->received & bit) != 0) {
        return false;
    }
    shim->received |= bit;
    return true;
}

/* Acknowledged even when it was there already: the ACK before may have been lost. */
static void on_data(struct nr_shim *shim, uint8_t ahead)
{
    if (note(shim, ahead)) {
        nr_upload_store(shim);
    }
    nr_send_ack(shim);
}

static void on_frame(struct nr_shim *shim)
{
    uint8_t type = nr_frame_type(&shim->frame_rx);
    uint8_t seq = nr_frame_seq(&shim->frame_rx);
    uint8_t ahead = (uint8_t)(seq - shim->expected);

    shim->rx_frames++;
    if (type >= NR_ACK) {
        /* an answer, thus the echo of one of ours: no sign of a host, and not to be answered */
        return;
    }
    shim->baud_on_trial = false; /* a valid frame of any kind proves the rate */
    if (type == NR_HELLO) {
        on_hello(shim);
    } else if (!shim->session) {
        nr_send_ack(shim);
    } else if (shim->guarding) {
        nr_guard_frame(shim);
    } else if (type == NR_GO) {
        return; /* too late for its guard: its window has been executed */
    } else if (type == NR_DATA && ahead < NR_WINDOW && nr_upload_fits(shim)) {
        on_data(shim, ahead);
    } else if (ahead == 0) {
        advance(shim);
        shim->answer_seq = seq;
        nr_request_execute(shim);
    } else if (ahead == 0xFF && shim->answer_valid && seq == shim->answer_seq) {
        nr_answer_again(shim);
    } else {
        nr_send_ack(shim);
    }
}

/* ---- the layer ---- */

void nr_framed_layer_drop_partial(struct nr_shim *shim)
{
    nr_frame_rx_drop(&shim->frame_rx);
    shim->escape_b = 0;
}

void nr_framed_layer_byte(struct nr_shim *shim, uint8_t byte)
{
    if (nr_frame_rx_byte(&shim->frame_rx, byte)) {
        on_frame(shim);
    }
}
