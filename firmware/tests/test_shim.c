/* SPDX-License-Identifier: Apache-2.0 */
/* The framed layer: docs/reference/PROTOCOL.md, sections 2 to 6, one test a rule. */
#include <string.h>

#include "check.h"
#include "fake_host.h"
#include "fake_port.h"

enum {
    GUARD_US = 40000,
    POLL_US = 5000,
    SEQ_START = 200,
    DONE_FIXED_B = 12,
    OUTPUT_AT_B = DONE_FIXED_B + 3 * 9
};

static struct fake fake;
static struct host host;
static struct host_frame got;
static uint8_t seq; /* of the next request */
static uint8_t content[FAKE_SLOT_B];
static uint8_t payload[NR_MAX_PAYLOAD_B + 64];

/* ---- steps ---- */

static void poll_device(void) { fake_run_us(&fake, POLL_US); }

static void expect_frame(uint8_t type, uint8_t wanted_seq)
{
    CHECK(host_take(&host, &got));
    if (got.type != type || got.seq != wanted_seq) {
        (void)fprintf(stderr, "got %02x seq %d, wanted %02x seq %d\n", got.type, got.seq, type,
                      wanted_seq);
        abort();
    }
}

static void expect_nothing(void)
{
    struct host_frame unwanted;
    CHECK(!host_take(&host, &unwanted));
}

static void expect_ack(uint8_t expected, uint32_t received)
{
    expect_frame(NR_ACK, expected);
    CHECK(got.payload_b == 4 && nr_get_u32(got.payload) == received);
}

static void expect_error(uint8_t wanted_seq, uint8_t code, uint32_t detail)
{
    expect_frame(NR_ERROR, wanted_seq);
    CHECK(got.payload_b >= 5 && got.payload_b <= 45);
    CHECK(got.payload[0] == code && nr_get_u32(got.payload + 1) == detail);
}

static void send(uint8_t type, uint8_t at_seq, size_t payload_b)
{
    host_send(&host, type, at_seq, payload, payload_b);
    poll_device();
}

/* Sends the next request. */
static uint8_t request(uint8_t type, size_t payload_b)
{
    uint8_t own = seq++;
    send(type, own, payload_b);
    return own;
}

static void expect_text(const char *wanted)
{
    uint8_t bytes[FAKE_OUTPUT_B];
    size_t count = fake_receive(&fake, bytes, sizeof bytes);
    CHECK(count == strlen(wanted) && memcmp(bytes, wanted, count) == 0);
}

static void send_text(const char *text)
{
    fake_send(&fake, text, strlen(text));
    poll_device();
}

static void enter_framed(void)
{
    fake_start(&fake);
    host_init(&host, &fake);
    expect_text("m-init-done\r\nm-ready\r\n");
    send_text("frame 1%");
    expect_text("m-frame-[1]\r\nm-ready\r\n");
}

static void say_hello(uint32_t nonce)
{
    uint8_t own = request(NR_HELLO, host_hello(payload, nonce));
    expect_frame(NR_CAPS, own);
    CHECK(nr_get_u32(got.payload) == nonce);
}

static void start(void)
{
    for (size_t i = 0; i < sizeof content; i++) {
        content[i] = (uint8_t)(i * 7 + i / 256);
    }
    enter_framed();
    seq = SEQ_START;
    say_hello(0xDEADBEEFU);
}

static uint8_t send_data(uint8_t at_seq, uint32_t offset_b, size_t length_b)
{
    send(NR_DATA, at_seq, host_data(payload, offset_b, content, length_b));
    return at_seq;
}

static void load_slot(uint16_t slot, uint32_t length_b)
{
    uint8_t own = request(NR_LOAD, host_load(payload, slot, content, length_b));
    expect_frame(NR_STATUS, own);
    for (uint32_t at = 0; at < length_b; at += 100) {
        (void)send_data(seq++, at, length_b - at < 100 ? length_b - at : 100);
        expect_ack(seq, 0);
    }
    nr_put_u16(payload, slot);
    own = request(NR_COMMIT, 2);
    expect_frame(NR_STATUS, own);
}

static uint8_t send_run(uint32_t repeat)
{
    uint8_t own = request(NR_RUN, host_run(payload, 0, repeat, GUARD_US, 0));
    expect_ack(seq, 0);
    expect_nothing();
    return own;
}

static void check_silence(void)
{
    CHECK(fake.writes_in_window == 0 && fake.undrained_at_mark == 0 && !fake.in_window);
}

static void expect_done(uint8_t own, uint16_t disturbed, uint16_t marks, uint32_t output_b)
{
    expect_frame(NR_DONE, own);
    CHECK(nr_get_u16(got.payload) == disturbed);
    CHECK(nr_get_u16(got.payload + 2) == marks);
    CHECK(nr_get_u32(got.payload + 4) == output_b);
    check_silence();
}

static uint64_t mark_tick(int index)
{
    const uint8_t *at = got.payload + DONE_FIXED_B + 9 * index + 1;
    return nr_get_u32(at) | (uint64_t)nr_get_u32(at + 4) << 32;
}

static uint8_t mark_phase(int index) { return got.payload[DONE_FIXED_B + 9 * index]; }

static uint32_t iterations(void) { return nr_get_u32(got.payload + 8); }

static bool output_is_right(const uint8_t *output, size_t at, size_t length_b, size_t content_b)
{
    for (size_t i = 0; i < length_b; i++) {
        if (output[i] != (uint8_t)(content[(at + i) % content_b] + 1U)) {
            return false;
        }
    }
    return true;
}

/* ---- the session ---- */

static void caps_state_the_device(void)
{
    static const char *const strings[6] = {"fake",   NR_FIRMWARE_VERSION, "fake",
                                           "fake-1", "0123456789abcdef",  "PA8"};
    const uint8_t *at;
    start();
    at = got.payload;
    CHECK(at[4] == 1 && at[5] == NR_WINDOW && nr_get_u16(at + 6) == NR_MAX_PAYLOAD_B
          && nr_get_u16(at + 8) == FAKE_SLOTS);
    CHECK(nr_get_u32(at + 10) == FAKE_SLOT_B && nr_get_u32(at + 14) == FAKE_OUTPUT_BYTES
          && nr_get_u16(at + 18) == NR_MARKS_MAX);
    CHECK(nr_get_u32(at + 20) == 1000000 && nr_get_u16(at + 24) == 2 && at[26] == 2);
    CHECK(at[27] == (NR_CAP_BAUD | NR_CAP_SYNC_LINE | NR_CAP_BATCH));
    at += 28;
    for (int i = 0; i < 6; i++) {
        CHECK(at[0] == strlen(strings[i]) && memcmp(at + 1, strings[i], at[0]) == 0);
        at += 1 + at[0];
    }
    CHECK(at + 1 == got.payload + got.payload_b && at[0] == NR_MORE_GO); /* no search */
}

