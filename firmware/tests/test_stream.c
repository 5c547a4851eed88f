/* SPDX-License-Identifier: Apache-2.0 */
/* Streams: docs/reference/PROTOCOL.md, section 9, one test a rule. The signal has 1000 samples a
   second, a window 40 of them, a hop 20; the device has 2 slots, ticks of 1 us, and takes 2 ms for
   a window. */
#include <string.h>

#include "check.h"
#include "fake_host.h"
#include "fake_port.h"

enum {
    HZ = 1000,
    SAMPLE_US = 1000,
    HOP = 20,
    WINDOW = 40,
    HOP_US = HOP * SAMPLE_US,
    WINDOW_US = WINDOW * SAMPLE_US,
    INPUT_B = 30,
    ANSWER_B = 16,
    FIXED_B = 43,
    RECORD_B = 3 * 8 + ANSWER_B,
    HOLD_US = 10,
    POLL_US = 10,    /* a look at everything, with a timer that takes 1 us to read */
    LATE_MAX_US = POLL_US /* what a window may begin late in a device that has nothing else to do */
};

static struct fake fake;
static struct host host;
static struct host_frame got;
static uint8_t seq;
static uint8_t payload[NR_MAX_PAYLOAD_B];
static uint8_t content[INPUT_B];

/* ---- steps ---- */

static uint8_t send(uint8_t type, size_t payload_b)
{
    host_send(&host, type, seq, payload, payload_b);
    return seq++;
}

static void expect(uint8_t type, uint8_t wanted_seq)
{
    CHECK(host_take(&host, &got));
    if (got.type != type || got.seq != wanted_seq) {
        (void)fprintf(stderr, "got %02x seq %d, wanted %02x seq %d\n", got.type, got.seq, type,
                      wanted_seq);
        abort();
    }
}

static void expect_error(uint8_t wanted_seq, uint8_t code, uint32_t detail)
{
    expect(NR_ERROR, wanted_seq);
    CHECK(got.payload[0] == code && nr_get_u32(got.payload + 1) == detail);
}

/* A request and its answer, which takes the device a moment. */
static void ask(uint8_t type, size_t payload_b, uint8_t answer)
{
    uint8_t own = send(type, payload_b);
    fake_run_us(&fake, 600);
    expect(answer, own);
}

static void refused(uint8_t type, size_t payload_b, uint8_t code, uint32_t detail)
{
    uint8_t own = send(type, payload_b);
    fake_run_us(&fake, 600);
    expect_error(own, code, detail);
}

static void start(void)
{
    fake_start(&fake);
    fake.tick_a_read = 1; /* a device that looks at its timer instead of waiting must get on */
    fake.workload.output_bytes = ANSWER_B;
    host_init(&host, &fake);
    fake_send(&fake, "frame 1%", 8);
    fake_run_us(&fake, 1000);
    while (host_take(&host, &got)) {
    }
    seq = 7;
    ask(NR_HELLO, host_hello(payload, 42), NR_CAPS);
}

/* Window number `window` is a content of its own: its bytes are that number, counted up. */
static void fill(uint32_t window)
{
    for (size_t i = 0; i < sizeof content; i++) {
        content[i] = (uint8_t)(window * 16 + i);
    }
}

static size_t put_load(uint32_t window)
{
    fill(window);
    return host_load(payload, (uint16_t)(window % FAKE_SLOTS), content, sizeof content);
}

static void load(uint32_t window)
{
    uint8_t own;
    ask(NR_LOAD, put_load(window), NR_STATUS);
    own = send(NR_DATA, host_data(payload, 0, content, sizeof content));
    fake_run_us(&fake, 600);
    expect(NR_ACK, (uint8_t)(own + 1));
    nr_put_u16(payload, (uint16_t)(window % FAKE_SLOTS));
    ask(NR_COMMIT, 2, NR_STATUS);
}

static size_t put_stream(uint32_t windows, uint32_t hop, uint32_t window, uint32_t sample_hz,
                         uint16_t hold_us)
{
    nr_put_u32(payload, windows);
    nr_put_u32(payload + 4, hop);
    nr_put_u32(payload + 8, window);
    nr_put_u32(payload + 12, sample_hz);
    nr_put_u16(payload + 16, hold_us);
    return 18;
}

