/* SPDX-License-Identifier: Apache-2.0 */
/* SELFTEST: docs/reference/PROTOCOL.md, section 7; each part on a device that is well, and on one
   that is not. */
#include <string.h>

#include "check.h"
#include "fake_host.h"
#include "fake_port.h"

enum {
    POLL_US = 5000,
    SEQ_START = 30,
    READS = 100,
    REPEAT = 3,
    PULSES = 2 + 8 * 3,
    UNKNOWN = 0xFF
};

static const uint32_t unknown = 0xFFFFFFFFU;

static struct fake fake;
static struct host host;
static struct host_frame got;
static uint8_t seq;
static uint8_t payload[NR_MAX_PAYLOAD_B];

static void expect(uint8_t type, uint8_t wanted_seq)
{
    CHECK(host_take(&host, &got) && got.type == type && got.seq == wanted_seq);
}

static void send(uint8_t type, uint8_t at_seq, size_t payload_b)
{
    host_send(&host, type, at_seq, payload, payload_b);
    fake_run_us(&fake, POLL_US);
}

static void start(void)
{
    fake_start(&fake);
    host_init(&host, &fake);
    fake_send(&fake, "frame 1%", 8);
    fake_run_us(&fake, POLL_US);
    (void)fake_receive(&fake, host.pending, sizeof host.pending);
    seq = SEQ_START;
    send(NR_HELLO, seq, host_hello(payload, 77));
    expect(NR_CAPS, seq++);
}

static size_t self_test_request(uint16_t reads, uint16_t repeat)
{
    nr_put_u16(payload, reads);
    nr_put_u16(payload + 2, repeat);
    return 4;
}

static void self_test(void)
{
    send(NR_SELFTEST, seq, self_test_request(READS, REPEAT));
    expect(NR_REPORT, seq++);
    CHECK(got.payload_b == 55);
}

static uint32_t u32_at(size_t at) { return nr_get_u32(got.payload + at); }

static uint16_t u16_at(size_t at) { return nr_get_u16(got.payload + at); }

static size_t frame_b(uint8_t type, uint8_t at_seq, size_t payload_b)
{
    uint8_t bytes[600];
    return host_encode(bytes, sizeof bytes, type, at_seq, payload, payload_b);
}

/* ---- what comes in ---- */

static void a_burst_of_full_frames_is_counted_to_the_byte(void)
{
    size_t sent_b = 0;
    start();
    self_test();
    for (size_t i = 0; i < sizeof payload; i++) {
        payload[i] = (uint8_t)(i * 3);
    }
    for (int i = 0; i < NR_WINDOW; i++) { /* out of order: acknowledged, and not executed */
        host_send(&host, NR_PING, (uint8_t)(seq + 128), payload, NR_MAX_PAYLOAD_B);
        sent_b += frame_b(NR_PING, (uint8_t)(seq + 128), NR_MAX_PAYLOAD_B);
    }
    fake_run_us(&fake, POLL_US);
    for (int i = 0; i < NR_WINDOW; i++) {
        expect(NR_ACK, seq);
    }
    sent_b += frame_b(NR_SELFTEST, seq, self_test_request(READS, REPEAT));
    self_test();
    CHECK(u32_at(16) == sent_b && u32_at(20) == NR_WINDOW + 1 && u32_at(24) == 0
          && u32_at(28) == 0);
}

static void lost_bytes_and_broken_frames_are_told(void)
{
    uint8_t bytes[64];
    size_t length_b;
    start();
    self_test();
    length_b = host_encode(bytes, sizeof bytes, NR_PING, seq, "abc", 3);
    fake_send(&fake, bytes, 4); /* the port loses a byte behind it */
    fake_send(&fake, bytes + 5, length_b - 5);
    fake.lost_b = 1;
    fake_run_us(&fake, POLL_US);
    self_test();
    CHECK(u32_at(16)
          == length_b - 1 + frame_b(NR_SELFTEST, SEQ_START + 2, self_test_request(READS, REPEAT)));
    CHECK(u32_at(20) == 1 && u32_at(24) == 1 && u32_at(28) == 1);
    self_test();
    CHECK(u32_at(20) == 1 && u32_at(24) == 0 && u32_at(28) == 1);
}

/* ---- the timer ---- */

static void the_timer_is_read_at_once_and_its_smallest_step_found(void)
{
    uint64_t asked;
    uint64_t told;
    start();
    fake.tick_a_read = 3;
    asked = fake.tick;
    self_test();
    told = u32_at(0) | (uint64_t)u32_at(4) << 32;
    CHECK(told >= asked && told < asked + 50);
    CHECK(u32_at(51) >= 3 * READS && told + u32_at(51) <= fake.tick);
    CHECK(u32_at(8) == 3 && u16_at(12) == READS && u16_at(14) == 0);
}

