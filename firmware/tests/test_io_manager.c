/* SPDX-License-Identifier: Apache-2.0 */
/* The logic of the IO manager, without an AVR. */
#include <string.h>

#include "check.h"
#include "nr_io_manager.h"

enum { BUFFER_B = 65536, STEPS_PER_MS = 2000 };

struct buffer {
    uint8_t bytes[BUFFER_B];
    size_t used;
    size_t next;
};

static struct buffer host_in;
static struct buffer host_out;
static struct buffer dut_in;
static struct buffer dut_out;
static struct nr_io_stamp edges[64];
static size_t edge_count;
static size_t edge_next;
static uint64_t steps;
static uint8_t room;
static bool idle;
static bool high;
static struct nr_io_manager io;

/* ---- the port ---- */

static int take(struct buffer *from)
{
    return from->next < from->used ? from->bytes[from->next++] : -1;
}

static void add(struct buffer *to, uint8_t byte)
{
    CHECK(to->used < BUFFER_B);
    to->bytes[to->used++] = byte;
}

static int host_read(void *context)
{
    (void)context;
    return take(&host_in);
}

static void host_write(void *context, uint8_t byte)
{
    (void)context;
    add(&host_out, byte);
}

static int dut_read(void *context)
{
    (void)context;
    return take(&dut_in);
}

static uint8_t dut_room(void *context)
{
    (void)context;
    return room;
}

static void dut_write(void *context, uint8_t byte)
{
    (void)context;
    CHECK(room > 0);
    add(&dut_out, byte);
}

static bool dut_idle(void *context)
{
    (void)context;
    return idle;
}

static bool dut_high(void *context)
{
    (void)context;
    return high;
}

static struct nr_io_stamp time_now(void *context)
{
    struct nr_io_stamp stamp = {.high = (uint32_t)(steps >> 16), .low = (uint16_t)steps};
    (void)context;
    return stamp;
}

static bool edge(void *context, struct nr_io_stamp *stamp)
{
    (void)context;
    if (edge_next == edge_count) {
        return false;
    }
    *stamp = edges[edge_next++];
    return true;
}

static void line_counts(void *context, struct nr_io_counts *counts)
{
    (void)context;
    counts->dut_broken = 3;
    counts->dut_lost = 2;
    counts->host_lost = 1;
    counts->edges_missed = 0;
}

static const struct nr_io_port port = {
    .context = NULL,
    .dut_baud = 9600,
    .host_read = host_read,
    .host_write = host_write,
    .dut_read = dut_read,
    .dut_room = dut_room,
    .dut_write = dut_write,
    .dut_idle = dut_idle,
    .dut_high = dut_high,
    .time = time_now,
    .edge = edge,
    .counts = line_counts,
};

/* ---- what the tests do ---- */

static void run_ms(uint32_t ms)
{
    for (uint64_t end = steps + (uint64_t)ms * STEPS_PER_MS; steps < end;
         steps += STEPS_PER_MS / 4) {
        (void)nr_io_manager_poll(&io);
    }
}

static void settle(void)
{
    for (unsigned i = 0;
         i < 100000
         && (host_in.next < host_in.used || dut_in.next < dut_in.used || edge_next < edge_count);
         i++) {
        steps += 8;
        (void)nr_io_manager_poll(&io);
    }
    run_ms(10);
}

static void bytes_to(struct buffer *to, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        add(to, (uint8_t)bytes[i]);
    }
}

static void host_says(const char *text)
{
    bytes_to(&host_in, text, strlen(text));
    settle();
}

static void dut_says(const char *text)
{
    bytes_to(&dut_in, text, strlen(text));
    settle();
}

static void forget(void)
{
    memset(&host_in, 0, sizeof host_in);
    memset(&host_out, 0, sizeof host_out);
    memset(&dut_in, 0, sizeof dut_in);
    memset(&dut_out, 0, sizeof dut_out);
}

static void begin(void)
{
    forget();
    edge_count = edge_next = 0;
    steps = 0;
    room = 127;
    idle = true;
    high = true;
    nr_io_manager_init(&io, &port);
    run_ms(10);
    forget();
}

static void expect_in(struct buffer *got, const char *wanted)
{
    if (got->used != strlen(wanted) || memcmp(got->bytes, wanted, got->used) != 0) {
        got->bytes[got->used] = '\0';
        (void)fprintf(stderr, "got: %s\nwanted: %s\n", (const char *)got->bytes, wanted);
        abort();
    }
    got->used = got->next = 0;
}

