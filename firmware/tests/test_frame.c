/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "check.h"
#include "frame_vectors.h"
#include "nr_frame.h"

enum { BIG_B = 4096 };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const uint8_t next_frame_payload[] = {'n', 'e', 'x', 't'};

struct sink {
    uint8_t bytes[BIG_B];
    size_t used_b;
    int writes;
};

static void sink_write(void *context, const uint8_t *bytes, size_t length_b)
{
    struct sink *sink = context;
    CHECK(sink->used_b + length_b <= BIG_B);
    memcpy(sink->bytes + sink->used_b, bytes, length_b);
    sink->used_b += length_b;
    sink->writes++;
}

static void crc_of_the_standard_check_string(void)
{
    const uint8_t nine[] = "123456789";
    CHECK(nr_crc32(0, nine, 9) == 0xCBF43926U);
    CHECK(nr_crc32(nr_crc32(0, nine, 4), nine + 4, 5) == 0xCBF43926U);
    CHECK(nr_crc32(0, nine, 0) == 0);
}

static void integers_are_little_endian(void)
{
    const uint8_t expected[14] = {0x34, 0x12, 0x78, 0x56, 0x34, 0x92, 0xEF,
                                  0xCD, 0xAB, 0x89, 0x67, 0x45, 0x23, 0xF1};
    uint8_t bytes[14];
    nr_put_u16(bytes, 0x1234);
    nr_put_u32(bytes + 2, 0x92345678U);
    nr_put_u64(bytes + 6, 0xF123456789ABCDEFU);
    CHECK(memcmp(bytes, expected, sizeof bytes) == 0);
    CHECK(nr_get_u16(bytes) == 0x1234);
    CHECK(nr_get_u32(bytes + 2) == 0x92345678U);
}

static void cobs_encodes_the_published_examples(void)
{
    for (size_t i = 0; i < COUNT(cobs_vectors); i++) {
        const struct cobs_vector *vector = &cobs_vectors[i];
        uint8_t buffer[BIG_B];
        struct nr_frame_tx tx;
        nr_frame_tx_init(&tx, buffer, sizeof buffer, NULL, NULL);
        nr_cobs_tx_begin(&tx);
        for (size_t at = 0; at < vector->decoded_b; at++) {
            nr_cobs_tx_byte(&tx, vector->decoded[at]);
        }
        nr_cobs_tx_end(&tx);
        CHECK(!tx.overflow && tx.used_b == vector->encoded_b + 2);
        CHECK(buffer[0] == 0 && buffer[tx.used_b - 1] == 0);
        CHECK(memcmp(buffer + 1, vector->encoded, vector->encoded_b) == 0);
    }
}

static void cobs_decodes_the_published_examples(void)
{
    for (size_t i = 0; i < COUNT(cobs_vectors); i++) {
        const struct cobs_vector *vector = &cobs_vectors[i];
        uint8_t buffer[BIG_B];
        struct nr_frame_rx rx;
        nr_frame_rx_init(&rx, buffer, sizeof buffer);
        for (size_t at = 0; at < vector->encoded_b; at++) {
            CHECK(!nr_cobs_rx_byte(&rx, vector->encoded[at]));
        }
        CHECK(nr_cobs_rx_byte(&rx, 0));
        CHECK(rx.length_b == vector->decoded_b
              && memcmp(buffer, vector->decoded, rx.length_b) == 0);
    }
}

static void frames_are_encoded_as_the_vectors_say(void)
{
    for (size_t i = 0; i < COUNT(frame_vectors); i++) {
        const struct frame_vector *vector = &frame_vectors[i];
        uint8_t buffer[BIG_B];
        struct nr_frame_tx tx;
        nr_frame_tx_init(&tx, buffer, sizeof buffer, NULL, NULL);
        nr_frame_tx_begin(&tx, vector->type, vector->seq);
        nr_frame_tx_put(&tx, vector->payload, vector->payload_b);
        nr_frame_tx_end(&tx);
        CHECK(!tx.overflow && tx.used_b == vector->encoded_b
              && memcmp(buffer, vector->encoded, tx.used_b) == 0);
    }
}

static void frames_are_the_same_when_they_leave_in_pieces(void)
{
    for (size_t i = 0; i < COUNT(frame_vectors); i++) {
        const struct frame_vector *vector = &frame_vectors[i];
        for (size_t capacity_b = NR_FRAME_TX_MIN_B; capacity_b < NR_FRAME_TX_MIN_B + 20;
             capacity_b++) {
            uint8_t buffer[NR_FRAME_TX_MIN_B + 20];
            struct sink sink = {{0}, 0, 0};
            struct nr_frame_tx tx;
            nr_frame_tx_init(&tx, buffer, capacity_b, sink_write, &sink);
            nr_frame_tx_begin(&tx, vector->type, vector->seq);
            for (size_t at = 0; at < vector->payload_b; at++) {
                nr_frame_tx_put(&tx, vector->payload + at, 1);
            }
            nr_frame_tx_end(&tx);
            CHECK(sink.used_b == vector->encoded_b
                  && memcmp(sink.bytes, vector->encoded, sink.used_b) == 0);
            CHECK(vector->encoded_b > capacity_b || sink.writes == 1);
        }
    }
}

static void a_buffer_too_small_is_reported(void)
{
    for (size_t capacity_b = 0; capacity_b < 16; capacity_b++) {
        uint8_t buffer[16];
        struct nr_frame_tx tx;
        nr_frame_tx_init(&tx, buffer, capacity_b, NULL, NULL);
        nr_frame_tx_begin(&tx, 2, 1);
        nr_frame_tx_put(&tx, next_frame_payload, 4);
        nr_frame_tx_end(&tx);
        CHECK(tx.overflow == (capacity_b < 13));
        CHECK(tx.used_b <= capacity_b);
    }
}