static void long_names_are_cut_and_caps_stays_within_256_bytes(void)
{
    static const char long_name[] = "01234567890123456789012345678901234567890123456789"
                                    "01234567890123456789012345678901234567890123456789"
                                    "01234567890123456789012345678901234567890123456789"
                                    "01234567890123456789012345678901234567890123456789";
    enter_framed();
    fake.port.device = long_name;
    fake.workload.model = long_name;
    seq = 3;
    say_hello(1);
    CHECK(got.payload_b == 256 && got.payload[28] == 200);
}

static void before_hello_nothing_is_executed(void)
{
    enter_framed();
    payload[0] = 'x';
    send(NR_PING, 0, 1);
    expect_ack(0, 0);
}

static void hello_again_with_the_same_nonce_changes_nothing(void)
{
    uint8_t own;
    start();
    own = request(NR_PING, 0);
    expect_frame(NR_PONG, own);
    send(NR_HELLO, SEQ_START, host_hello(payload, 0xDEADBEEFU));
    expect_frame(NR_CAPS, SEQ_START);
    send(NR_PING, own, 0); /* the last answer is still there */
    expect_frame(NR_PONG, own);
    own = request(NR_PING, 0);
    expect_frame(NR_PONG, own);
}

static void hello_with_a_new_nonce_forgets_everything(void)
{
    uint8_t own;
    start();
    load_slot(0, 100);
    seq = 17;
    say_hello(5);
    own = request(NR_RUN, host_run(payload, 0, 1, 0, 0));
    CHECK(own == 18);
    expect_error(own, NR_E_NOT_LOADED, 0);
}

static void hello_of_another_version_or_length_is_refused_and_changes_nothing(void)
{
    uint8_t own;
    start();
    (void)host_hello(payload, 9);
    payload[4] = 2;
    send(NR_HELLO, 50, 5);
    expect_error(50, NR_E_UNSUPPORTED, 1);
    send(NR_HELLO, 50, 4);
    expect_error(50, NR_E_LENGTH, 5);
    own = request(NR_PING, 0);
    expect_frame(NR_PONG, own);
}

static void ping_returns_any_bytes_up_to_max_payload(void)
{
    start();
    for (size_t length_b = 0; length_b <= NR_MAX_PAYLOAD_B; length_b++) {
        uint8_t own;
        for (size_t i = 0; i < length_b; i++) {
            payload[i] = (uint8_t)(i * length_b);
        }
        own = request(NR_PING, length_b);
        expect_frame(NR_PONG, own);
        CHECK(got.payload_b == length_b && memcmp(got.payload, payload, length_b) == 0);
    }
    send(NR_PING, seq, NR_MAX_PAYLOAD_B + 1); /* too long is no frame */
    expect_nothing();
}

static void sequence_numbers_wrap(void)
{
    start();
    for (int i = 0; i < 700; i++) {
        uint8_t own = request(NR_PING, 1);
        expect_frame(NR_PONG, own);
    }
}

static void wrong_requests_are_refused_once_and_the_session_goes_on(void)
{
    static const struct {
        uint8_t type;
        uint8_t payload_b;
        uint8_t code;
        uint32_t detail;
    } table[] = {
        {0x06, 0, NR_E_TYPE, 0x06},     {0x00, 0, NR_E_TYPE, 0},
        {0x3F, 9, NR_E_TYPE, 0x3F},     {0x61, 0, NR_E_TYPE, 0x61},
        {0x7F, 1, NR_E_TYPE, 0x7F},     {NR_BAUD, 3, NR_E_LENGTH, 4},
        {NR_TEXT, 1, NR_E_LENGTH, 0},   {NR_SELFTEST, 8, NR_E_LENGTH, 4},
        {NR_LOAD, 9, NR_E_LENGTH, 10},  {NR_LOAD, 11, NR_E_LENGTH, 10},
        {NR_COMMIT, 1, NR_E_LENGTH, 2}, {NR_RUN, 11, NR_E_LENGTH, 12},
        {NR_IDLE, 0, NR_E_LENGTH, 10},  {NR_SYNC, 12, NR_E_LENGTH, 11},
        {NR_RESULT, 5, NR_E_LENGTH, 4}, {NR_DATA, 4, NR_E_LENGTH, 5},
        {NR_DATA, 0, NR_E_LENGTH, 5},
    };
    start();
    memset(payload, 0, sizeof payload);
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        uint8_t own = request(table[i].type, table[i].payload_b);
        expect_error(own, table[i].code, table[i].detail);
        send(table[i].type, own, table[i].payload_b);
        expect_error(own, table[i].code, table[i].detail);
    }
}

static void device_messages_are_not_answered(void)
{
    start();
    send(NR_ACK, seq, 4);
    send(NR_ERROR, seq, 5);
    expect_nothing();
}

/* ---- order ---- */

static void a_repeated_request_is_answered_again_and_not_executed_again(void)
{
    uint8_t own;
    start();
    load_slot(0, 50);
    own = send_run(1);
    fake_run_us(&fake, GUARD_US + POLL_US);
    expect_done(own, 0, 3, 16);
    for (int i = 0; i < 3; i++) {
        send(NR_RUN, own, host_run(payload, 0, 1, GUARD_US, 0));
        fake_run_us(&fake, 2 * GUARD_US);
        expect_done(own, 0, 3, 16);
        expect_nothing();
    }
    CHECK(fake.infers == 1 && fake.edge_count == 3);
}

static void anything_out_of_order_is_acknowledged_and_not_executed(void)
{
    start();
    for (int i = 1; i <= 255; i++) {
        send(NR_PING, (uint8_t)(seq + i), 0);
        expect_ack(seq, 0);
    }
}

