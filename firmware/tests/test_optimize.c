/* SPDX-License-Identifier: Apache-2.0 */
/* OPTIMIZE: docs/reference/PROTOCOL.md, section 4, one test a rule. The search is the fake's: costs
   as the test says, 250 us a move. */
#include <string.h>

#include "check.h"
#include "fake_host.h"
#include "fake_port.h"

enum {
    GUARD_US = 40000,
    POLL_US = 5000,
    FIXED_B = 20,
    INPUT_B = 40,
    DONE_FIXED_B = 12,
    MARK_B = 9,
    MARK_US = 2,
    KNOWN_FIXED_B = 2,
    TICK_B = 8
};

static const uint32_t seed = 0x89ABCDEFU;

static struct fake fake;
static struct host host;
static struct host_frame got;
static uint8_t seq;
static uint8_t payload[NR_MAX_PAYLOAD_B];
static uint8_t content[INPUT_B];

static void expect_frame(uint8_t type, uint8_t wanted_seq)
{
    CHECK(host_take(&host, &got));
    CHECK(got.type == type && got.seq == wanted_seq);
}

static void expect_error(uint8_t own, uint8_t code, uint32_t detail)
{
    struct host_frame unwanted;
    expect_frame(NR_ERROR, own);
    CHECK(got.payload[0] == code && nr_get_u32(got.payload + 1) == detail);
    fake_run_us(&fake, 2 * GUARD_US);
    CHECK(!host_take(&host, &unwanted) && fake.edge_count == 0);
}

static uint8_t request(uint8_t type, size_t payload_b)
{
    uint8_t own = seq++;
    host_send(&host, type, own, payload, payload_b);
    fake_run_us(&fake, POLL_US);
    return own;
}

static uint8_t request_load(uint16_t slot)
{
    expect_frame(NR_STATUS, request(NR_LOAD, host_load(payload, slot, content, INPUT_B)));
    expect_frame(NR_ACK, (uint8_t)(request(NR_DATA, host_data(payload, 0, content, INPUT_B)) + 1U));
    nr_put_u16(payload, slot);
    return request(NR_COMMIT, 2);
}

static void start_without_search(void)
{
    uint8_t boot[FAKE_OUTPUT_B];
    fake_start(&fake);
    host_init(&host, &fake);
    fake_send(&fake, "frame 1%", 8);
    fake_run_us(&fake, POLL_US);
    (void)fake_receive(&fake, boot, sizeof boot);
    seq = 250;
    expect_frame(NR_CAPS, request(NR_HELLO, host_hello(payload, 0x25U)));
    for (size_t i = 0; i < sizeof content; i++) {
        content[i] = (uint8_t)(3 * i);
    }
}

/* A device that has found costs -2, -2, -7, -8, -9, -9 ... after as many moves, and slot 1
   loaded. */
static void start(void)
{
    static const int32_t costs[FAKE_COSTS] = {-2, -2, -7, -8, -9, -9, -9, -9};
    start_without_search();
    fake_only_searches(&fake);
    memcpy(fake.search_costs, costs, sizeof costs);
    expect_frame(NR_STATUS, request_load(1));
}

static size_t optimize(uint32_t timeout_us, int32_t target, const int32_t *thresholds, size_t count)
{
    nr_put_u16(payload, 1);
    nr_put_u32(payload + 2, seed);
    nr_put_u32(payload + 6, timeout_us);
    nr_put_u32(payload + 10, (uint32_t)target);
    nr_put_u32(payload + 14, GUARD_US);
    nr_put_u16(payload + 18, 5);
    for (size_t i = 0; i < count; i++) {
        nr_put_u32(payload + FIXED_B + 4 * i, (uint32_t)thresholds[i]);
    }
    return FIXED_B + 4 * count;
}