static void host_gets(const char *wanted) { expect_in(&host_out, wanted); }
static void dut_gets(const char *wanted) { expect_in(&dut_out, wanted); }

static void falls(uint32_t high_part, uint16_t low_part)
{
    struct nr_io_stamp stamp = {.high = high_part, .low = low_part};
    edges[edge_count++] = stamp;
}

static void enter_frames(void)
{
    host_says("dut frame 1%");
    dut_says("m-frame-[1]\r\nm-ready\r\n");
    host_gets("m-dut-passthrough(frame 1)\r\nm-ready\r\n[dut]: m-frame-[1]\r\n[dut]: m-ready\r\n");
    dut_gets("frame 1%");
}

#define NAME "m-name-io-[neurorig io-manager]\r\nm-dut-baud-9600\r\nm-ready\r\n"

/* ---- commands ---- */

static void test_it_says_when_it_started(void)
{
    forget();
    nr_io_manager_init(&io, &port);
    host_gets("m-io-init-done\r\nm-ready\r\n");
}

static void test_its_own_commands(void)
{
    begin();
    host_says("name%");
    host_gets(NAME);
    host_says("\r\nname%");
    host_gets(NAME);
    host_says("dut-line%");
    host_gets("m-dut-level-1\r\nm-dut-broken-3\r\nm-dut-lost-2\r\nm-dut-unasked-0\r\nm-host-lost-"
              "1\r\nm-ready\r\n");
    host_says("nam%");
    host_gets("e-[unknown command, try help]\r\nm-ready\r\n");
    host_says("%");
    host_gets("e-[unknown command, try help]\r\nm-ready\r\n");
    host_says("dut%");
    host_gets("e-[unknown command, try help]\r\nm-ready\r\n");
    host_says("version%");
    host_gets("m-version-[unknown]\r\nm-ready\r\n");
    dut_gets("");
}

static void test_the_remains_of_a_frame_are_no_part_of_a_command(void)
{
    begin();
    bytes_to(&host_in, "\x05\x22\x00name%", 8);
    settle();
    host_gets(NAME);
}

static void test_a_command_of_any_length_is_answered(void)
{
    begin();
    for (unsigned i = 0; i < 500; i++) {
        add(&host_in, 'x');
    }
    host_says("%");
    host_gets("e-[a command is too long]\r\nm-ready\r\n");
    host_says("name%");
    host_gets(NAME);
}

static void test_the_longest_command_of_the_text_layer_passes(void)
{
    char command[128] = "dut db ";
    memset(command + 7, 'a', 76);
    begin();
    command[83] = '%';
    host_says(command);
    CHECK(dut_out.used == 80 && memcmp(dut_out.bytes, command + 4, 80) == 0);
}

/* ---- the DUT in the text layer ---- */

static void test_a_command_passes_and_its_answer_comes_behind_a_prefix(void)
{
    begin();
    host_says("dut name");
    dut_gets("");
    host_says("%");
    host_gets("m-dut-passthrough(name)\r\nm-ready\r\n");
    dut_gets("name%");
    dut_says("m-name-dut-[x]\r\n\r\nm-ready\r\n");
    host_gets("[dut]: m-name-dut-[x]\r\n[dut]: \r\n[dut]: m-ready\r\n");
}

static void test_what_follows_the_answer_is_nobodys(void)
{
    begin();
    host_says("dut name%");
    dut_says("m-ready\r\nm-more\r\n");
    host_gets("m-dut-passthrough(name)\r\nm-ready\r\n[dut]: m-ready\r\n");
    host_says("dut-line%");
    host_gets("m-dut-level-1\r\nm-dut-broken-3\r\nm-dut-lost-2\r\nm-dut-unasked-8\r\nm-host-lost-"
              "1\r\nm-ready\r\n");
}

static void test_a_restart_of_the_dut_is_told_with_the_next_command(void)
{
    begin();
    dut_says("\x01\xFFgarbage\r\nm-init-done\r\nm-ready\r\n");
    host_gets("");
    host_says("dut name%");
    host_gets("m-dut-passthrough(name)\r\nm-ready\r\n[dut]: m-init-done\r\n");
    dut_says("m-ready\r\n");
    host_gets("[dut]: m-ready\r\n");
    host_says("dut name%");
    host_gets("m-dut-passthrough(name)\r\nm-ready\r\n");
}