static void data_may_come_in_any_order_within_the_window(void)
{
    static const uint8_t order[] = {3, 1, 7, 0, 2, 6, 4, 5};
    /* after each, relative to `expected` */
    static const uint32_t received[] = {0x04, 0x05, 0x45, 0x11, 0x04, 0x06, 0x03, 0x00};
    static const uint8_t expected[] = {0, 0, 0, 2, 4, 4, 5, 8};
    uint8_t first;
    uint8_t own;
    start();
    own = request(NR_LOAD, host_load(payload, 1, content, 400));
    expect_frame(NR_STATUS, own);
    first = seq;
    for (size_t i = 0; i < sizeof order; i++) {
        (void)send_data((uint8_t)(first + order[i]), order[i] * 50U, 50);
        expect_ack((uint8_t)(first + expected[i]), received[i]);
    }
    seq = (uint8_t)(first + 8);
    nr_put_u16(payload, 1);
    own = request(NR_COMMIT, 2);
    expect_frame(NR_STATUS, own);
    CHECK(memcmp(fake.slots + FAKE_SLOT_B, content, 400) == 0);
}

/* Four pieces, each at any of the four places: in order, backwards, and over what was written
   before. */
static void the_crc_is_that_of_the_bytes_as_they_lie(void)
{
    enum { PIECES = 4, PIECE_B = 25 };
    start();
    for (unsigned order = 0; order < 256; order++) {
        uint8_t lies[PIECES * PIECE_B];
        uint8_t own;
        memcpy(lies, fake.slots, sizeof lies);
        own = request(NR_LOAD, host_load(payload, 0, content, sizeof lies));
        expect_frame(NR_STATUS, own);
        for (unsigned piece = 0; piece < PIECES; piece++) {
            unsigned at = (order >> (2 * piece) & 3U) * PIECE_B;
            /* of which host_data takes what belongs at that place */
            const uint8_t *from = content + (piece != 0 ? order : 0);
            memcpy(lies + at, from + at, PIECE_B);
            send(NR_DATA, seq++, host_data(payload, at, from, PIECE_B));
            expect_ack(seq, 0);
        }
        nr_put_u16(payload, 0);
        own = request(NR_COMMIT, 2);
        if (memcmp(lies, content, sizeof lies) == 0) {
            expect_frame(NR_STATUS, own);
        } else {
            expect_error(own, NR_E_CRC, nr_crc32(0, lies, sizeof lies));
        }
        CHECK(memcmp(fake.slots, lies, sizeof lies) == 0);
    }
}

static void data_outside_the_window_is_not_stored(void)
{
    uint8_t own;
    start();
    own = request(NR_LOAD, host_load(payload, 0, content, 600));
    expect_frame(NR_STATUS, own);
    memset(fake.slots, 0xEE, sizeof fake.slots);
    (void)send_data((uint8_t)(seq + NR_WINDOW), 10, 10);
    expect_ack(seq, 0);
    (void)send_data((uint8_t)(seq - 2), 10, 10);
    expect_ack(seq, 0);
    for (size_t i = 0; i < sizeof fake.slots; i++) {
        CHECK(fake.slots[i] == 0xEE);
    }
    (void)send_data((uint8_t)(seq + NR_WINDOW - 1), 10, 10);
    expect_ack(seq, (uint32_t)1 << (NR_WINDOW - 2));
}

static void repeated_data_counts_once(void)
{
    uint8_t own;
    start();
    own = request(NR_LOAD, host_load(payload, 0, content, 100));
    expect_frame(NR_STATUS, own);
    (void)send_data((uint8_t)(seq + 1), 50, 50);
    expect_ack(seq, 1);
    (void)send_data((uint8_t)(seq + 1), 50, 50);
    expect_ack(seq, 1);
    (void)send_data(seq, 0, 50);
    expect_ack((uint8_t)(seq + 2), 0);
    (void)send_data(seq, 0, 50);
    seq = (uint8_t)(seq + 2);
    expect_ack(seq, 0);
    nr_put_u16(payload, 0);
    own = request(NR_COMMIT, 2);
    expect_frame(NR_STATUS, own);
}

static void a_long_load_wraps_the_numbers_with_losses(void)
{
    uint32_t random = 7;
    start();
    for (int round = 0; round < 8; round++) { /* 8 * 120 numbers */
        bool there[120] = {false};
        uint32_t missing = 120;
        uint8_t first;
        uint8_t own = request(NR_LOAD, host_load(payload, 0, content, 600));
        expect_frame(NR_STATUS, own);
        first = seq;
        fake.slots[0] = (uint8_t)~content[0];
        while (missing != 0) {
            uint32_t base = (uint8_t)(fake.shim.expected - first);
            uint32_t index;
            random = random * 1664525U + 1013904223U;
            index = base + (random >> 16) % NR_WINDOW;
            if (index < 120) {
                missing -= there[index] ? 0 : 1;
                there[index] = true;
                (void)send_data((uint8_t)(first + index), index * 5, 5);
                CHECK(host_take(&host, &got) && got.type == NR_ACK);
            }
        }
        seq = (uint8_t)(first + 120);
        nr_put_u16(payload, 0);
        own = request(NR_COMMIT, 2);
        expect_frame(NR_STATUS, own);
        CHECK(memcmp(fake.slots, content, 600) == 0);
    }
}

/* ---- loading ---- */

static void loads_that_do_not_fit_are_refused(void)
{
    uint8_t own;
    start();
    own = request(NR_LOAD, host_load(payload, 2, content, 10));
    expect_error(own, NR_E_SLOT, 2);
    own = request(NR_LOAD, host_load(payload, 0, content, FAKE_SLOT_B));
    expect_frame(NR_STATUS, own);
    (void)host_load(payload, 0, content, 10);
    nr_put_u32(payload + 2, FAKE_SLOT_B + 1);
    own = request(NR_LOAD, 10);
    expect_error(own, NR_E_TOO_LARGE, FAKE_SLOT_B);
    nr_put_u16(payload, 7);
    own = request(NR_COMMIT, 2);
    expect_error(own, NR_E_SLOT, 2);
}

static void data_outside_the_opened_slot_is_an_error_and_not_written(void)
{
    static const uint32_t offsets[] = {91, 100, 101, 600, 0x7FFFFFFF, 0xFFFFFFFF, 0xFFFFFFF6};
    uint8_t own;
    start();
    own = request(NR_LOAD, host_load(payload, 0, content, 100));
    expect_frame(NR_STATUS, own);
    memset(fake.slots, 0xEE, sizeof fake.slots);
    for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
        (void)host_data(payload, 0, content, 10);
        nr_put_u32(payload, offsets[i]);
        send(NR_DATA, (uint8_t)(seq + 1), 14); /* out of order: neither stored nor noted */
        expect_ack(seq, 0);
        own = request(NR_DATA, 14);
        expect_error(own, NR_E_ARGUMENT, 100);
        send(NR_DATA, own, 14);
        expect_error(own, NR_E_ARGUMENT, 100);
    }
    for (size_t i = 0; i < sizeof fake.slots; i++) {
        CHECK(fake.slots[i] == 0xEE);
    }
}