/* Loads the first windows, starts, and returns t0. */
static uint64_t play(uint32_t windows)
{
    for (uint32_t window = 0; window < windows && window < FAKE_SLOTS; window++) {
        load(window);
    }
    fake.edge_count = 0;
    ask(NR_STREAM, put_stream(windows, HOP, WINDOW, HZ, HOLD_US), NR_STATUS);
    CHECK(fake.edge_count == 1 && fake.edges[0].phase == NR_PHASE_STREAM
          && fake.edges[0].hold_us == HOLD_US);
    CHECK(fake.undrained_at_mark == 0);
    return fake.edges[0].tick;
}

static void run_until(uint64_t tick)
{
    fake_run_us(&fake, tick > fake.tick ? tick - fake.tick : 0);
}

static uint64_t ready_us(uint32_t window) { return WINDOW_US + (uint64_t)window * HOP_US; }

/* ---- TAKEN ---- */

static void take(uint32_t next)
{
    nr_put_u32(payload, next);
    ask(NR_TAKE, 4, NR_TAKEN);
}

static uint64_t u64_at(size_t at)
{
    return nr_get_u32(got.payload + at) | (uint64_t)nr_get_u32(got.payload + at + 4) << 32;
}
static uint8_t state_of(void) { return got.payload[0]; }
static uint32_t done(void) { return nr_get_u32(got.payload + 18); }
static uint32_t late(void) { return nr_get_u32(got.payload + 22); }
static uint32_t first(void) { return nr_get_u32(got.payload + 38); }
static uint8_t count(void) { return got.payload[FIXED_B - 1]; }

/* Record `at` of the answer is that of `window`, with the ticks of its three edges behind
   `edge`. */
static void check_record(size_t at, uint32_t window, size_t edge)
{
    size_t from = FIXED_B + at * RECORD_B;
    CHECK(got.payload_b >= from + RECORD_B);
    for (size_t i = 0; i < 3; i++) {
        static const uint8_t phases[3] = {NR_PHASE_PREPROCESS, NR_PHASE_INFER, NR_PHASE_DECIDED};
        CHECK(fake.edges[edge + i].phase == phases[i]
              && fake.edges[edge + i].tick == u64_at(from + 8 * i));
    }
    fill(window);
    for (size_t i = 0; i < ANSWER_B; i++) {
        CHECK(got.payload[from + 24 + i] == (uint8_t)(content[i] + 1U));
    }
}

/* ---- a stream that goes well ---- */

static void caps_say_whether_the_answers_have_room(void)
{
    start();
    CHECK((got.payload[27] & NR_CAP_STREAM) != 0);
    fake.workload.output_bytes = FAKE_OUTPUT_BYTES; /* no TAKEN holds one */
    ask(NR_HELLO, host_hello(payload, 43), NR_CAPS);
    CHECK((got.payload[27] & NR_CAP_STREAM) == 0);
    refused(NR_STREAM, put_stream(1, HOP, WINDOW, HZ, 0), NR_E_UNSUPPORTED, 0);
    nr_put_u32(payload, 0);
    refused(NR_TAKE, 4, NR_E_UNSUPPORTED, 0);
    fake.workload.output_bytes = ANSWER_B;
    fake.shim.memory.output_b = ANSWER_B * NR_STREAM_RECORDS - 1;
    ask(NR_HELLO, host_hello(payload, 44), NR_CAPS);
    CHECK((got.payload[27] & NR_CAP_STREAM) == 0);
}

