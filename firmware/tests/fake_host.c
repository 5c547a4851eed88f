/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_host.h"

#include <string.h>

void host_init(struct host *host, struct fake *fake)
{
    host->fake = fake;
    host->pending_used = 0;
    host->pending_next = 0;
    nr_frame_rx_init(&host->rx, host->buffer, sizeof host->buffer);
}

size_t host_encode(uint8_t *to, size_t capacity_b, uint8_t type, uint8_t seq, const void *payload,
                   size_t payload_b)
{
    struct nr_frame_tx tx;
    nr_frame_tx_init(&tx, to, capacity_b, NULL, NULL);
    nr_frame_tx_begin(&tx, type, seq);
    nr_frame_tx_put(&tx, payload, payload_b);
    nr_frame_tx_end(&tx);
    return tx.overflow ? 0 : tx.used_b;
}

void host_send(struct host *host, uint8_t type, uint8_t seq, const void *payload, size_t payload_b)
{
    uint8_t bytes[600];
    fake_send(host->fake, bytes, host_encode(bytes, sizeof bytes, type, seq, payload, payload_b));
}

bool host_take(struct host *host, struct host_frame *frame)
{
    if (host->pending_next == host->pending_used) {
        host->pending_next = 0;
        host->pending_used = fake_receive(host->fake, host->pending, sizeof host->pending);
    }
    while (host->pending_next < host->pending_used) {
        if (nr_frame_rx_byte(&host->rx, host->pending[host->pending_next++])) {
            frame->type = nr_frame_type(&host->rx);
            frame->seq = nr_frame_seq(&host->rx);
            frame->payload_b = nr_frame_payload_b(&host->rx);
            memcpy(frame->payload, nr_frame_payload(&host->rx), frame->payload_b);
            return true;
        }
    }
    return false;
}

size_t host_hello(uint8_t *to, uint32_t nonce)
{
    nr_put_u32(to, nonce);
    to[4] = NR_PROTOCOL;
    return 5;
}

size_t host_load(uint8_t *to, uint16_t slot, const uint8_t *content, uint32_t length_b)
{
    nr_put_u16(to, slot);
    nr_put_u32(to + 2, length_b);
    nr_put_u32(to + 6, nr_crc32(0, content, length_b));
    return 10;
}

size_t host_data(uint8_t *to, uint32_t offset_b, const uint8_t *content, size_t length_b)
{
    nr_put_u32(to, offset_b);
    memcpy(to + 4, content + offset_b, length_b);
    return 4 + length_b;
}

size_t host_run(uint8_t *to, uint16_t slot, uint32_t repeat, uint32_t guard_us, uint16_t hold_us)
{
    nr_put_u16(to, slot);
    nr_put_u32(to + 2, repeat);
    nr_put_u32(to + 6, guard_us);
    nr_put_u16(to + 10, hold_us);
    return 12;
}