static void data_without_a_load_is_an_error(void)
{
    uint8_t own;
    start();
    own = send_data(seq++, 0, 10);
    expect_error(own, NR_E_ARGUMENT, 0);
    load_slot(0, 100);
    own = send_data(seq++, 0, 10); /* COMMIT has closed the slot */
    expect_error(own, NR_E_ARGUMENT, 0);
}

static void commit_checks_length_and_crc(void)
{
    uint8_t own;
    start();
    own = request(NR_LOAD, host_load(payload, 0, content, 100));
    expect_frame(NR_STATUS, own);
    (void)send_data(seq++, 0, 99);
    expect_ack(seq, 0);
    nr_put_u16(payload, 0);
    own = request(NR_COMMIT, 2);
    expect_error(own, NR_E_CRC, 99);
    nr_put_u16(payload, 0);
    own = request(NR_COMMIT, 2);
    expect_error(own, NR_E_NOT_LOADED, 0);

    (void)host_load(payload, 0, content, 100);
    payload[6] ^= 1U;
    own = request(NR_LOAD, 10);
    expect_frame(NR_STATUS, own);
    (void)send_data(seq++, 0, 100);
    expect_ack(seq, 0);
    nr_put_u16(payload, 0);
    own = request(NR_COMMIT, 2);
    expect_error(own, NR_E_CRC, nr_crc32(0, content, 100));
    own = request(NR_RUN, host_run(payload, 0, 1, 0, 0));
    expect_error(own, NR_E_NOT_LOADED, 0);
    CHECK(fake.loads == 0);
}

static void a_refused_input_cannot_be_run(void)
{
    uint8_t own;
    start();
    fake.load_code = 12;
    own = request(NR_LOAD, host_load(payload, 0, content, 10));
    expect_frame(NR_STATUS, own);
    (void)send_data(seq++, 0, 10);
    expect_ack(seq, 0);
    nr_put_u16(payload, 0);
    own = request(NR_COMMIT, 2);
    expect_error(own, NR_E_WORKLOAD, 12);
    own = request(NR_RUN, host_run(payload, 0, 1, 0, 0));
    expect_error(own, NR_E_NOT_LOADED, 0);
}

static void a_slot_that_is_being_loaded_cannot_be_run(void)
{
    uint8_t own;
    start();
    load_slot(0, 100);
    own = request(NR_LOAD, host_load(payload, 0, content, 50));
    expect_frame(NR_STATUS, own);
    own = request(NR_RUN, host_run(payload, 0, 1, 0, 0));
    expect_error(own, NR_E_NOT_LOADED, 0);
}

/* ---- windows ---- */

static void run_marks_each_phase_and_returns_the_output(void)
{
    uint8_t own;
    uint64_t acknowledged;
    start();
    load_slot(0, 100);
    own = send_run(4);
    acknowledged = fake.tick;
    fake_run_us(&fake, GUARD_US + POLL_US);
    expect_done(own, 0, 3, 16);
    CHECK(mark_phase(0) == 1 && mark_phase(1) == 2 && mark_phase(2) == 0);
    CHECK(mark_tick(1) - mark_tick(0) == 4 * FAKE_PHASE_US + 2
          && mark_tick(2) - mark_tick(1) == 4 * FAKE_PHASE_US + 2);
    CHECK(mark_tick(0) - acknowledged >= GUARD_US - POLL_US
          && mark_tick(0) - acknowledged <= GUARD_US + FAKE_REST_US);
    for (int i = 0; i < 3; i++) {
        CHECK(mark_tick(i) == fake.edges[i].tick && mark_phase(i) == fake.edges[i].phase
              && fake.edges[i].hold_us == 2);
    }
    CHECK(got.payload_b == OUTPUT_AT_B + 16
          && output_is_right(got.payload + OUTPUT_AT_B, 0, 16, 100));
    CHECK(fake.preprocesses == 4 && fake.infers == 4 && fake.results == 1 && iterations() == 4);
}

/* BATCH of `count` slots, numbered downwards from the last. */
static size_t put_batch(uint32_t repeat, uint16_t count)
{
    nr_put_u32(payload, repeat);
    nr_put_u32(payload + 4, GUARD_US);
    nr_put_u16(payload + 8, 0);
    for (uint16_t i = 0; i < count; i++) {
        nr_put_u16(payload + 10 + 2 * i, (uint16_t)(count - 1 - i));
    }
    return 10U + 2U * count;
}

static uint8_t send_batch(uint32_t repeat, uint16_t count)
{
    uint8_t own = request(NR_BATCH, put_batch(repeat, count));
    expect_ack(seq, 0);
    expect_nothing();
    return own;
}

static void a_batch_is_one_window_and_returns_every_output_in_its_order(void)
{
    uint8_t own;
    start();
    CHECK((got.payload[27] & NR_CAP_BATCH) != 0);
    load_slot(0, 100);
    load_slot(1, 7);
    own = send_batch(3, 2);
    send(NR_BATCH, own, put_batch(3, 2)); /* heard again in the guard */
    expect_ack(seq, 0);
    fake_run_us(&fake, GUARD_US + POLL_US);
    expect_done(own, 0, 2, 32);
    CHECK(mark_phase(0) == NR_PHASE_BATCH && mark_phase(1) == NR_PHASE_END && fake.edge_count == 2);
    CHECK(mark_tick(1) - mark_tick(0) == 3U * 2U * 2U * FAKE_PHASE_US + 2U);
    CHECK(fake.preprocesses == 6 && fake.infers == 6 && fake.results == 6 && iterations() == 6);
    CHECK(got.payload_b == DONE_FIXED_B + 2 * 9 + 32);
    CHECK(output_is_right(got.payload + DONE_FIXED_B + 2 * 9, 0, 16, 7));
    CHECK(output_is_right(got.payload + DONE_FIXED_B + 2 * 9 + 16, 0, 16, 100));
}