static void windows_are_processed_when_their_last_sample_is_captured(void)
{
    uint64_t t0;
    start();
    t0 = play(6);
    for (uint32_t window = 0; window < 6; window++) {
        size_t edge = 1 + 3 * (size_t)window;
        run_until(t0 + ready_us(window) - POLL_US);
        CHECK(fake.edge_count == edge);
        run_until(t0 + ready_us(window) + 3000);
        CHECK(fake.edge_count == edge + 3 + (window == 5));
        CHECK(fake.edges[edge].tick >= t0 + ready_us(window)
              && fake.edges[edge].tick <= t0 + ready_us(window) + LATE_MAX_US);
        CHECK(fake.edges[edge].hold_us == HOLD_US);
        take(window);
        CHECK(state_of() == (window == 5 ? NR_STREAM_FINISHED : NR_STREAM_PLAYING));
        CHECK(got.payload[1] == NR_STREAM_RECORDS && u64_at(2) == t0 && late() == 0);
        CHECK(done() == window + 1 && first() == window && count() == 1
              && got.payload_b == FIXED_B + RECORD_B);
        check_record(0, window, edge);
        if (window + FAKE_SLOTS < 6) {
            load(window + FAKE_SLOTS);
        }
    }
    CHECK(fake.edges[19].phase == NR_PHASE_END && u64_at(10) == fake.edges[19].tick
          && fake.writes_in_window == 0);
}

static void a_workload_with_one_timed_phase_has_two_marks_a_window_with_all_of_it_between_them(void)
{
    uint64_t t0;
    start();
    fake.workload.phases = 1;
    t0 = play(1);
    run_until(t0 + ready_us(0) + 5000);
    CHECK(fake.edge_count == 4 && fake.edges[1].phase == NR_PHASE_PREPROCESS
          && fake.edges[2].phase == NR_PHASE_DECIDED);
    CHECK(fake.edges[2].tick - fake.edges[1].tick >= 2 * FAKE_PHASE_US);
    take(0);
    CHECK(count() == 1 && got.payload_b == FIXED_B + 2 * 8 + ANSWER_B
          && u64_at(FIXED_B + 8) == fake.edges[2].tick);
}

static void ready_ticks_are_exact_for_hours_at_any_rates(void)
{
    /* 168 MHz and 48 kHz: the last of 2^32 - 1 samples, after a day. */
    uint64_t samples = 0xFFFFFFFFU;
    uint64_t t0;
    start();
    fake.port.tick_hz = 168000000;
    load(0);
    load(1);
    fake.edge_count = 0;
    ask(NR_STREAM, put_stream(1, 1, 0xFFFFFFFFU, 48000, 0), NR_STATUS);
    t0 = fake.edges[0].tick;
    fake.tick_a_read = 0;
    CHECK(fake.shim.stream.ready_tick == t0 + samples * 3500U);
    fake.tick = t0 + samples * 3500U - 1;
    nr_shim_poll(&fake.shim);
    CHECK(fake.edge_count == 1);
    fake.tick = t0 + samples * 3500U;
    nr_shim_poll(&fake.shim);
    CHECK(fake.edge_count == 5 && fake.edges[1].tick == t0 + samples * 3500U);
    /* Rates that do not divide each other: rounded down, and never accumulated. */
    fake.port.tick_hz = 32768;
    fake.edge_count = 0;
    ask(NR_STREAM, put_stream(3, 1, 7, 44100, 0), NR_STATUS);
    CHECK(fake.shim.stream.ready_tick == fake.edges[0].tick + 7U * 32768U / 44100U);
}

static void the_longest_stream_is_a_day(void)
{
    start();
    load(0);
    load(1);
    refused(NR_STREAM, put_stream(0xFFFFFFFEU, 1, 3, 48000, 0), NR_E_ARGUMENT, 0);
    ask(NR_STREAM, put_stream(0xFFFFFFFDU, 1, 3, 48000, 0), NR_STATUS);
}

static void the_link_does_not_delay_windows_and_rest_does_not(void)
{
    uint64_t t0;
    start();
    t0 = play(2);
    while (fake.tick < t0 + ready_us(1) + 3000) {
        uint64_t before = fake.tick;
        nr_shim_poll(&fake.shim);
        /* Nothing blocks but the windows themselves: between them it looks at the line every few
           milliseconds. */
        CHECK(fake.tick - before <= 2 * FAKE_PHASE_US + 1000);
    }
    CHECK(fake.edge_count == 8 && fake.edges[4].tick <= t0 + ready_us(1) + LATE_MAX_US);
}

/* ---- answers ---- */

