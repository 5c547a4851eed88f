/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest core: `name` and `frame 1`, requests that were left out, errors without words. It
   runs with all NR_WITH_ at 0. */
#include <string.h>

#include "check.h"
#include "fake_host.h"
#include "fake_port.h"

enum { POLL_US = 5000, NO_WORDS_B = 5, FLAGS_AT = 27 };

static struct fake fake;
static struct host host;
static struct host_frame got;
static uint8_t seq;
static uint8_t payload[NR_MAX_PAYLOAD_B];

static void say(const char *text)
{
    fake_send(&fake, text, strlen(text));
    fake_run_us(&fake, POLL_US);
}

static void expect(const char *wanted)
{
    uint8_t bytes[FAKE_OUTPUT_B];
    size_t count = fake_receive(&fake, bytes, sizeof bytes);
    CHECK(count == strlen(wanted) && memcmp(bytes, wanted, count) == 0);
}

static void start(void)
{
    fake_start(&fake);
    host_init(&host, &fake);
    expect("m-init-done\r\nm-ready\r\n");
}

static void expect_error(uint8_t code, uint32_t detail)
{
    CHECK(got.type == NR_ERROR && got.payload_b == NO_WORDS_B);
    CHECK(got.payload[0] == code && nr_get_u32(got.payload + 1) == detail);
}

static void request(uint8_t type, size_t payload_b)
{
    host_send(&host, type, seq, payload, payload_b);
    fake_run_us(&fake, POLL_US);
    CHECK(host_take(&host, &got) && got.seq == seq);
    seq++;
}

static void enter(void)
{
    start();
    say("frame 1%");
    expect("m-frame-[1]\r\nm-ready\r\n");
    request(NR_HELLO, host_hello(payload, 7));
    CHECK(got.type == NR_CAPS);
}

static void it_tells_its_name(void)
{
    char wanted[100];
    start();
    (void)snprintf(wanted, sizeof wanted, "m-name-dut-[%s]\r\nm-ready\r\n", fake.port.device);
    say("\r\nname%");
    expect(wanted);
}

static void a_stray_frame_spoils_no_command(void)
{
    static const char bytes[] = "x\0frame 1%";
    start();
    fake_send(&fake, bytes, sizeof bytes - 1U);
    fake_run_us(&fake, POLL_US);
    expect("m-frame-[1]\r\nm-ready\r\n");
}

static void all_other_commands_are_refused_and_change_nothing(void)
{
    static const char *const commands[] = {
        "%",     "profile%", "timestamp%", "db load 4%", "db 00%",    "infer 1%", "results%",
        "help%", "frame%",   "frame 2%",   "frame 10%",  "frame 1 %", "names%",   "nam%"};
    start();
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        say(commands[i]);
        expect("e-[only name and frame 1]\r\nm-ready\r\n");
    }
    for (size_t i = 0; i <= NR_TEXT_COMMAND_MAX; i++) {
        say("n");
    }
    say("%");
    expect("e-[only name and frame 1]\r\nm-ready\r\n");
    CHECK(fake.edge_count == 0 && fake.loads == 0 && fake.infers == 0);
}

static void what_was_left_out_is_unknown_and_not_in_caps(void)
{
    static const uint8_t types[] = {NR_SELFTEST, NR_OPTIMIZE, NR_STREAM, NR_TAKE};
    enter();
    CHECK((got.payload[FLAGS_AT] & (NR_CAP_OPTIMIZE | NR_CAP_STREAM)) == 0);
    CHECK((got.payload[FLAGS_AT] & (NR_CAP_NO_SELF_TEST | NR_CAP_NO_CLASSIC))
          == (NR_CAP_NO_SELF_TEST | NR_CAP_NO_CLASSIC));
    for (size_t i = 0; i < sizeof types; i++) {
        memset(payload, 1, sizeof payload);
        request(types[i], 4);
        expect_error(NR_E_TYPE, types[i]);
    }
    CHECK(fake.edge_count == 0);
}

static void an_error_has_its_code_and_detail_and_no_words(void)
{
    enter();
    request(NR_LOAD, 3);
    expect_error(NR_E_LENGTH, 10);
    request(NR_RUN, host_run(payload, FAKE_SLOTS, 1, 0, 0));
    expect_error(NR_E_SLOT, FAKE_SLOTS);
}

int main(void)
{
    RUN(it_tells_its_name);
    RUN(a_stray_frame_spoils_no_command);
    RUN(all_other_commands_are_refused_and_change_nothing);
    RUN(what_was_left_out_is_unknown_and_not_in_caps);
    RUN(an_error_has_its_code_and_detail_and_no_words);
    return report("minimal");
}