static void a_workload_with_one_timed_phase_does_all_of_it_in_a_batch(void)
{
    uint8_t own;
    start();
    fake.workload.phases = 1;
    load_slot(0, 100);
    own = send_batch(3, 1);
    fake_run_us(&fake, GUARD_US + POLL_US);
    expect_done(own, 0, 2, 16);
    CHECK(mark_phase(0) == NR_PHASE_BATCH && fake.preprocesses == 3 && fake.infers == 3
          && iterations() == 3);
}

static void the_outputs_of_a_batch_fill_their_memory_and_are_fetched_in_chunks(void)
{
    uint8_t own;
    size_t total_b = 2 * FAKE_OUTPUT_BYTES;
    start();
    fake.output_length_b = FAKE_OUTPUT_BYTES;
    load_slot(0, 100);
    load_slot(1, 7);
    own = send_batch(1, 2);
    fake_run_us(&fake, GUARD_US + POLL_US);
    expect_done(own, 0, 2, (uint32_t)total_b);
    for (size_t at = 0; at < total_b; at += got.payload_b - 4) {
        nr_put_u32(payload, (uint32_t)at);
        own = request(NR_RESULT, 4);
        expect_frame(NR_CHUNK, own);
        for (size_t i = 4; i < got.payload_b; i++) {
            size_t place = at + i - 4;
            CHECK(output_is_right(got.payload + i, place % FAKE_OUTPUT_BYTES, 1,
                                  place < FAKE_OUTPUT_BYTES ? 7 : 100));
        }
        CHECK(got.payload_b > 4);
    }
}

static void a_batch_that_fails_has_no_output_and_ends_with_a_mark(void)
{
    uint8_t own;
    start();
    load_slot(0, 100);
    load_slot(1, 100);
    fake.infers_max = 1;
    own = send_batch(5, 2);
    fake_run_us(&fake, GUARD_US + POLL_US);
    expect_error(own, NR_E_WORKLOAD, 99);
    CHECK(fake.infers == 2 && fake.edge_count == 2 && fake.edges[1].phase == NR_PHASE_END);
    fake.infers_max = 0;
    fake.output_as_input = true;
    load_slot(1, 99);
    own = send_batch(1, 2);
    fake_run_us(&fake, GUARD_US + POLL_US);
    expect_error(own, NR_E_UNSUPPORTED, 0);
    nr_put_u32(payload, 0);
    own = request(NR_RESULT, 4);
    expect_frame(NR_CHUNK, own);
    CHECK(got.payload_b == 4);
}

static void arguments_of_a_batch_are_checked(void)
{
    uint8_t own;
    start();
    load_slot(0, 100);
    own = request(NR_BATCH, put_batch(1, 2));
    expect_error(own, NR_E_NOT_LOADED, 1);
    own = request(NR_BATCH, put_batch(1, 0));
    expect_error(own, NR_E_LENGTH, 12);
    own = request(NR_BATCH, put_batch(1, 1) + 1);
    expect_error(own, NR_E_LENGTH, 12);
    own = request(NR_BATCH, 0);
    expect_error(own, NR_E_LENGTH, 12);
    own = request(NR_BATCH, put_batch(1, 3));
    expect_error(own, NR_E_ARGUMENT, FAKE_SLOTS);
    load_slot(1, 100);
    own = request(NR_BATCH, put_batch(0, 2));
    expect_error(own, NR_E_ARGUMENT, 1);
    own = request(NR_BATCH, put_batch(UINT32_MAX / 2 + 1, 2));
    expect_error(own, NR_E_ARGUMENT, 1);
    (void)put_batch(1, 2);
    nr_put_u16(payload + 12, 2);
    own = request(NR_BATCH, 14);
    expect_error(own, NR_E_SLOT, 2);
    (void)put_batch(1, 2);
    nr_put_u16(payload + 8, 1);
    own = request(NR_BATCH, 14);
    expect_error(own, NR_E_ARGUMENT, 2);
    CHECK(fake.edge_count == 0);
}

static void a_device_with_room_for_one_output_knows_no_batch(void)
{
    uint8_t own;
    start();
    fake.shim.memory.output_b = 2 * FAKE_OUTPUT_BYTES - 1;
    say_hello(5);
    CHECK((got.payload[27] & NR_CAP_BATCH) == 0);
    load_slot(0, 100);
    own = request(NR_BATCH, put_batch(1, 1));
    expect_error(own, NR_E_UNSUPPORTED, 0);
    own = send_run(1);
    fake_run_us(&fake, GUARD_US + POLL_US);
    expect_done(own, 0, 3, 16);
}

static void one_timed_phase_has_two_marks(void)
{
    uint8_t own;
    start();
    fake.workload.phases = 1;
    load_slot(0, 100);
    own = send_run(3);
    fake_run_us(&fake, GUARD_US + POLL_US);
    expect_done(own, 0, 2, 16);
    CHECK(mark_phase(0) == 1 && mark_phase(1) == 0 && fake.preprocesses == 1 && fake.infers == 3
          && iterations() == 3);
}

static void a_long_output_is_fetched_in_chunks(void)
{
    uint8_t own;
    size_t first_b = NR_MAX_PAYLOAD_B - OUTPUT_AT_B;
    start();
    fake.output_length_b = FAKE_OUTPUT_BYTES;
    load_slot(0, 100);
    own = send_run(1);
    fake_run_us(&fake, GUARD_US + POLL_US);
    expect_done(own, 0, 3, FAKE_OUTPUT_BYTES);
    CHECK(got.payload_b == NR_MAX_PAYLOAD_B
          && output_is_right(got.payload + OUTPUT_AT_B, 0, first_b, 100));
    nr_put_u32(payload, (uint32_t)first_b);
    own = request(NR_RESULT, 4);
    expect_frame(NR_CHUNK, own);
    CHECK(nr_get_u32(got.payload) == first_b && got.payload_b == 4 + FAKE_OUTPUT_BYTES - first_b);
    CHECK(output_is_right(got.payload + 4, first_b, got.payload_b - 4, 100));
    nr_put_u32(payload, 0);
    own = request(NR_RESULT, 4);
    expect_frame(NR_CHUNK, own);
    CHECK(got.payload_b == NR_MAX_PAYLOAD_B
          && output_is_right(got.payload + 4, 0, NR_MAX_PAYLOAD_B - 4, 100));
    nr_put_u32(payload, FAKE_OUTPUT_BYTES);
    own = request(NR_RESULT, 4);
    expect_frame(NR_CHUNK, own);
    CHECK(got.payload_b == 4);
    nr_put_u32(payload, FAKE_OUTPUT_BYTES + 1);
    own = request(NR_RESULT, 4);
    expect_error(own, NR_E_ARGUMENT, FAKE_OUTPUT_BYTES);
}