static void test_a_restart_while_a_command_is_held_is_told_with_its_answer(void)
{
    static const char boot[] = "m-init-done\r\nm-ready\r\n";
    begin();
    bytes_to(&host_in, "dut name%", 9);
    for (unsigned i = 0; i < sizeof boot - 1U; i++) {
        add(&dut_in, (uint8_t)boot[i]);
        run_ms(1);
    }
    run_ms(5);
    dut_gets("name%");
    dut_says("m-ready\r\n");
    host_gets("m-dut-passthrough(name)\r\nm-ready\r\n[dut]: m-init-done\r\n[dut]: m-ready\r\n");
    host_says("dut name%");
    host_gets("m-dut-passthrough(name)\r\nm-ready\r\n");
}

static void test_a_dead_dut_is_told_and_so_is_the_level_of_its_line(void)
{
    begin();
    host_says("dut name%");
    run_ms(1400);
    host_gets("m-dut-passthrough(name)\r\nm-ready\r\n");
    run_ms(200);
    host_gets("e-[no answer of the DUT, its line is high]\r\nm-ready\r\n");
    high = false;
    host_says("dut name%");
    dut_says("half a li");
    run_ms(1600);
    host_gets("m-dut-passthrough(name)\r\nm-ready\r\n[dut]: half a li\r\ne-[no answer of the DUT, "
              "its line is low]\r\nm-ready\r\n");
}

static void test_noise_is_no_answer(void)
{
    begin();
    host_says("dut name%");
    for (unsigned i = 0; i < 140; i++) {
        dut_says("\x7F"); /* takes 10 ms */
    }
    forget();
    run_ms(200);
    host_gets("\r\ne-[no answer of the DUT, its line is high]\r\nm-ready\r\n");
}

static void test_an_inference_may_be_silent_for_long(void)
{
    begin();
    host_says("dut infer 1000 10%");
    dut_gets("infer 1000 10%");
    run_ms(60000);
    host_gets("m-dut-passthrough(infer 1000 10)\r\nm-ready\r\n");
    dut_says("m-infer-done\r\nm-ready\r\n");
    host_gets("[dut]: m-infer-done\r\n[dut]: m-ready\r\n");
}

static void test_the_host_may_give_up_and_ask_something_else(void)
{
    begin();
    host_says("dut infer 1%");
    dut_says("m-infer-sta");
    host_says("name%");
    host_gets("m-dut-passthrough(infer 1)\r\nm-ready\r\n[dut]: m-infer-sta\r\n" NAME);
    dut_says("rt\r\nm-ready\r\n");
    host_gets("");
    host_says("dut name%");
    dut_says("m-name-dut-[x]\r\nm-ready\r\n");
    host_gets("m-dut-passthrough(name)\r\nm-ready\r\n[dut]: m-name-dut-[x]\r\n[dut]: m-ready\r\n");
}

static void test_a_command_waits_until_the_dut_is_quiet(void)
{
    begin();
    bytes_to(&host_in, "dut name%", 9);
    for (unsigned i = 0; i < 100; i++) {
        add(&dut_in, '.');
        run_ms(1);
    }
    dut_gets("");
    run_ms(5);
    dut_gets("name%");
}

static void test_a_dut_that_never_falls_quiet_is_asked_all_the_same(void)
{
    begin();
    bytes_to(&host_in, "dut name%", 9);
    for (unsigned i = 0; i < 1500; i++) {
        add(&dut_in, '.');
        run_ms(1);
    }
    dut_gets("name%");
}

/* ---- frames ---- */

static void test_every_byte_of_a_frame_passes(void)
{
    begin();
    enter_frames();
    for (unsigned i = 0; i < 256; i++) {
        add(&host_in, (uint8_t)i);
        add(&dut_in, (uint8_t)i);
    }
    settle();
    CHECK(host_out.used == 256 && dut_out.used == 256);
    for (unsigned i = 0; i < 256; i++) {
        CHECK(host_out.bytes[i] == i && dut_out.bytes[i] == i);
    }
}