static void a_lost_answer_is_given_again_and_records_stay_until_acknowledged(void)
{
    uint64_t t0;
    uint8_t own;
    uint8_t before[NR_MAX_PAYLOAD_B];
    start();
    t0 = play(2);
    run_until(t0 + ready_us(1) + 5000);
    nr_put_u32(payload, 0);
    own = send(NR_TAKE, 4);
    fake_run_us(&fake, 600);
    expect(NR_TAKEN, own);
    CHECK(state_of() == NR_STREAM_FINISHED && count() == 2);
    memcpy(before, got.payload, got.payload_b);
    seq = own; /* the same number: the answer was lost */
    (void)send(NR_TAKE, 4);
    fake_run_us(&fake, 600);
    expect(NR_TAKEN, own);
    CHECK(memcmp(before, got.payload, got.payload_b) == 0);
    take(0);
    CHECK(first() == 0 && count() == 2);
    take(1);
    CHECK(first() == 1 && count() == 1);
    check_record(0, 1, 4);
    take(0); /* what was acknowledged is gone */
    CHECK(first() == 1 && count() == 1);
    take(2);
    CHECK(first() == 2 && count() == 0 && done() == 2 && state_of() == NR_STREAM_FINISHED);
    nr_put_u32(payload, 3);
    refused(NR_TAKE, 4, NR_E_ARGUMENT, 2);
}

static void answers_that_do_not_fit_one_message_come_in_the_next(void)
{
    uint64_t t0;
    start();
    fake.workload.output_bytes = 100;
    fake.output_length_b = 100;
    t0 = play(2);
    run_until(t0 + ready_us(1) + 5000);
    take(0);
    CHECK(count() == 1 && done() == 2 && got.payload_b == FIXED_B + 3 * 8 + 100);
    take(1);
    CHECK(count() == 1 && first() == 1);
}

static void with_no_room_for_its_answer_a_window_waits(void)
{
    uint64_t t0;
    start();
    t0 = play(NR_STREAM_RECORDS + 1);
    for (uint32_t window = 0; window < NR_STREAM_RECORDS; window++) {
        run_until(t0 + ready_us(window) + 3000);
        if (window + FAKE_SLOTS <= NR_STREAM_RECORDS) {
            load(window + FAKE_SLOTS);
        }
    }
    run_until(t0 + ready_us(NR_STREAM_RECORDS) + 10000);
    CHECK(fake.edge_count == 1 + 3 * NR_STREAM_RECORDS);
    take(1);
    CHECK(state_of() == NR_STREAM_PLAYING && done() == NR_STREAM_RECORDS && first() == 1);
    run_until(t0 + ready_us(NR_STREAM_RECORDS) + 15000);
    CHECK(fake.edge_count == 1 + 3 * (NR_STREAM_RECORDS + 1) + 1);
    CHECK(fake.edges[1 + 3 * NR_STREAM_RECORDS].tick >= t0 + ready_us(NR_STREAM_RECORDS) + 10000);
    take(NR_STREAM_RECORDS);
    CHECK(state_of() == NR_STREAM_FINISHED && count() == 1);
    check_record(0, NR_STREAM_RECORDS, 1 + 3 * NR_STREAM_RECORDS);
}

static void before_and_after_streams_there_is_nothing_to_take(void)
{
    uint64_t t0;
    start();
    take(0);
    CHECK(state_of() == NR_STREAM_NONE && count() == 0 && got.payload[1] == NR_STREAM_RECORDS
          && got.payload_b == FIXED_B);
    t0 = play(1);
    run_until(t0 + ready_us(0) + 5000);
    take(0);
    CHECK(state_of() == NR_STREAM_FINISHED && count() == 1);
    /* its output goes where the answers lie */
    (void)send(NR_RUN, host_run(payload, 0, 1, 1000, 0));
    fake_run_us(&fake, 20000);
    CHECK(host_take(&host, &got) && got.type == NR_ACK && host_take(&host, &got)
          && got.type == NR_DONE);
    take(0);
    CHECK(state_of() == NR_STREAM_NONE && count() == 0);
}

/* ---- what goes wrong ---- */