static void arguments_of_windows_are_checked(void)
{
    uint8_t own;
    start();
    load_slot(0, 100);
    own = request(NR_RUN, host_run(payload, 2, 1, 0, 0));
    expect_error(own, NR_E_SLOT, 2);
    own = request(NR_RUN, host_run(payload, 1, 1, 0, 0));
    expect_error(own, NR_E_NOT_LOADED, 1);
    own = request(NR_RUN, host_run(payload, 0, 0, 0, 0));
    expect_error(own, NR_E_ARGUMENT, 1);
    own = request(NR_RUN, host_run(payload, 0, 1, 0, 1));
    expect_error(own, NR_E_ARGUMENT, 2);
    memset(payload, 0, 11);
    for (int count = 0; count <= 255; count++) {
        if (count < 2 || count > NR_MARKS_MAX) {
            payload[0] = (uint8_t)count;
            own = request(NR_SYNC, 11);
            expect_error(own, NR_E_ARGUMENT, NR_MARKS_MAX);
        }
    }
    CHECK(fake.edge_count == 0);
}

static void idle_is_as_long_as_asked(void)
{
    uint8_t own;
    start();
    nr_put_u32(payload, 1234567);
    nr_put_u32(payload + 4, 0);
    nr_put_u16(payload + 8, 50);
    own = request(NR_IDLE, 10);
    expect_ack(seq, 0);
    poll_device();
    expect_done(own, 0, 2, 0);
    CHECK(mark_phase(0) == 0x40 && mark_phase(1) == 0
          && mark_tick(1) - mark_tick(0) == 1234567 + 2);
    CHECK(fake.edges[0].hold_us == 50 && got.payload_b == 30 && iterations() == 0);
}

static void a_sync_burst_has_its_pattern(void)
{
    static const uint64_t intervals[] = {1, 2, 1, 4, 1, 2, 1, 4, 1};
    uint8_t own;
    start();
    payload[0] = 10;
    fake.sync_left = 10;
    nr_put_u32(payload + 1, 3000);
    nr_put_u32(payload + 5, 0);
    nr_put_u16(payload + 9, 20);
    own = request(NR_SYNC, 11);
    expect_ack(seq, 0);
    poll_device();
    expect_done(own, 0, 10, 0);
    for (int i = 0; i < 9; i++) {
        CHECK(mark_phase(i) == 0x50 && mark_tick(i + 1) - mark_tick(i) == intervals[i] * 3000);
    }
}

static void a_burst_of_period_zero_is_as_fast_as_it_gets(void)
{
    uint8_t own;
    start();
    memset(payload, 0, 11);
    payload[0] = NR_MARKS_MAX;
    fake.sync_left = NR_MARKS_MAX;
    own = request(NR_SYNC, 11);
    expect_ack(seq, 0);
    poll_device();
    expect_done(own, 0, NR_MARKS_MAX, 0);
    CHECK(got.payload_b == DONE_FIXED_B + 9 * NR_MARKS_MAX && iterations() == 0);
}

static void the_same_request_in_the_guard_is_acknowledged_and_starts_it_anew(void)
{
    uint8_t own;
    uint64_t last;
    start();
    load_slot(0, 100);
    own = send_run(1);
    last = 0;
    for (int i = 0; i < NR_GUARD_RESTARTS_MAX; i++) {
        fake_run_us(&fake, GUARD_US - 2 * POLL_US);
        CHECK(fake.edge_count == 0);
        last = fake.tick;
        send(NR_RUN, own, host_run(payload, 0, 1, GUARD_US, 0));
        expect_ack(seq, 0);
    }
    fake_run_us(&fake, GUARD_US - 3 * POLL_US);
    CHECK(fake.edge_count == 0);
    send(NR_RUN, own, host_run(payload, 0, 1, GUARD_US, 0)); /* the ninth: enough */
    expect_nothing();
    fake_run_us(&fake, 4 * POLL_US);
    expect_done(own, 0, 3, 16);
    CHECK(fake.infers == 1 && fake.edges[0].tick >= last + GUARD_US);
}

static void a_go_opens_the_window_at_once(void)
{
    uint8_t own;
    uint64_t from;
    start();
    load_slot(0, 100);
    own = send_run(1);
    from = fake.tick;
    send(NR_GO, (uint8_t)(own + 1), 0); /* of another number */
    fake_run_us(&fake, POLL_US);
    CHECK(fake.edge_count == 0);
    send(NR_GO, own, 0);
    poll_device();
    expect_done(own, 0, 3, 16);
    CHECK(fake.infers == 1 && fake.edges[0].tick < from + GUARD_US - POLL_US);
    send(NR_GO, own, 0); /* too late */
    expect_nothing();
    own = request(NR_PING, 0);
    expect_frame(NR_PONG, own);
    CHECK(fake.infers == 1);
}

static void other_requests_in_the_guard_are_dropped(void)
{
    uint8_t own;
    start();
    load_slot(0, 100);
    own = send_run(1);
    send(NR_PING, seq, 0);
    send(NR_RUN, (uint8_t)(own - 1), host_run(payload, 0, 1, GUARD_US, 0));
    send(NR_PING, own, 0);
    expect_nothing();
    fake_run_us(&fake, GUARD_US + POLL_US);
    expect_done(own, 0, 3, 16);
    own = request(NR_PING, 0);
    expect_frame(NR_PONG, own);
}

static void a_new_session_in_the_guard_cancels_the_window(void)
{
    start();
    load_slot(0, 100);
    (void)send_run(1);
    seq = 90;
    say_hello(77);
    fake_run_us(&fake, 3 * GUARD_US);
    expect_nothing();
    CHECK(fake.edge_count == 0 && fake.infers == 0);
}

static void a_frame_under_way_at_the_end_of_the_guard_is_awaited(void)
{
    uint8_t bytes[64];
    uint8_t own;
    size_t length_b;
    start();
    load_slot(0, 100);
    own = send_run(1);
    length_b = host_encode(bytes, sizeof bytes, NR_RUN, own, payload,
                           host_run(payload, 0, 1, GUARD_US, 0));
    fake_run_us(&fake, GUARD_US - 2 * POLL_US);
    fake_send(&fake, bytes, 5);
    fake_run_us(&fake, 4 * POLL_US);
    CHECK(fake.edge_count == 0);
    fake_send(&fake, bytes + 5, length_b - 5);
    poll_device();
    expect_ack(seq, 0);
    fake_run_us(&fake, GUARD_US + POLL_US);
    expect_done(own, 0, 3, 16);
}