static void a_timer_that_stands_still_has_no_step(void)
{
    start();
    self_test();
    CHECK(u32_at(8) == unknown && u16_at(12) == 0 && u16_at(14) == 0);
}

static void a_timer_that_jumps_back_is_told(void)
{
    start();
    fake.tick_a_read = 3;
    fake.back_at_read = 60;
    self_test();
    CHECK(u32_at(8) == 3 && u16_at(12) == READS - 1 && u16_at(14) == 1);
}

/* ---- SYNC ---- */

static void the_pin_is_high_low_and_high_again(void)
{
    start();
    self_test();
    CHECK(got.payload[40] == 1 && got.payload[41] == 0 && got.payload[42] == 1);
    CHECK(fake.edge_count == PULSES && fake.undrained_at_mark == 0 && fake.writes_in_window == 0);
}

static void a_pin_that_does_not_move_is_told(void)
{
    start();
    fake.sync_stuck = true;
    self_test();
    CHECK(got.payload[40] == 1 && got.payload[41] == 1 && got.payload[42] == 1);
}

static void a_port_that_knows_nothing_says_so(void)
{
    start();
    fake.port.rx_lost_b = NULL;
    fake.port.sync_level = NULL;
    fake.port.stack_unused_b = NULL;
    self_test();
    CHECK(got.payload[40] == UNKNOWN && got.payload[41] == UNKNOWN && got.payload[42] == UNKNOWN);
    CHECK(u32_at(28) == unknown && u32_at(32) == 0 && u32_at(36) == 0);
}

/* ---- stack and overhead ---- */

static void the_stack_is_what_the_port_says(void)
{
    start();
    fake.stack_unused_b = 1234;
    self_test();
    CHECK(u32_at(32) == FAKE_STACK_B && u32_at(36) == 1234);
}

static void empty_queries_are_timed_without_the_workload(void)
{
    start();
    self_test();
    /* two marks of two ticks each lie between the first and the last */
    CHECK(u32_at(43) == 4 && u32_at(47) == 4);
    CHECK(fake.preprocesses == 0 && fake.infers == 0 && fake.results == 0);
}

static void the_workload_is_there_again_afterwards(void)
{
    static const uint8_t content[3] = {1, 2, 3};
    start();
    self_test();
    send(NR_LOAD, seq, host_load(payload, 0, content, sizeof content));
    expect(NR_STATUS, seq++);
    send(NR_DATA, seq, host_data(payload, 0, content, sizeof content));
    expect(NR_ACK, ++seq);
    nr_put_u16(payload, 0);
    send(NR_COMMIT, seq, 2);
    expect(NR_STATUS, seq++);
    send(NR_RUN, seq, host_run(payload, 0, 5, 0, 0));
    expect(NR_ACK, (uint8_t)(seq + 1));
    fake_run_us(&fake, 20 * FAKE_PHASE_US);
    expect(NR_DONE, seq++);
    CHECK(fake.infers == 5 && nr_get_u32(got.payload + 8) == 5);
}

/* ---- as a request ---- */

static void a_repeated_self_test_is_answered_again_and_not_done_again(void)
{
    struct host_frame first;
    start();
    self_test();
    first = got;
    send(NR_SELFTEST, (uint8_t)(seq - 1), self_test_request(READS, REPEAT));
    expect(NR_REPORT, (uint8_t)(seq - 1));
    CHECK(memcmp(first.payload, got.payload, got.payload_b) == 0 && fake.edge_count == PULSES);
}

static void reads_and_repeat_of_zero_are_refused(void)
{
    start();
    send(NR_SELFTEST, seq, self_test_request(0, 1));
    expect(NR_ERROR, seq++);
    CHECK(got.payload[0] == NR_E_ARGUMENT);
    send(NR_SELFTEST, seq, self_test_request(1, 0));
    expect(NR_ERROR, seq++);
    CHECK(got.payload[0] == NR_E_ARGUMENT && fake.edge_count == 0);
}

int main(void)
{
    RUN(a_burst_of_full_frames_is_counted_to_the_byte);
    RUN(lost_bytes_and_broken_frames_are_told);
    RUN(the_timer_is_read_at_once_and_its_smallest_step_found);
    RUN(a_timer_that_stands_still_has_no_step);
    RUN(a_timer_that_jumps_back_is_told);
    RUN(the_pin_is_high_low_and_high_again);
    RUN(a_pin_that_does_not_move_is_told);
    RUN(a_port_that_knows_nothing_says_so);
    RUN(the_stack_is_what_the_port_says);
    RUN(empty_queries_are_timed_without_the_workload);
    RUN(the_workload_is_there_again_afterwards);
    RUN(a_repeated_self_test_is_answered_again_and_not_done_again);
    RUN(reads_and_repeat_of_zero_are_refused);
    return report("self_test");
}