static void test_a_dut_that_refuses_frames_gets_none(void)
{
    begin();
    host_says("dut frame 2%");
    dut_says("e-[frame takes version 1]\r\nm-ready\r\n");
    forget();
    host_says("name%");
    host_gets(NAME);
}

static void test_no_other_answer_leads_to_frames(void)
{
    begin();
    host_says("dut name%");
    dut_says("m-frame-[1]\r\nm-ready\r\n");
    forget();
    host_says("name%");
    host_gets(NAME);
}

static void test_host_bytes_wait_for_room(void)
{
    begin();
    enter_frames();
    room = 0;
    bytes_to(&host_in, "abc", 3);
    run_ms(500);
    CHECK(dut_out.used == 0);
    room = 1;
    run_ms(10);
    dut_gets("abc");
}

static void test_the_escape_leads_back_and_the_duts_answer_to_it_is_swallowed(void)
{
    begin();
    enter_frames();
    bytes_to(&host_in, "\x02\x33\x00name%", 8);
    run_ms(20);
    CHECK(dut_out.used == 8); /* the DUT leaves, too */
    host_gets("");
    dut_says("m-name-dut-[x]\r\nm-ready\r\n");
    host_gets("\r\n" NAME);
    dut_out.used = 0;
    host_says("dut name%");
    dut_gets("name%");
    dut_says("m-name-dut-[x]\r\nm-ready\r\n");
    host_gets("m-dut-passthrough(name)\r\nm-ready\r\n[dut]: m-name-dut-[x]\r\n[dut]: m-ready\r\n");
}

static void test_the_escape_leads_back_from_a_silent_or_a_babbling_dut(void)
{
    begin();
    enter_frames();
    run_ms(150);
    host_says("name%");
    run_ms(200);
    host_gets("\r\n" NAME);
    forget();
    enter_frames();
    run_ms(150);
    bytes_to(&host_in, "name%", 5);
    run_ms(5);
    for (unsigned i = 0; i < 1100; i++) {
        add(&dut_in, '\n');
        run_ms(1);
    }
    host_gets("\r\n" NAME);
}

static void test_within_a_frame_there_is_no_escape(void)
{
    begin();
    enter_frames();
    host_says("\x05name%");
    dut_gets("\x05name%");
    dut_says("still frames");
    host_gets("still frames");
    run_ms(150);
    host_says("name%");
    run_ms(200);
    host_gets("\r\n" NAME);
}

/* ---- stamps ---- */

static void test_edges_are_reported_at_once_in_whole_microseconds(void)
{
    begin();
    falls(0, 2001);
    falls(1, 0);
    falls(0x1FFFF, 0xFFFF); /* 2^33 - 1 half microseconds: the count wraps behind it */
    falls(0x20000, 2);
    settle();
    host_gets("m-lap-us-1000\r\nm-lap-us-32768\r\nm-lap-us-4294967295\r\nm-lap-us-1\r\n");
}

static void test_edges_do_not_cut_the_duts_lines(void)
{
    begin();
    host_says("dut infer 1%");
    dut_says("m-infer");
    forget();
    falls(0, 2000);
    run_ms(50);
    host_gets("");
    dut_says("-done\r\n");
    host_gets("-done\r\nm-lap-us-1000\r\n");
    dut_says("m-");
    falls(0, 4000);
    run_ms(150);
    dut_says("ready\r\n");
    host_gets("[dut]: m-\r\nm-lap-us-2000\r\n[dut]: ready\r\n");
}

static void test_edges_are_kept_until_they_are_asked_for(void)
{
    begin();
    host_says("disable-timer%");
    falls(0, 2001);
    settle();
    host_gets("m-ready\r\n");
    host_says("stamps%");
    host_gets("m-stamps-missed-0\r\nm-stamps-lost-0\r\nm-stamp-us-1000.5\r\nm-ready\r\n");
    host_says("stamps%");
    host_gets("m-stamps-missed-0\r\nm-stamps-lost-0\r\nm-ready\r\n");
    host_says("enable-timer%");
    falls(0, 4000);
    settle();
    host_gets("m-ready\r\nm-lap-us-2000\r\n");
}