static void expect_done(uint8_t own, uint16_t marks)
{
    expect_frame(NR_ACK, (uint8_t)(own + 1U));
    fake_run_us(&fake, 2 * GUARD_US);
    expect_frame(NR_DONE, own);
    CHECK(nr_get_u16(got.payload) == 0 && nr_get_u16(got.payload + 2) == marks);
    CHECK(nr_get_u32(got.payload + 4) == 16 && nr_get_u32(got.payload + 8) == 1);
    CHECK(got.payload_b == DONE_FIXED_B + (size_t)MARK_B * marks + 16U);
    CHECK(fake.writes_in_window == 0 && fake.undrained_at_mark == 0 && !fake.in_window);
}

static void expect_mark(unsigned index, uint8_t phase, uint64_t after_us)
{
    const uint8_t *at = got.payload + DONE_FIXED_B + (size_t)MARK_B * index;
    uint64_t first = nr_get_u32(got.payload + DONE_FIXED_B + 1);
    CHECK(at[0] == phase && nr_get_u32(at + 1) - first == after_us);
    CHECK(fake.edges[index].phase == phase && fake.edges[index].hold_us == 5);
}

/* The fake's output: its input's bytes, each plus one. */
static bool output_is(const uint8_t *output)
{
    for (size_t i = 0; i < 16; i++) {
        if (output[i] != (uint8_t)(content[i] + 1U)) {
            return false;
        }
    }
    return true;
}

static void caps_say_who_can_search(void)
{
    start_without_search();
    CHECK((got.payload[27] & NR_CAP_OPTIMIZE) == 0 && got.payload[got.payload_b - 1] == NR_MORE_GO);
    start();
    seq = 9;
    expect_frame(NR_CAPS, request(NR_HELLO, host_hello(payload, 0x125U)));
    CHECK((got.payload[27] & NR_CAP_OPTIMIZE) != 0 && (got.payload[27] & NR_CAP_BATCH) == 0);
    CHECK(got.payload[got.payload_b - 1] == (NR_MORE_KNEW | NR_MORE_GO));
}

static void a_search_is_told_what_was_asked_from_its_first_mark_on(void)
{
    static const int32_t thresholds[2] = {5, INT32_MIN};
    uint8_t own;
    start();
    own = request(NR_OPTIMIZE, optimize(2000, -8, thresholds, 2));
    expect_done(own, 3);
    CHECK(fake.searches == 1 && fake.preprocesses == 1 && fake.infers == 0
          && fake.data == fake.slots + FAKE_SLOT_B);
    CHECK(fake.search.seed == seed && fake.search.target == -8 && fake.search.threshold_count == 2);
    CHECK(fake.search.end_tick == fake.edges[0].tick + 2000);
    CHECK(output_is(got.payload + DONE_FIXED_B + 3 * MARK_B));
}

static void the_target_ends_it(void)
{
    uint8_t own;
    start();
    own = request(NR_OPTIMIZE, optimize(1000000, -8, NULL, 0));
    expect_done(own, 2);
    expect_mark(0, NR_PHASE_PREPROCESS, 0);
    expect_mark(1, NR_PHASE_END, MARK_US + 4 * FAKE_MOVE_US);
}

static void without_a_target_the_time_out_ends_it(void)
{
    uint8_t own;
    start();
    own = request(NR_OPTIMIZE, optimize(7 * FAKE_MOVE_US + 1, INT32_MIN, NULL, 0));
    expect_done(own, 2);
    expect_mark(1, NR_PHASE_END, MARK_US + 7 * FAKE_MOVE_US);
}

