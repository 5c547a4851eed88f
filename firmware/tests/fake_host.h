/* SPDX-License-Identifier: Apache-2.0 */
/* The host's side of the framed layer, as small as tests need it. */
#ifndef FAKE_HOST_H
#define FAKE_HOST_H

#include "fake_port.h"

struct host_frame {
    uint8_t type;
    uint8_t seq;
    uint8_t payload[NR_MAX_PAYLOAD_B];
    size_t payload_b;
};

struct host {
    struct fake *fake;
    struct nr_frame_rx rx;
    uint8_t buffer[NR_MAX_PAYLOAD_B + NR_FRAME_OVERHEAD_B];
    uint8_t pending[FAKE_OUTPUT_B]; /* received, not yet decoded */
    size_t pending_used;
    size_t pending_next;
};

void host_init(struct host *host, struct fake *fake);

/* Encodes a frame; returns its length. */
size_t host_encode(uint8_t *to, size_t capacity_b, uint8_t type, uint8_t seq, const void *payload,
                   size_t payload_b);
void host_send(struct host *host, uint8_t type, uint8_t seq, const void *payload, size_t payload_b);

/* The next good frame the device has sent; false when there is none. Does not poll the device. */
bool host_take(struct host *host, struct host_frame *frame);

/* Payloads of requests; each returns its length. */
size_t host_hello(uint8_t *to, uint32_t nonce);
size_t host_load(uint8_t *to, uint16_t slot, const uint8_t *content, uint32_t length_b);
size_t host_data(uint8_t *to, uint32_t offset_b, const uint8_t *content, size_t length_b);
size_t host_run(uint8_t *to, uint16_t slot, uint32_t repeat, uint32_t guard_us, uint16_t hold_us);

#endif