static void a_window_that_comes_late_is_counted_and_the_worst_is_named(void)
{
    uint64_t t0;
    uint32_t lag;
    start();
    t0 = play(5);
    run_until(t0 + ready_us(0) + 3000);
    load(2); /* its newest hop begins when window 1 is ready: in time */
    run_until(t0 + ready_us(1) + 3000);
    run_until(t0 + ready_us(2) + 5000); /* window 3 is due since ready_us(2) */
    load(3);
    lag = (uint32_t)(fake.tick - (t0 + ready_us(2)));
    run_until(t0 + ready_us(3) + 3000);
    load(4);
    take(0);
    CHECK(state_of() == NR_STREAM_PLAYING && late() == 2 && nr_get_u32(got.payload + 26) == 3);
    CHECK(nr_get_u32(got.payload + 30) <= lag
          && nr_get_u32(got.payload + 30) + 2 * FAKE_REST_US + 1000 > lag);
    take(2);
    run_until(t0 + ready_us(4) + 3000);
    take(3);
    CHECK(state_of() == NR_STREAM_FINISHED && late() == 2 && done() == 5);
}

static void a_window_that_is_not_there_ends_the_stream(void)
{
    uint64_t t0;
    start();
    t0 = play(4);
    run_until(t0 + ready_us(2) + 3000);
    CHECK(fake.edge_count == 1 + 3 * 2 + 1 && fake.edges[7].phase == NR_PHASE_END
          && fake.edges[7].tick >= t0 + ready_us(2));
    take(0);
    CHECK(state_of() == NR_STREAM_STARVED && done() == 2 && count() == 2 && late() == 1
          && nr_get_u32(got.payload + 26) == 2);
    CHECK(u64_at(10) == fake.edges[7].tick);
    check_record(1, 1, 4);
    load(0); /* the device is free again */
    (void)send(NR_RUN, host_run(payload, 0, 1, 1000, 0));
    fake_run_us(&fake, 20000);
    CHECK(host_take(&host, &got) && got.type == NR_ACK && host_take(&host, &got)
          && got.type == NR_DONE);
}

/* Takes longer than its hops. */
static int (*quick_infer)(void *state);
static int slow_infer(void *state)
{
    fake.tick += 4 * HOP_US;
    return quick_infer(state);
}

static void a_device_that_is_too_slow_ends_the_stream(void)
{
    uint64_t t0;
    start();
    quick_infer = fake.workload.infer;
    fake.workload.infer = slow_infer;
    t0 = play(4);
    run_until(t0 + ready_us(0) + POLL_US);
    nr_shim_poll(&fake.shim);
    /* Window 0 took up to t0 + 120 ms and more: 3 was ready at 100 ms, so 1 has no slot any
       longer. */
    CHECK(fake.edge_count == 5 && fake.edges[4].phase == NR_PHASE_END);
    take(0);
    CHECK(state_of() == NR_STREAM_OVERRUN && done() == 1 && count() == 1 && late() == 0);
}

static void behind_its_last_windows_a_slow_device_has_all_the_time(void)
{
    uint64_t t0;
    start();
    quick_infer = fake.workload.infer;
    fake.workload.infer = slow_infer;
    t0 = play(2);
    run_until(t0 + ready_us(1) + 8 * HOP_US + 10000);
    take(0);
    CHECK(state_of() == NR_STREAM_FINISHED && done() == 2 && count() == 2);
}

static void answers_that_nobody_fetches_end_the_stream_too(void)
{
    uint64_t t0;
    start();
    t0 = play(20);
    for (uint32_t window = 0; window < NR_STREAM_RECORDS; window++) {
        run_until(t0 + ready_us(window) + 3000);
        load(window + FAKE_SLOTS);
    }
    run_until(t0 + ready_us(NR_STREAM_RECORDS + FAKE_SLOTS) + 1000);
    take(0);
    CHECK(state_of() == NR_STREAM_OVERRUN && done() == NR_STREAM_RECORDS
          && count() == NR_STREAM_RECORDS);
}

