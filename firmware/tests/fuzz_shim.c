/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer target: a device fed with anything. Each input byte goes to the device; a byte 0xFE also takes a frame description from
   the bytes behind it, so that the fuzzer gets past the CRC. The sanitizers look for memory errors, the asserts for broken promises. */
#include <stdlib.h>
#include <string.h>

#include "fake_port.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct fake fake;
static uint8_t drained[FAKE_OUTPUT_B];

/* Windows as long as the request says would take for ever. */
static void tame(uint8_t type, uint8_t *payload, size_t payload_b)
{
    if (type == NR_RUN && payload_b == 12) {
        payload[3] = payload[4] = payload[5] = 0; /* repeat */
        payload[8] = payload[9] = 0;              /* guard_us */
    }
    if ((type == NR_IDLE || type == NR_SYNC) && payload_b >= 10) {
        payload[payload_b - 3] = payload[payload_b - 4] = 0;
    }
}

static size_t send_frame(const uint8_t *data, size_t size)
{
    uint8_t bytes[600];
    uint8_t payload[NR_MAX_PAYLOAD_B + 4];
    struct nr_frame_tx tx;
    size_t payload_b;
    if (size < 3) {
        return 0;
    }
    payload_b = data[2];
    if (payload_b > size - 3) {
        payload_b = size - 3;
    }
    memcpy(payload, data + 3, payload_b);
    tame(data[0], payload, payload_b);
    nr_frame_tx_init(&tx, bytes, sizeof bytes, NULL, NULL);
    nr_frame_tx_begin(&tx, data[0], (uint8_t)(fake.shim.expected + data[1])); /* mostly in order */
    nr_frame_tx_put(&tx, payload, payload_b);
    nr_frame_tx_end(&tx);
    fake_send(&fake, bytes, tx.used_b);
    return 3 + payload_b;
}

static void step(void)
{
    for (int i = 0; i < 4; i++) {
        nr_shim_poll(&fake.shim);
    }
    if (fake.output_used > FAKE_OUTPUT_B / 2) {
        (void)fake_receive(&fake, drained, sizeof drained);
    }
    if (fake.undrained_at_mark != 0) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t at = 0;
    fake_start(&fake);
    fake.infers_max = 300; /* `infer 4000000000` is no finding */
    fake_send(&fake, "frame 1%", 8);
    if (size != 0 && data[0] % 2 == 0) {
        fake.input_used = 0; /* these stay in the text layer */
    }
    step();
    while (at < size) {
        uint8_t byte = data[at++];
        if (byte == 0xFE) {
            at += send_frame(data + at, size - at);
        } else if (byte == 0xFD) {
            fake.tick += 101000;
        } else {
            fake_send(&fake, &byte, 1);
        }
        step();
    }
    return 0;
}