static void thresholds_are_marked_when_they_are_reached_and_those_of_one_move_once(void)
{
    static const int32_t thresholds[5] = {0, -3, -7, -9, -10};
    uint8_t own;
    start();
    own = request(NR_OPTIMIZE, optimize(20 * FAKE_MOVE_US, INT32_MIN, thresholds, 5));
    expect_done(own, 5);
    expect_mark(0, NR_PHASE_PREPROCESS, 0);
    expect_mark(1, NR_PHASE_REACHED + 0, MARK_US + FAKE_MOVE_US);
    expect_mark(2, NR_PHASE_REACHED + 2, 2 * MARK_US + 3 * FAKE_MOVE_US);
    expect_mark(3, NR_PHASE_REACHED + 3, 3 * MARK_US + 5 * FAKE_MOVE_US);
    CHECK(got.payload[DONE_FIXED_B + 4 * MARK_B] == NR_PHASE_END);
}

/* Of thresholds that come sooner than their marks can, the device still knows when: each has a tick
   of its own. */
static void the_device_tells_when_it_knew_each_threshold(void)
{
    static const int32_t thresholds[5] = {0, -3, -7, -9, -10};
    static const uint64_t moves[4] = {1, 3, 3, 5};
    uint8_t own;
    uint64_t begin;
    start();
    own = request(NR_OPTIMIZE, optimize(20 * FAKE_MOVE_US, INT32_MIN, thresholds, 5));
    expect_done(own, 5);
    begin = fake.edges[0].tick + MARK_US;
    for (uint8_t first = 0; first <= 4; first++) {
        payload[0] = first;
        expect_frame(NR_KNOWN, request(NR_KNEW, 1));
        CHECK(got.payload[0] == 4 && got.payload[1] == first
              && got.payload_b == KNOWN_FIXED_B + (size_t)TICK_B * (4U - first));
        for (uint8_t i = first; i < 4; i++) {
            /* The moves so far, and the marks before: the fake's search waits for them. */
            uint64_t marks = i == 0 ? 0U : i < 3 ? 1U : 2U;
            const uint8_t *at = got.payload + KNOWN_FIXED_B + (size_t)TICK_B * (i - first);
            CHECK(nr_get_u32(at) == begin + moves[i] * FAKE_MOVE_US + marks * MARK_US
                  && nr_get_u32(at + 4) == 0);
        }
    }
    payload[0] = 5;
    expect_frame(NR_ERROR, request(NR_KNEW, 1));
    CHECK(got.payload[0] == NR_E_ARGUMENT && nr_get_u32(got.payload + 1) == 4);
    expect_frame(NR_ERROR, request(NR_KNEW, 2));
    CHECK(got.payload[0] == NR_E_LENGTH && nr_get_u32(got.payload + 1) == 1);
}

static void a_search_without_thresholds_knew_none(void)
{
    uint8_t own;
    start();
    payload[0] = 0;
    expect_frame(NR_KNOWN, request(NR_KNEW, 1));
    CHECK(got.payload_b == KNOWN_FIXED_B && got.payload[0] == 0);
    own = request(NR_OPTIMIZE, optimize(3000, INT32_MIN, (const int32_t[]){0}, 1));
    expect_done(own, 3);
    own = request(NR_OPTIMIZE, optimize(3000, INT32_MIN, NULL, 0));
    fake.edge_count = 0;
    expect_done(own, 2);
    payload[0] = 0;
    expect_frame(NR_KNOWN, request(NR_KNEW, 1));
    CHECK(got.payload_b == KNOWN_FIXED_B && got.payload[0] == 0);
}

static void as_many_thresholds_as_there_are_marks_for(void)
{
    int32_t thresholds[NR_THRESHOLDS_MAX + 1];
    uint8_t own;
    for (int i = 0; i <= NR_THRESHOLDS_MAX; i++) {
        thresholds[i] = -i;
    }
    start();
    CHECK(NR_MARKS_MAX - 2 == NR_THRESHOLDS_MAX);
    own = request(NR_OPTIMIZE, optimize(3000, -9, thresholds, NR_THRESHOLDS_MAX));
    expect_done(own, 6); /* -2, -7, -8, -9: the others come together with these */
    expect_mark(4, NR_PHASE_REACHED + 9, 4 * MARK_US + 5 * FAKE_MOVE_US);
    fake.edge_count = 0;
    own = request(NR_OPTIMIZE, optimize(3000, -9, thresholds, NR_THRESHOLDS_MAX + 1));
    expect_error(own, NR_E_ARGUMENT, NR_THRESHOLDS_MAX);
}