static void a_workload_that_fails_ends_the_stream_with_its_code(void)
{
    uint64_t t0;
    start();
    t0 = play(2);
    fake.infer_code = 5;
    run_until(t0 + ready_us(0) + 5000);
    CHECK(fake.edge_count == 4 && fake.edges[2].phase == NR_PHASE_INFER
          && fake.edges[3].phase == NR_PHASE_END);
    take(0);
    CHECK(state_of() == NR_STREAM_FAILED && done() == 0 && count() == 0
          && nr_get_u32(got.payload + 34) == 5);
    start();
    t0 = play(2);
    run_until(t0 + ready_us(0) + 5000);
    fake.output_length_b = ANSWER_B - 1;
    run_until(t0 + ready_us(1) + 5000);
    take(0);
    CHECK(state_of() == NR_STREAM_FAILED && done() == 1
          && nr_get_u32(got.payload + 34) == 0xFFFFFFFFU);
}

/* ---- requests while it plays ---- */

static void a_slot_that_is_to_be_played_is_not_loaded(void)
{
    uint64_t t0;
    start();
    t0 = play(3);
    refused(NR_LOAD, put_load(2), NR_E_ARGUMENT, 0);
    refused(NR_LOAD, put_load(1), NR_E_ARGUMENT, 0);
    run_until(t0 + ready_us(0) + 3000);
    refused(NR_LOAD, put_load(3), NR_E_ARGUMENT, 1); /* the slot of window 1 */
    load(2);
    run_until(t0 + ready_us(1) + 3000);
    refused(NR_LOAD, put_load(3), NR_E_ARGUMENT, 2); /* there is no window 3 */
    run_until(t0 + ready_us(2) + 3000);
    take(0);
    CHECK(state_of() == NR_STREAM_FINISHED && late() == 0);
    load(1);
}

static void a_broken_load_can_be_begun_again(void)
{
    uint64_t t0;
    start();
    t0 = play(3);
    run_until(t0 + ready_us(0) + 3000);
    ask(NR_LOAD, put_load(2), NR_STATUS);
    nr_put_u16(payload, 0);
    refused(NR_COMMIT, 2, NR_E_CRC, 0);
    fake.load_code = 9;
    ask(NR_LOAD, put_load(2), NR_STATUS);
    (void)send(NR_DATA, host_data(payload, 0, content, sizeof content));
    fake_run_us(&fake, 600);
    expect(NR_ACK, seq);
    nr_put_u16(payload, 0);
    refused(NR_COMMIT, 2, NR_E_WORKLOAD, 9);
    fake.load_code = 0;
    load(2);
    run_until(t0 + ready_us(2) + 3000);
    take(0);
    CHECK(state_of() == NR_STREAM_FINISHED && done() == 3 && count() == 3);
    check_record(2, 2, 7);
}

static void what_would_disturb_a_stream_is_refused_while_it_plays(void)
{
    static const struct {
        uint8_t type;
        uint8_t payload_b;
    } requests[] = {{NR_RUN, 12},     {NR_IDLE, 10},     {NR_SYNC, 11}, {NR_BATCH, 12},
                    {NR_SELFTEST, 4}, {NR_OPTIMIZE, 20}, {NR_BAUD, 4},  {NR_TEXT, 0},
                    {NR_RESULT, 4},   {NR_STREAM, 18}};
    uint64_t t0;
    start();
    t0 = play(1);
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        memset(payload, 1, sizeof payload);
        refused(requests[i].type, requests[i].payload_b, NR_E_ARGUMENT, 0);
    }
    memset(payload, 1, sizeof payload);
    ask(NR_PING, 3, NR_PONG);
    run_until(t0 + ready_us(0) + 3000);
    take(0);
    CHECK(state_of() == NR_STREAM_FINISHED && count() == 1);
    check_record(0, 0, 1);
}

static void a_new_session_ends_the_stream_and_the_same_one_does_not(void)
{
    uint64_t t0;
    start();
    t0 = play(2);
    (void)send(NR_HELLO, host_hello(payload, 42));
    seq--; /* HELLO has no place in the order */
    fake_run_us(&fake, 600);
    expect(NR_CAPS, seq);
    run_until(t0 + ready_us(0) + 3000);
    CHECK(fake.edge_count == 4);
    ask(NR_HELLO, host_hello(payload, 77), NR_CAPS);
    CHECK(fake.edge_count == 5 && fake.edges[4].phase == NR_PHASE_END);
    take(0);
    CHECK(state_of() == NR_STREAM_NONE && count() == 0);
    run_until(t0 + ready_us(1) + 5000);
    CHECK(fake.edge_count == 5);
    refused(NR_STREAM, put_stream(1, HOP, WINDOW, HZ, 0), NR_E_NOT_LOADED, 0);
}