static void bytes_in_the_window_are_counted_and_processed_afterwards(void)
{
    uint8_t bytes[64];
    uint8_t own;
    size_t length_b;
    start();
    load_slot(0, 100);
    own = send_run(5);
    length_b = host_encode(bytes, sizeof bytes, NR_RUN, own, payload,
                           host_run(payload, 0, 5, GUARD_US, 0));
    /* a late repetition falls into the window */
    fake_send_later(&fake, bytes, length_b, GUARD_US + FAKE_PHASE_US);
    fake_run_us(&fake, GUARD_US + POLL_US);
    expect_done(own, (uint16_t)length_b, 3, 16);
    fake_run_us(&fake, 2 * GUARD_US);
    expect_done(own, (uint16_t)length_b, 3, 16); /* it is answered like any repetition */
    CHECK(fake.infers == 5);
    own = request(NR_PING, 0);
    expect_frame(NR_PONG, own);
}

static void a_flood_in_the_window_is_counted_up_to_the_backlog(void)
{
    uint8_t noise[1000];
    uint8_t own;
    memset(noise, 0, sizeof noise);
    start();
    load_slot(0, 100);
    own = send_run(5);
    fake_send_later(&fake, noise, sizeof noise, GUARD_US + FAKE_PHASE_US);
    fake_run_us(&fake, GUARD_US + POLL_US);
    expect_done(own, NR_BACKLOG_B, 3, 16);
    own = request(NR_PING, 0);
    expect_frame(NR_PONG, own);
}

static void a_failing_workload_ends_the_window_with_an_error(void)
{
    uint8_t own;
    start();
    load_slot(0, 100);
    fake.infer_code = 77;
    own = send_run(3);
    fake_run_us(&fake, GUARD_US + POLL_US);
    expect_error(own, NR_E_WORKLOAD, 77);
    check_silence();
    CHECK(fake.infers == 1 && fake.edge_count == 3);
    fake.infer_code = 0;
    fake.preprocess_code = 78;
    own = send_run(3);
    fake_run_us(&fake, GUARD_US + POLL_US);
    expect_error(own, NR_E_WORKLOAD, 78);
    CHECK(fake.edge_count == 5 && fake.edges[4].phase == NR_PHASE_END);
    nr_put_u32(payload, 0);
    own = request(NR_RESULT, 4);
    expect_frame(NR_CHUNK, own);
    CHECK(got.payload_b == 4); /* nothing of an earlier run */
}

/* ---- leaving ---- */

static void text_leads_back(void)
{
    uint8_t own;
    start();
    own = request(NR_TEXT, 0);
    expect_frame(NR_STATUS, own);
    send_text("name%");
    expect_text("m-name-dut-[fake]\r\nm-ready\r\n");
}

static void name_leads_back_after_a_delimiter(void)
{
    start();
    send_text("name%");
    expect_text("m-name-dut-[fake]\r\nm-ready\r\n");
    send_text("profile%");
    expect_text("m-profile-[neurorig fake]\r\nm-model-[fake-1]\r\nm-ready\r\n");
}

static void name_leads_back_after_a_partial_frame_and_100_ms(void)
{
    uint8_t bytes[64];
    size_t length_b = host_encode(bytes, sizeof bytes, NR_PING, 1, "abcdefgh", 8);
    for (size_t cut = 2; cut < length_b; cut++) {
        start();
        fake_send(&fake, bytes, cut);
        fake_run_us(&fake, 90000);
        send_text("name%"); /* too early: it is taken for a part of the frame */
        expect_text("");
        fake_run_us(&fake, 101000);
        send_text("name%");
        expect_text("m-name-dut-[fake]\r\nm-ready\r\n");
    }
}

static void name_inside_a_frame_does_not_lead_back(void)
{
    uint8_t own;
    start();
    memcpy(payload, "name%name%name%", 15);
    own = request(NR_PING, 15);
    expect_frame(NR_PONG, own);
    /* a frame whose code byte is `n`, as of the escape, but whose type is not `a` */
    memset(payload, 'x', 120);
    payload[106] = 0;
    own = request(NR_PING, 107);
    expect_frame(NR_PONG, own);
}

static void name_in_pieces_leads_back(void)
{
    start();
    send_text("na");
    send_text("me");
    expect_text("");
    send_text("%");
    expect_text("m-name-dut-[fake]\r\nm-ready\r\n");
}

static void name_cancels_a_window_in_its_guard(void)
{
    start();
    load_slot(0, 100);
    (void)send_run(1);
    send_text("name%");
    expect_text("m-name-dut-[fake]\r\nm-ready\r\n");
    fake_run_us(&fake, 3 * GUARD_US);
    CHECK(fake.edge_count == 0);
}

static void an_input_loaded_in_frames_can_be_run_from_text(void)
{
    start();
    load_slot(0, 100);
    send_text("name%");
    (void)host_take(&host, &got);
    send_text("infer 2 0%");
    fake_run_us(&fake, POLL_US);
    CHECK(fake.infers == 2);
    check_silence();
}

static void the_old_session_is_gone_after_text(void)
{
    start();
    send_text("name%");
    expect_text("m-name-dut-[fake]\r\nm-ready\r\n");
    send_text("frame 1%");
    expect_text("m-frame-[1]\r\nm-ready\r\n");
    send(NR_PING, seq, 0);
    expect_ack(0, 0);
    seq = 5;
    say_hello(0xDEADBEEFU); /* the same nonce begins a new session all the same */
    send(NR_PING, 6, 0);
    expect_frame(NR_PONG, 6);
}

/* ---- the rate ---- */

static uint8_t request_baud(uint32_t baud)
{
    nr_put_u32(payload, baud);
    return request(NR_BAUD, 4);
}

static void a_confirmed_rate_stays(void)
{
    uint8_t own;
    start();
    own = request_baud(921600);
    host.fake->host_baud = 115200; /* STATUS came at the old rate */
    expect_frame(NR_STATUS, own);
    CHECK(fake.baud == 921600);
    fake.host_baud = 921600;
    own = request(NR_PING, 0);
    expect_frame(NR_PONG, own);
    fake_run_us(&fake, 2000000);
    CHECK(fake.baud == 921600);
    own = request(NR_PING, 0);
    expect_frame(NR_PONG, own);
}