static void arguments_are_checked(void)
{
    static const int32_t level[2] = {-4, -4};
    static const int32_t rising[3] = {-4, -5, -3};
    size_t length_b;
    start();
    expect_error(request(NR_OPTIMIZE, optimize(1000, 0, level, 2)), NR_E_ARGUMENT, 1);
    expect_error(request(NR_OPTIMIZE, optimize(1000, 0, rising, 3)), NR_E_ARGUMENT, 2);
    expect_error(request(NR_OPTIMIZE, optimize(0, 0, NULL, 0)), NR_E_ARGUMENT, 1);
    expect_error(request(NR_OPTIMIZE, optimize(1000, 0, NULL, 0) - 1), NR_E_LENGTH, FIXED_B);
    expect_error(request(NR_OPTIMIZE, optimize(1000, 0, level, 1) + 2), NR_E_LENGTH, FIXED_B);
    length_b = optimize(1000, 0, NULL, 0);
    nr_put_u16(payload + 18, 1);
    expect_error(request(NR_OPTIMIZE, length_b), NR_E_ARGUMENT, 2);
    length_b = optimize(1000, 0, NULL, 0);
    nr_put_u16(payload, 0);
    expect_error(request(NR_OPTIMIZE, length_b), NR_E_NOT_LOADED, 0);
    length_b = optimize(1000, 0, NULL, 0);
    nr_put_u16(payload, FAKE_SLOTS);
    expect_error(request(NR_OPTIMIZE, length_b), NR_E_SLOT, FAKE_SLOTS);
    CHECK(fake.searches == 0);
}

static void what_is_no_search_cannot_be_searched(void)
{
    start_without_search();
    expect_frame(NR_STATUS, request_load(1));
    expect_error(request(NR_OPTIMIZE, optimize(1000, 0, NULL, 0)), NR_E_UNSUPPORTED, 0);
}

static void what_only_searches_cannot_be_run(void)
{
    start();
    expect_error(request(NR_RUN, host_run(payload, 1, 1, GUARD_US, 0)), NR_E_UNSUPPORTED, 0);
    nr_put_u32(payload, 1);
    nr_put_u32(payload + 4, GUARD_US);
    nr_put_u16(payload + 8, 0);
    nr_put_u16(payload + 10, 1);
    expect_error(request(NR_BATCH, 12), NR_E_UNSUPPORTED, 0);
    CHECK(fake.preprocesses == 0);
}

static void a_workload_with_a_state_is_not_searched(void)
{
    start();
    fake_is_stateful(&fake);
    expect_error(request(NR_OPTIMIZE, optimize(1000, 0, NULL, 0)), NR_E_UNSUPPORTED, 0);
    CHECK(fake.preprocesses == 0);
}

static void a_repeated_request_is_searched_once(void)
{
    uint8_t own;
    size_t length_b;
    start();
    length_b = optimize(1000, 0, NULL, 0);
    own = request(NR_OPTIMIZE, length_b);
    expect_frame(NR_ACK, (uint8_t)(own + 1U));
    host_send(&host, NR_OPTIMIZE, own, payload, length_b); /* in the guard */
    fake_run_us(&fake, POLL_US);
    expect_done(own, 2);
    host_send(&host, NR_OPTIMIZE, own, payload, length_b); /* and behind the window */
    fake_run_us(&fake, 2 * GUARD_US);
    expect_frame(NR_DONE, own);
    CHECK(fake.searches == 1);
}