static void name_ends_the_stream(void)
{
    static const uint8_t escape[] = {0, 'n', 'a', 'm', 'e', '%'};
    uint64_t t0;
    start();
    t0 = play(2);
    fake_send(&fake, escape, sizeof escape);
    fake_run_us(&fake, 1000);
    CHECK(fake.edge_count == 2 && fake.edges[1].phase == NR_PHASE_END
          && fake.shim.layer == NR_LAYER_TEXT);
    run_until(t0 + ready_us(1) + 5000);
    CHECK(fake.edge_count == 2);
}

static void an_upload_that_was_open_before_is_dropped(void)
{
    start();
    load(0);
    ask(NR_LOAD, put_load(1), NR_STATUS);
    ask(NR_STREAM, put_stream(1, HOP, WINDOW, HZ, 0), NR_STATUS); /* it needs slot 0 alone */
    nr_put_u16(payload, 1);
    refused(NR_COMMIT, 2, NR_E_NOT_LOADED, 1);
}

static void a_stream_needs_its_first_windows_and_numbers_that_make_one(void)
{
    start();
    refused(NR_STREAM, put_stream(1, HOP, WINDOW, HZ, 0), NR_E_NOT_LOADED, 0);
    load(0);
    refused(NR_STREAM, put_stream(2, HOP, WINDOW, HZ, 0), NR_E_NOT_LOADED, 1);
    refused(NR_STREAM, put_stream(0, HOP, WINDOW, HZ, 0), NR_E_ARGUMENT, 0);
    refused(NR_STREAM, put_stream(1, 0, WINDOW, HZ, 0), NR_E_ARGUMENT, 0);
    refused(NR_STREAM, put_stream(1, WINDOW + 1, WINDOW, HZ, 0), NR_E_ARGUMENT, 0);
    refused(NR_STREAM, put_stream(1, HOP, WINDOW, 0, 0), NR_E_ARGUMENT, 0);
    refused(NR_STREAM, put_stream(1, HOP, WINDOW, HZ, 1), NR_E_ARGUMENT, 2); /* hold_min_us */
    refused(NR_STREAM, 17, NR_E_LENGTH, 18);
    refused(NR_TAKE, 3, NR_E_LENGTH, 4);
    CHECK(fake.edge_count == 0);
    ask(NR_STREAM, put_stream(1, WINDOW, WINDOW, HZ, 0), NR_STATUS);
    CHECK(fake.edges[0].hold_us == 2);
}

static void bytes_that_come_in_while_a_window_is_processed_are_kept(void)
{
    uint64_t t0;
    uint8_t own;
    start();
    t0 = play(1);
    run_until(t0 + ready_us(0) - 700);
    own = seq++;
    {
        uint8_t bytes[64];
        size_t length_b = host_encode(bytes, sizeof bytes, NR_PING, own, "abc", 3);
        fake_send_later(&fake, bytes, length_b, 1500); /* the device is at work then */
    }
    run_until(t0 + ready_us(0) + 4000);
    expect(NR_PONG, own);
    CHECK(fake.writes_in_window == 0);
}

/* ---- a workload with a state ---- */

static uint8_t more_of_caps(void)
{
    return got.payload[got.payload_b - 1];
}

/* Plays `windows` windows of one hop each, whose first bytes are 0, 16, 32, ... and one more each:
   answers are sums of what came since the start. */