static void test_the_oldest_edges_are_lost_and_counted(void)
{
    begin();
    host_says("disable-timer%");
    for (unsigned i = 0; i < NR_IO_STAMPS + 3; i++) {
        falls(0, (uint16_t)(2 * i));
    }
    settle();
    forget();
    host_says("stamps%");
    CHECK(memcmp(host_out.bytes, "m-stamps-missed-0\r\nm-stamps-lost-3\r\nm-stamp-us-3.0\r\n", 52)
          == 0);
    host_out.bytes[host_out.used] = '\0';
    CHECK(strstr((const char *)host_out.bytes, "m-stamp-us-34.0\r\nm-ready\r\n") != NULL);
}

static void test_among_frames_no_edge_is_reported(void)
{
    begin();
    enter_frames();
    falls(0, 2000);
    settle();
    host_gets("");
    run_ms(150);
    host_says("name%");
    run_ms(200);
    host_gets("\r\n" NAME);
    host_says("stamps%");
    host_gets("m-stamps-missed-0\r\nm-stamps-lost-0\r\nm-stamp-us-1000.0\r\nm-ready\r\n");
}

/* ---- whatever comes ---- */

static uint32_t random_state = 1;

static uint32_t random_below(uint32_t limit)
{
    random_state = random_state * 1664525U + 1013904223U;
    return (random_state >> 8) % limit;
}

static void random_bytes(struct buffer *to)
{
    static const char *const words[] = {
        "name%", "dut ",     "dut frame 1%", "m-ready\r\n",     "m-frame-[1]\r\n",
        "%",     "infer 1%", "stamps%",      "m-init-done\r\n",
    };
    for (uint32_t i = random_below(6); i > 0; i--) {
        if (random_below(2) == 0) {
            const char *word = words[random_below(sizeof words / sizeof words[0])];
            bytes_to(to, word, strlen(word));
        } else {
            add(to, (uint8_t)random_below(256));
        }
    }
}

/* Two questions 300 ms apart, as a host asks that knows nothing, and the line is clear again. */
static void test_nothing_that_comes_can_hang_it(void)
{
    for (unsigned round = 0; round < 2000; round++) {
        begin();
        for (uint32_t i = 0; i < 8; i++) {
            random_bytes(&host_in);
            random_bytes(&dut_in);
            run_ms(random_below(120));
        }
        run_ms(1200);
        host_says("name%");
        run_ms(300);
        host_says("name%");
        run_ms(300);
        forget();
        host_says("name%");
        host_gets(NAME);
        host_says("dut profile%");
        dut_gets("profile%");
    }
}

int main(void)
{
    RUN(test_it_says_when_it_started);
    RUN(test_its_own_commands);
    RUN(test_the_remains_of_a_frame_are_no_part_of_a_command);
    RUN(test_a_command_of_any_length_is_answered);
    RUN(test_the_longest_command_of_the_text_layer_passes);
    RUN(test_a_command_passes_and_its_answer_comes_behind_a_prefix);
    RUN(test_what_follows_the_answer_is_nobodys);
    RUN(test_a_restart_of_the_dut_is_told_with_the_next_command);
    RUN(test_a_restart_while_a_command_is_held_is_told_with_its_answer);
    RUN(test_a_dead_dut_is_told_and_so_is_the_level_of_its_line);
    RUN(test_noise_is_no_answer);
    RUN(test_an_inference_may_be_silent_for_long);
    RUN(test_the_host_may_give_up_and_ask_something_else);
    RUN(test_a_command_waits_until_the_dut_is_quiet);
    RUN(test_a_dut_that_never_falls_quiet_is_asked_all_the_same);
    RUN(test_every_byte_of_a_frame_passes);
    RUN(test_a_dut_that_refuses_frames_gets_none);
    RUN(test_no_other_answer_leads_to_frames);
    RUN(test_host_bytes_wait_for_room);
    RUN(test_the_escape_leads_back_and_the_duts_answer_to_it_is_swallowed);
    RUN(test_the_escape_leads_back_from_a_silent_or_a_babbling_dut);
    RUN(test_within_a_frame_there_is_no_escape);
    RUN(test_edges_are_reported_at_once_in_whole_microseconds);
    RUN(test_edges_do_not_cut_the_duts_lines);
    RUN(test_edges_are_kept_until_they_are_asked_for);
    RUN(test_the_oldest_edges_are_lost_and_counted);
    RUN(test_among_frames_no_edge_is_reported);
    RUN(test_nothing_that_comes_can_hang_it);
    return report("io_manager");
}