static void a_search_that_fails_ends_with_a_mark_and_an_error(void)
{
    uint8_t own;
    start();
    fake.search_code = 7;
    own = request(NR_OPTIMIZE, optimize(1000, 0, NULL, 0));
    expect_frame(NR_ACK, (uint8_t)(own + 1U));
    fake_run_us(&fake, 2 * GUARD_US);
    expect_frame(NR_ERROR, own);
    CHECK(got.payload[0] == NR_E_WORKLOAD && nr_get_u32(got.payload + 1) == 7);
    CHECK(fake.edge_count == 2 && fake.edges[1].phase == NR_PHASE_END && fake.results == 0);
}

static void an_input_that_cannot_be_taken_in_is_no_window(void)
{
    uint8_t own;
    start();
    fake.preprocess_code = 3;
    own = request(NR_OPTIMIZE, optimize(1000, 0, NULL, 0));
    expect_frame(NR_ACK, (uint8_t)(own + 1U));
    fake_run_us(&fake, 2 * GUARD_US);
    expect_frame(NR_ERROR, own);
    CHECK(nr_get_u32(got.payload + 1) == 3 && fake.edge_count == 0 && fake.searches == 0);
}

static void an_input_too_large_for_the_workload_is_refused_with_its_limit(void)
{
    uint8_t own;
    start();
    fake.load_code = NR_LOAD_TOO_LARGE;
    own = request_load(0);
    expect_error(own, NR_E_TOO_LARGE, 4096);
    own = request(NR_OPTIMIZE, optimize(1000, 0, NULL, 0));
    expect_frame(NR_ACK, (uint8_t)(own + 1U)); /* slot 1 is as it was */
}

static void expect_text(const char *command, const char *wanted)
{
    uint8_t said[FAKE_OUTPUT_B];
    size_t said_b;
    fake_send(&fake, command, strlen(command));
    fake_run_us(&fake, POLL_US);
    said_b = fake_receive(&fake, said, sizeof said);
    CHECK(said_b == strlen(wanted) && memcmp(said, wanted, said_b) == 0);
}

static void in_text_it_says_why_it_cannot(void)
{
    static const char only[] = "e-[this workload knows OPTIMIZE only, in frames]\r\nm-ready\r\n";
    uint8_t own;
    start();
    own = request(NR_OPTIMIZE, optimize(1000, 0, NULL, 0));
    expect_done(own, 2);
    fake.edge_count = 0;
    expect_frame(NR_STATUS, request(NR_TEXT, 0));
    expect_text("results%", only);
    expect_text("infer 1%", only);
    fake.load_code = NR_LOAD_TOO_LARGE;
    expect_text("db load 1%", "m-[Expecting 1 bytes]\r\nm-ready\r\n");
    expect_text("db 00%",
                "e-[this input needs more than the workload's 4096 bytes]\r\nm-ready\r\n");
    CHECK(fake.edge_count == 0 && fake.preprocesses == 1);
}

int main(void)
{
    RUN(caps_say_who_can_search);
    RUN(a_search_is_told_what_was_asked_from_its_first_mark_on);
    RUN(the_target_ends_it);
    RUN(without_a_target_the_time_out_ends_it);
    RUN(thresholds_are_marked_when_they_are_reached_and_those_of_one_move_once);
    RUN(the_device_tells_when_it_knew_each_threshold);
    RUN(a_search_without_thresholds_knew_none);
    RUN(as_many_thresholds_as_there_are_marks_for);
    RUN(arguments_are_checked);
    RUN(what_is_no_search_cannot_be_searched);
    RUN(what_only_searches_cannot_be_run);
    RUN(a_workload_with_a_state_is_not_searched);
    RUN(a_repeated_request_is_searched_once);
    RUN(a_search_that_fails_ends_with_a_mark_and_an_error);
    RUN(an_input_that_cannot_be_taken_in_is_no_window);
    RUN(an_input_too_large_for_the_workload_is_refused_with_its_limit);
    RUN(in_text_it_says_why_it_cannot);
    return report("optimize");
}