static void play_and_add_up(uint32_t windows)
{
    uint8_t sum = 0;
    uint32_t window;
    fake.workload.output_bytes = 1;
    fake.output_length_b = 1;
    for (window = 0; window < windows; window++) {
        load(window);
        fake.slots[(window % FAKE_SLOTS) * FAKE_SLOT_B] = (uint8_t)(window + 1);
    }
    ask(NR_STREAM, put_stream(windows, HOP, HOP, HZ, HOLD_US), NR_STATUS);
    fake_run_us(&fake, (windows + 1) * (uint64_t)HOP_US);
    take(0);
    CHECK(state_of() == NR_STREAM_FINISHED && count() == windows);
    for (window = 0; window < windows; window++) {
        sum = (uint8_t)(sum + window + 1);
        CHECK(got.payload[FIXED_B + window * 25 + 24] == sum);
    }
}

static void every_stream_begins_with_the_state_before_its_first_window(void)
{
    start();
    CHECK((more_of_caps() & NR_MORE_STATEFUL) == 0);
    fake_is_stateful(&fake);
    ask(NR_HELLO, host_hello(payload, 45), NR_CAPS);
    CHECK((more_of_caps() & NR_MORE_STATEFUL) != 0 && (got.payload[27] & NR_CAP_STREAM) != 0);
    CHECK((got.payload[27] & NR_CAP_BATCH) == 0);
    play_and_add_up(2);
    play_and_add_up(2);
    CHECK(fake.starts == 2 && fake.preprocesses == 4);
}

static void a_workload_with_a_state_runs_in_streams_alone(void)
{
    start();
    fake_is_stateful(&fake);
    load(0);
    refused(NR_RUN, host_run(payload, 0, 1, 0, HOLD_US), NR_E_UNSUPPORTED, 0);
    nr_put_u32(payload, 1);
    nr_put_u32(payload + 4, 0);
    nr_put_u16(payload + 8, HOLD_US);
    nr_put_u16(payload + 10, 0);
    refused(NR_BATCH, 12, NR_E_UNSUPPORTED, 0);
    CHECK(fake.preprocesses == 0);
}

static void a_workload_that_cannot_start_plays_no_stream(void)
{
    start();
    fake_is_stateful(&fake);
    fake.start_code = 9;
    load(0);
    refused(NR_STREAM, put_stream(1, HOP, HOP, HZ, HOLD_US), NR_E_WORKLOAD, 9);
    CHECK(fake.edge_count == 0 || fake.edges[fake.edge_count - 1].phase != NR_PHASE_STREAM);
}

int main(void)
{
    RUN(every_stream_begins_with_the_state_before_its_first_window);
    RUN(a_workload_with_a_state_runs_in_streams_alone);
    RUN(a_workload_that_cannot_start_plays_no_stream);
    RUN(caps_say_whether_the_answers_have_room);
    RUN(windows_are_processed_when_their_last_sample_is_captured);
    RUN(a_workload_with_one_timed_phase_has_two_marks_a_window_with_all_of_it_between_them);
    RUN(ready_ticks_are_exact_for_hours_at_any_rates);
    RUN(the_longest_stream_is_a_day);
    RUN(the_link_does_not_delay_windows_and_rest_does_not);
    RUN(a_lost_answer_is_given_again_and_records_stay_until_acknowledged);
    RUN(answers_that_do_not_fit_one_message_come_in_the_next);
    RUN(with_no_room_for_its_answer_a_window_waits);
    RUN(before_and_after_streams_there_is_nothing_to_take);
    RUN(a_window_that_comes_late_is_counted_and_the_worst_is_named);
    RUN(a_window_that_is_not_there_ends_the_stream);
    RUN(a_device_that_is_too_slow_ends_the_stream);
    RUN(behind_its_last_windows_a_slow_device_has_all_the_time);
    RUN(answers_that_nobody_fetches_end_the_stream_too);
    RUN(a_workload_that_fails_ends_the_stream_with_its_code);
    RUN(a_slot_that_is_to_be_played_is_not_loaded);
    RUN(a_broken_load_can_be_begun_again);
    RUN(what_would_disturb_a_stream_is_refused_while_it_plays);
    RUN(a_new_session_ends_the_stream_and_the_same_one_does_not);
    RUN(name_ends_the_stream);
    RUN(an_upload_that_was_open_before_is_dropped);
    RUN(a_stream_needs_its_first_windows_and_numbers_that_make_one);
    RUN(bytes_that_come_in_while_a_window_is_processed_are_kept);
    return report("stream");
}