static void an_unconfirmed_rate_is_taken_back_after_500_ms(void)
{
    uint8_t own;
    uint8_t ping;
    start();
    own = request_baud(921600);
    expect_frame(NR_STATUS, own);
    fake.host_baud = 460800; /* the host cannot follow */
    ping = seq;
    for (int i = 0; i < 4; i++) {
        send(NR_PING, ping, 0);
        fake_run_us(&fake, 100000);
    }
    CHECK(fake.baud == 921600);
    fake_run_us(&fake, 200000);
    CHECK(fake.baud == 115200);
    fake.host_baud = 115200;
    (void)fake_receive(&fake, host.pending, sizeof host.pending);
    send(NR_PING, ping, 0);
    expect_frame(NR_PONG, ping);
    seq++;
    own = request_baud(230400); /* and later attempts go back to 115 200, not to 921 600 */
    expect_frame(NR_STATUS, own);
    fake_run_us(&fake, 510000);
    CHECK(fake.baud == 115200);
}

static void name_at_the_new_rate_confirms_it(void)
{
    uint8_t own;
    start();
    own = request_baud(921600);
    expect_frame(NR_STATUS, own);
    fake.host_baud = 921600;
    send_text("name%");
    expect_text("m-name-dut-[fake]\r\nm-ready\r\n");
    fake_run_us(&fake, 1000000);
    CHECK(fake.baud == 921600);
}

static void a_rate_that_cannot_be_made_is_refused(void)
{
    uint8_t own;
    start();
    fake.refused_baud = 3000000;
    own = request_baud(3000000);
    expect_error(own, NR_E_ARGUMENT, 3000000);
    own = request_baud(0);
    expect_error(own, NR_E_ARGUMENT, 0);
    CHECK(fake.baud == 115200);
    fake.port.set_baud = NULL;
    own = request_baud(9600);
    expect_error(own, NR_E_UNSUPPORTED, 0);
    seq = 9;
    say_hello(3);
    CHECK((got.payload[27] & NR_CAP_BAUD) == 0);
}

static void a_repeated_baud_request_switches_nothing(void)
{
    uint8_t own;
    int calls;
    start();
    own = request_baud(230400);
    expect_frame(NR_STATUS, own);
    fake_run_us(&fake, 510000);
    CHECK(fake.baud == 115200);
    calls = fake.baud_calls;
    nr_put_u32(payload, 230400);
    send(NR_BAUD, own, 4);
    expect_frame(NR_STATUS, own);
    CHECK(fake.baud_calls == calls && fake.baud == 115200);
}

int main(void)
{
    RUN(caps_state_the_device);
    RUN(long_names_are_cut_and_caps_stays_within_256_bytes);
    RUN(before_hello_nothing_is_executed);
    RUN(hello_again_with_the_same_nonce_changes_nothing);
    RUN(hello_with_a_new_nonce_forgets_everything);
    RUN(hello_of_another_version_or_length_is_refused_and_changes_nothing);
    RUN(ping_returns_any_bytes_up_to_max_payload);
    RUN(sequence_numbers_wrap);
    RUN(wrong_requests_are_refused_once_and_the_session_goes_on);
    RUN(device_messages_are_not_answered);
    RUN(a_repeated_request_is_answered_again_and_not_executed_again);
    RUN(anything_out_of_order_is_acknowledged_and_not_executed);
    RUN(data_may_come_in_any_order_within_the_window);
    RUN(the_crc_is_that_of_the_bytes_as_they_lie);
    RUN(data_outside_the_window_is_not_stored);
    RUN(repeated_data_counts_once);
    RUN(a_long_load_wraps_the_numbers_with_losses);
    RUN(loads_that_do_not_fit_are_refused);
    RUN(data_outside_the_opened_slot_is_an_error_and_not_written);
    RUN(data_without_a_load_is_an_error);
    RUN(commit_checks_length_and_crc);
    RUN(a_refused_input_cannot_be_run);
    RUN(a_slot_that_is_being_loaded_cannot_be_run);
    RUN(run_marks_each_phase_and_returns_the_output);
    RUN(one_timed_phase_has_two_marks);
    RUN(a_long_output_is_fetched_in_chunks);
    RUN(a_batch_is_one_window_and_returns_every_output_in_its_order);
    RUN(a_workload_with_one_timed_phase_does_all_of_it_in_a_batch);
    RUN(the_outputs_of_a_batch_fill_their_memory_and_are_fetched_in_chunks);
    RUN(a_batch_that_fails_has_no_output_and_ends_with_a_mark);
    RUN(arguments_of_a_batch_are_checked);
    RUN(a_device_with_room_for_one_output_knows_no_batch);
    RUN(arguments_of_windows_are_checked);
    RUN(idle_is_as_long_as_asked);
    RUN(a_sync_burst_has_its_pattern);
    RUN(a_burst_of_period_zero_is_as_fast_as_it_gets);
    RUN(the_same_request_in_the_guard_is_acknowledged_and_starts_it_anew);
    RUN(a_go_opens_the_window_at_once);
    RUN(other_requests_in_the_guard_are_dropped);
    RUN(a_new_session_in_the_guard_cancels_the_window);
    RUN(a_frame_under_way_at_the_end_of_the_guard_is_awaited);
    RUN(bytes_in_the_window_are_counted_and_processed_afterwards);
    RUN(a_flood_in_the_window_is_counted_up_to_the_backlog);
    RUN(a_failing_workload_ends_the_window_with_an_error);
    RUN(text_leads_back);
    RUN(name_leads_back_after_a_delimiter);
    RUN(name_leads_back_after_a_partial_frame_and_100_ms);
    RUN(name_inside_a_frame_does_not_lead_back);
    RUN(name_in_pieces_leads_back);
    RUN(name_cancels_a_window_in_its_guard);
    RUN(an_input_loaded_in_frames_can_be_run_from_text);
    RUN(the_old_session_is_gone_after_text);
    RUN(a_confirmed_rate_stays);
    RUN(an_unconfirmed_rate_is_taken_back_after_500_ms);
    RUN(name_at_the_new_rate_confirms_it);
    RUN(a_rate_that_cannot_be_made_is_refused);
    RUN(a_repeated_baud_request_switches_nothing);
    return report("shim");
}