static bool feed(struct nr_frame_rx *rx, const uint8_t *bytes, size_t length_b)
{
    bool good = false;
    for (size_t i = 0; i < length_b; i++) {
        CHECK(!good); /* one frame at most, and with its last byte */
        good = nr_frame_rx_byte(rx, bytes[i]);
    }
    return good;
}

static void frames_are_decoded_as_the_vectors_say(void)
{
    uint8_t buffer[BIG_B];
    struct nr_frame_rx rx;
    nr_frame_rx_init(&rx, buffer, sizeof buffer);
    /* one behind the other: nothing of one may stay for the next */
    for (size_t i = 0; i < COUNT(frame_vectors); i++) {
        const struct frame_vector *vector = &frame_vectors[i];
        CHECK(feed(&rx, vector->encoded, vector->encoded_b));
        CHECK(nr_frame_type(&rx) == vector->type && nr_frame_seq(&rx) == vector->seq);
        CHECK(nr_frame_payload_b(&rx) == vector->payload_b);
        CHECK(memcmp(nr_frame_payload(&rx), vector->payload, vector->payload_b) == 0);
    }
    CHECK(rx.dropped == 0);
}

static void a_frame_that_just_fits_is_received(void)
{
    for (size_t i = 0; i < COUNT(frame_vectors); i++) {
        const struct frame_vector *vector = &frame_vectors[i];
        size_t capacity_b = vector->payload_b + 6;
        /* exact, so that the sanitizer sees one byte too many */
        uint8_t *buffer = malloc(capacity_b);
        struct nr_frame_rx rx;
        nr_frame_rx_init(&rx, buffer, capacity_b);
        CHECK(feed(&rx, vector->encoded, vector->encoded_b));
        nr_frame_rx_init(&rx, buffer, capacity_b - 1);
        CHECK(!feed(&rx, vector->encoded, vector->encoded_b) && rx.dropped == 1);
        free(buffer);
    }
}

static size_t make_next_frame(uint8_t *buffer, size_t capacity_b)
{
    struct nr_frame_tx tx;
    nr_frame_tx_init(&tx, buffer, capacity_b, NULL, NULL);
    nr_frame_tx_begin(&tx, 2, 77);
    nr_frame_tx_put(&tx, next_frame_payload, sizeof next_frame_payload);
    nr_frame_tx_end(&tx);
    return tx.used_b;
}

static void bad_frames_are_dropped_and_the_next_is_received(void)
{
    uint8_t next[32];
    size_t next_b = make_next_frame(next, sizeof next);
    for (size_t i = 0; i < COUNT(bad_vectors); i++) {
        const struct bad_vector *vector = &bad_vectors[i];
        uint8_t buffer[BIG_B];
        struct nr_frame_rx rx;
        nr_frame_rx_init(&rx, buffer, vector->max_payload + 6);
        for (size_t at = 0; at < vector->stream_b; at++) {
            CHECK(!nr_frame_rx_byte(&rx, vector->stream[at]));
        }
        CHECK(feed(&rx, next, next_b));
        CHECK(nr_frame_seq(&rx) == 77 && memcmp(nr_frame_payload(&rx), next_frame_payload, 4) == 0);
    }
}

static void a_single_flipped_bit_is_never_accepted(void)
{
    uint8_t frame[32];
    size_t frame_b = make_next_frame(frame, sizeof frame);
    for (size_t bit = 8; bit < (frame_b - 1) * 8; bit++) {
        uint8_t buffer[BIG_B];
        struct nr_frame_rx rx;
        nr_frame_rx_init(&rx, buffer, sizeof buffer);
        frame[bit / 8] ^= (uint8_t)(1U << (bit % 8));
        for (size_t at = 0; at < frame_b; at++) {
            CHECK(!nr_frame_rx_byte(&rx, frame[at]));
        }
        frame[bit / 8] ^= (uint8_t)(1U << (bit % 8));
        CHECK(feed(&rx, frame, frame_b));
    }
}

static void a_dropped_partial_frame_leaves_nothing(void)
{
    uint8_t frame[32];
    size_t frame_b = make_next_frame(frame, sizeof frame);
    for (size_t cut = 0; cut < frame_b; cut++) {
        uint8_t buffer[BIG_B];
        struct nr_frame_rx rx;
        nr_frame_rx_init(&rx, buffer, sizeof buffer);
        CHECK(!feed(&rx, frame, cut));
        nr_frame_rx_drop(&rx);
        CHECK(rx.dropped == (cut > 1 ? 1U : 0U));
        CHECK(feed(&rx, frame + 1, frame_b - 1));
    }
}

int main(void)
{
    RUN(crc_of_the_standard_check_string);
    RUN(integers_are_little_endian);
    RUN(cobs_encodes_the_published_examples);
    RUN(cobs_decodes_the_published_examples);
    RUN(frames_are_encoded_as_the_vectors_say);
    RUN(frames_are_the_same_when_they_leave_in_pieces);
    RUN(a_buffer_too_small_is_reported);
    RUN(frames_are_decoded_as_the_vectors_say);
    RUN(a_frame_that_just_fits_is_received);
    RUN(bad_frames_are_dropped_and_the_next_is_received);
    RUN(a_single_flipped_bit_is_never_accepted);
    RUN(a_dropped_partial_frame_leaves_nothing);
    return report("frame");
}
