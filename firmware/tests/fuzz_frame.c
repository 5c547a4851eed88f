/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer target: the frame codec. The input is a received stream, and after that something to be
   sent. */
#include <stdlib.h>
#include <string.h>

#include "nr_frame.h"
#include "nr_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PAYLOAD_MAX_B = 512, CODE_MAX_B = 2 * PAYLOAD_MAX_B, PIECE_B = NR_FRAME_TX_MIN_B };

struct wire {
    uint8_t bytes[CODE_MAX_B];
    size_t used_b;
};

static void need(bool condition)
{
    if (!condition) {
        abort();
    }
}

static void append(void *context, const uint8_t *bytes, size_t length_b)
{
    struct wire *wire = context;
    need(length_b <= sizeof wire->bytes - wire->used_b);
    memcpy(wire->bytes + wire->used_b, bytes, length_b);
    wire->used_b += length_b;
}

static void encode(struct nr_frame_tx *tx, uint8_t type, uint8_t seq, const uint8_t *payload,
                   size_t payload_b)
{
    nr_frame_tx_begin(tx, type, seq);
    nr_frame_tx_put(tx, payload, payload_b);
    nr_frame_tx_end(tx);
}

/* What is sent comes back as it was, whether it was written piecewise or whole, and holds no zero
   inside. */
static void round_trip(uint8_t type, uint8_t seq, const uint8_t *payload, size_t payload_b)
{
    uint8_t whole[CODE_MAX_B];
    uint8_t piece[PIECE_B];
    uint8_t decoded[PAYLOAD_MAX_B + NR_FRAME_OVERHEAD_B];
    struct wire wire = {{0}, 0};
    struct nr_frame_tx tx;
    struct nr_frame_rx rx;
    nr_frame_tx_init(&tx, whole, sizeof whole, NULL, NULL);
    encode(&tx, type, seq, payload, payload_b);
    need(!tx.overflow);
    need(whole[0] == 0 && whole[tx.used_b - 1] == 0 && memchr(whole + 1, 0, tx.used_b - 2) == NULL);
    nr_frame_rx_init(&rx, decoded, sizeof decoded);
    for (size_t i = 0; i < tx.used_b; i++) {
        need(nr_frame_rx_byte(&rx, whole[i]) == (i + 1 == tx.used_b));
    }
    need(nr_frame_type(&rx) == type && nr_frame_seq(&rx) == seq
         && nr_frame_payload_b(&rx) == payload_b);
    need(payload_b == 0 || memcmp(nr_frame_payload(&rx), payload, payload_b) == 0);
    nr_frame_tx_init(&tx, piece, sizeof piece, append, &wire);
    encode(&tx, type, seq, payload, payload_b);
    nr_frame_tx_init(&tx, whole, sizeof whole, NULL, NULL);
    encode(&tx, type, seq, payload, payload_b);
    need(wire.used_b == tx.used_b && memcmp(wire.bytes, whole, wire.used_b) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nr_frame_rx rx;
    size_t capacity_b = size != 0 ? NR_FRAME_OVERHEAD_B + data[0] % 80U : NR_FRAME_OVERHEAD_B;
    uint8_t *buffer = malloc(capacity_b); /* of its own, so that the sanitizer sees its ends */
    need(buffer != NULL);
    nr_frame_rx_init(&rx, buffer, capacity_b);
    for (size_t i = 0; i < size; i++) {
        bool good = nr_frame_rx_byte(&rx, data[i]);
        need(rx.length_b <= capacity_b);
        if (good) {
            round_trip(nr_frame_type(&rx), nr_frame_seq(&rx), nr_frame_payload(&rx),
                       nr_frame_payload_b(&rx));
        }
    }
    free(buffer);
    if (size >= 2) {
        round_trip(data[0], data[1], data + 2, size - 2 < PAYLOAD_MAX_B ? size - 2 : PAYLOAD_MAX_B);
    }
    return 0;
}
