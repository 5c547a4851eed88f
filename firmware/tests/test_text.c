/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "check.h"
#include "fake_port.h"
#include "nr_text.h"

static struct fake fake;
static char answer[8192];

/* Sends a command as it is, and returns the whole answer. */
static const char *ask(const char *command)
{
    uint8_t bytes[8192];
    size_t count;
    fake_send(&fake, command, strlen(command));
    fake_run_us(&fake, 50000);
    count = fake_receive(&fake, bytes, sizeof bytes - 1);
    memcpy(answer, bytes, count);
    answer[count] = '\0';
    return answer;
}

static void expect(const char *command, const char *wanted)
{
    if (strcmp(ask(command), wanted) != 0) {
        (void)fprintf(stderr, "command: %s\nanswer: %s\nwanted: %s\n", command, answer, wanted);
        abort();
    }
}

/* An answer that is one e- line and m-ready. */
static void expect_refusal(const char *command)
{
    const char *got = ask(command);
    const char *end = strstr(got, "]\r\n");
    if (strncmp(got, "e-[", 3) != 0 || end == NULL || strcmp(end, "]\r\nm-ready\r\n") != 0) {
        (void)fprintf(stderr, "command: %s\nanswer: %s\n", command, got);
        abort();
    }
}

static void restart(void)
{
    fake_start(&fake);
    expect("", "m-init-done\r\nm-ready\r\n");
}

static void it_says_what_it_is(void)
{
    restart();
    expect("name%", "m-name-dut-[fake]\r\nm-ready\r\n");
    expect("profile%", "m-profile-[neurorig fake]\r\nm-model-[fake-1]\r\nm-ready\r\n");
    expect("timestamp-mode%", "m-timestamp-mode-performance\r\nm-ready\r\n");
    expect("\r\nname%\r\n", "m-name-dut-[fake]\r\nm-ready\r\n");
    expect("name%name%", "m-name-dut-[fake]\r\nm-ready\r\nm-name-dut-[fake]\r\nm-ready\r\n");
    CHECK(strncmp(ask("help%"), "m-", 2) == 0);
}

static void a_command_may_come_in_pieces(void)
{
    restart();
    expect("na", "");
    fake_run_us(&fake, 10000000); /* the text layer has no time-out: somebody may be typing */
    expect("me", "");
    expect("%", "m-name-dut-[fake]\r\nm-ready\r\n");
}

static void a_timestamp_is_one_pulse_and_its_microseconds(void)
{
    char wanted[64];
    restart();
    fake.tick = 5000000000U;
    fake.undrained_b = 0; /* draining takes time */
    (void)snprintf(wanted, sizeof wanted, "m-lap-us-5000000000\r\nm-ready\r\n");
    expect("timestamp%", wanted);
    CHECK(fake.edge_count == 1 && fake.edges[0].tick == 5000000000U
          && fake.edges[0].hold_us == NR_TEXT_HOLD_US);
    fake.port.tick_hz = 32768;
    fake.tick = (uint64_t)32768 * 3 + 1;
    fake.undrained_b = 0;
    expect("timestamp%", "m-lap-us-3000030\r\nm-ready\r\n");
}

static void an_input_is_loaded_in_hex(void)
{
    restart();
    expect("db load 5%", "m-[Expecting 5 bytes]\r\nm-ready\r\n");
    expect("db 00ff%", "m-ready\r\n");
    expect("db aB%", "m-ready\r\n");
    expect("db 1234%", "m-load-done\r\nm-ready\r\n");
    CHECK(memcmp(fake.slots, "\x00\xFF\xAB\x12\x34", 5) == 0);
    CHECK(fake.loads == 1);
    expect_refusal("db 00%");
}

static void the_longest_db_command_fits(void)
{
    char command[128] = "db ";
    restart();
    expect("db load 38%", "m-[Expecting 38 bytes]\r\nm-ready\r\n");
    for (int i = 0; i < 38; i++) {
        memcpy(command + 3 + 2 * i, "5a", 3);
    }
    CHECK(strlen(command) == 79);
    memcpy(command + 79, "%", 2);
    expect(command, "m-load-done\r\nm-ready\r\n");
}

static void an_input_larger_than_the_slot_is_refused_and_leaves_nothing_open(void)
{
    restart();
    expect("db load 600%", "m-[Expecting 600 bytes]\r\nm-ready\r\n");
    expect("db load 601%", "e-[db load takes at most 600 bytes]\r\nm-ready\r\n");
    memset(fake.slots, 0x77, sizeof fake.slots);
    for (int i = 0; i < 1000; i++) { /* the public firmware writes past its buffer here */
        expect("db 00000000000000000000000000000000000000000000000000000000000000%",
               "e-[no db load is open]\r\nm-ready\r\n");
    }
    for (size_t i = 0; i < sizeof fake.slots; i++) {
        CHECK(fake.slots[i] == 0x77);
    }
    expect("infer 1%", "e-[no input is loaded]\r\nm-ready\r\n");
}

static void bytes_behind_the_declared_size_are_refused_and_not_written(void)
{
    restart();
    memset(fake.slots, 0x77, sizeof fake.slots);
    expect("db load 4%", "m-[Expecting 4 bytes]\r\nm-ready\r\n");
    expect("db 010203%", "m-ready\r\n");
    expect_refusal("db 0405%");
    CHECK(fake.slots[3] == 0x77 && fake.slots[4] == 0x77);
    expect_refusal("db 04%");
    expect_refusal("infer 1%");
}

static void a_refused_load_takes_the_old_input_away(void)
{
    restart();
    (void)ask("db load 1%");
    expect("db 07%", "m-load-done\r\nm-ready\r\n");
    CHECK(strstr(ask("infer 1 0%"), "m-infer-done") != NULL);
    expect_refusal("db load 0%");
    expect_refusal("infer 1 0%");
}

static void bad_hex_drops_the_load(void)
{
    static const char *const bad[] = {"db 0%",  "db 0g%",    "db g0%",
                                      "db 0x%", "db 00 00%", "db 00:0%"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        restart();
        (void)ask("db load 2%");
        expect_refusal(bad[i]);
        /* that is no db command at all, and cannot spoil a load */
        if (strcmp(bad[i], "db 00 00%") != 0) {
            expect("db 0000%", "e-[no db load is open]\r\nm-ready\r\n");
        }
    }
}

static void wrong_commands_name_the_cause(void)
{
    static const char *const bad[] = {
        "%", " %", "nam%", "names%", "NAME%", "name name%", "db%", "db load%", "db load x%",
        "db load -1%", "db load 1x%", "db load 4294967296%", "db load 99999999999%", "db load 0%",
        "db load 1 2%", "infer%", "infer 0%", "infer x%", "infer -1%", "infer 1 x%",
        "infer 1 2 3%", "results%", "frame%", "frame 0%", "frame 2%", "frame 1 1%", "frame x%",
        "\x01\x80\xFF%", "timestamp 1%",
    };
    restart();
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        expect_refusal(bad[i]);
    }
    expect("name%", "m-name-dut-[fake]\r\nm-ready\r\n");
}

static void a_command_of_81_characters_is_one_error(void)
{
    char command[400];
    restart();
    memset(command, 'x', sizeof command);
    command[80] = '%';
    command[81] = '\0';
    expect(command, "e-[unknown command]\r\nm-ready\r\n");
    for (size_t length_b = 81; length_b < 390; length_b += 1) {
        memset(command, 'x', sizeof command);
        command[length_b] = '%';
        command[length_b + 1] = '\0';
        expect(command, "e-[a command has at most 80 characters]\r\nm-ready\r\n");
    }
    expect("name%", "m-name-dut-[fake]\r\nm-ready\r\n");
}

static void a_stray_frame_does_not_spoil_the_next_command(void)
{
    static const uint8_t frame[] = {0, 3, 4, 9, 5, 0x11, 0x22, 0x33, 0x44, 0};
    restart();
    fake_send(&fake, frame, sizeof frame);
    expect("name%", "m-name-dut-[fake]\r\nm-ready\r\n");
}

static void infer_prints_both_times_after_the_window(void)
{
    restart();
    (void)ask("db load 16%");
    (void)ask("db 00000000000000000000000000000000%");
    fake.tick = 1000000;
    (void)ask("infer 3 2%");
    CHECK(strncmp(answer, "m-warmup-start-2\r\nm-warmup-done\r\nm-infer-start-3\r\nm-lap-us-", 59)
          == 0);
    CHECK(strstr(answer, "\r\nm-infer-done\r\nm-results-[0.250,0.250,0.250,0.250]\r\nm-ready\r\n")
          != NULL);
    CHECK(fake.preprocesses == 1 && fake.infers == 5);
    CHECK(fake.edge_count == 2 && fake.edges[0].phase == NR_PHASE_INFER
          && fake.edges[1].phase == NR_PHASE_END);
    CHECK(fake.edges[1].tick - fake.edges[0].tick == 3 * FAKE_PHASE_US + 2);
    CHECK(fake.writes_in_window == 0 && fake.undrained_at_mark == 0);
}

static void infer_takes_ten_warmups_by_default(void)
{
    restart();
    (void)ask("db load 1%");
    (void)ask("db 00%");
    (void)ask("infer 1%");
    CHECK(strncmp(answer, "m-warmup-start-10\r\n", 19) == 0 && fake.infers == 11);
}

static void a_failing_workload_is_reported(void)
{
    restart();
    fake.load_code = 9;
    (void)ask("db load 1%");
    expect("db 00%", "e-[the workload refuses this input, code 9]\r\nm-ready\r\n");
    expect_refusal("infer 1 0%");
    fake.load_code = 0;
    (void)ask("db load 1%");
    (void)ask("db 00%");
    fake.preprocess_code = 4;
    expect("infer 1 0%", "e-[the workload failed, code 4]\r\nm-ready\r\n");
    fake.preprocess_code = 0;
    fake.infer_code = 5;
    CHECK(strstr(ask("infer 1 0%"), "e-[the workload failed, code 5]\r\nm-ready\r\n") != NULL);
    CHECK(!fake.in_window);
    expect_refusal("results%");
}

static void one_timed_phase_is_phase_one(void)
{
    restart();
    fake.workload.phases = 1;
    (void)ask("db load 1%");
    (void)ask("db 00%");
    (void)ask("infer 1 0%");
    CHECK(fake.edge_count == 2 && fake.edges[0].phase == 1 && fake.edges[1].phase == 0);
}

static size_t collected_b;

static void collect(void *context, const uint8_t *bytes, size_t length_b)
{
    memcpy((char *)context + collected_b, bytes, length_b);
    collected_b += length_b;
}

static const char *results_of(const int32_t *numbers, size_t count)
{
    uint8_t bytes[4 * 64];
    struct nr_text_tx tx;
    for (size_t i = 0; i < count; i++) {
        nr_put_u32(bytes + 4 * i, (uint32_t)numbers[i]);
    }
    collected_b = 0;
    nr_text_tx_init(&tx, collect, answer);
    nr_text_put_results(&tx, bytes, count);
    nr_text_flush(&tx);
    answer[collected_b] = '\0';
    return answer;
}

static void results_are_scaled_to_one_or_left_alone(void)
{
    static const struct {
        int32_t numbers[4];
        size_t count;
        const char *wanted;
    } table[] = {
        {{1, 3}, 2, "0.250,0.750"},
        {{1, 1, 1}, 3, "0.334,0.333,0.333"},
        {{0, 0, 7}, 3, "0.000,0.000,1.000"},
        {{2147483647, 2147483647, 2147483647, 1}, 4, "0.334,0.333,0.333,0.000"},
        {{0, 0}, 2, "0.000,0.000"},
        {{7}, 1, "7.000"},
        {{-1, 3}, 2, "-1.000,3.000"},
        {{-2147483647 - 1, 2147483647}, 2, "-2147483648.000,2147483647.000"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        CHECK(strcmp(results_of(table[i].numbers, table[i].count), table[i].wanted) == 0);
    }
}

static void scaled_results_sum_to_one_and_keep_their_order(void)
{
    uint32_t random = 1;
    for (int round = 0; round < 2000; round++) {
        int32_t numbers[10];
        int thousandths[10];
        int sum = 0;
        char *at = answer;
        for (int i = 0; i < 10; i++) {
            random = random * 1664525U + 1013904223U;
            numbers[i] = (int32_t)((random >> 8) % (round % 2 == 0 ? 50U : 16000000U));
        }
        numbers[0]++;
        (void)results_of(numbers, 10);
        for (int i = 0; i < 10; i++, at++) {
            thousandths[i] = (int)strtol(at, &at, 10) * 1000;
            thousandths[i] += (int)strtol(at + 1, &at, 10);
            sum += thousandths[i];
        }
        CHECK(sum == 1000);
        for (int i = 0; i < 10; i++) {
            for (int j = 0; j < 10; j++) {
                CHECK(numbers[i] <= numbers[j] || thousandths[i] >= thousandths[j]);
            }
        }
    }
}

static void windows_of_a_stream_come_one_by_one(void)
{
    restart();
    expect("extract_uart_stream%", "e-[this workload is no stream's]\r\nm-ready\r\n");
    expect("start_uart_stream%", "e-[this workload is no stream's]\r\nm-ready\r\n");
    CHECK(strstr(ask("help%"), "uart_stream") == NULL);
    fake_is_stateful(&fake);
    fake.output_length_b = 3;
    CHECK(strstr(ask("help%"), "m-help-extract_uart_stream\r\n") != NULL);
    expect("infer 1%", "e-[this workload knows STREAM only, in frames]\r\nm-ready\r\n");
    expect("results%", "e-[this workload knows STREAM only, in frames]\r\nm-ready\r\n");
    expect("extract_uart_stream%", "e-[no input is loaded]\r\nm-ready\r\n");
    expect("start_uart_stream%", "m-stream-started\r\nm-ready\r\n");
    fake.feature = -20;
    expect("db load 1%db 07%",
           "m-[Expecting 1 bytes]\r\nm-ready\r\nm-load-done\r\nm-ready\r\n");
    expect("extract_uart_stream%",
           "m-features-[-13]\r\nm-activations-[-13, -13, -13]\r\nm-ready\r\n");
    expect("extract_uart_stream%", "e-[no input is loaded]\r\nm-ready\r\n");
    (void)ask("db load 1%db 0f%");
    expect("extract_uart_stream%",
           "m-features-[2]\r\nm-activations-[2, 2, 2]\r\nm-ready\r\n");
    expect("start_uart_stream%", "m-stream-started\r\nm-ready\r\n");
    (void)ask("db load 1%db 05%");
    fake.infer_code = 3;
    expect("extract_uart_stream%", "e-[the workload failed, code 3]\r\nm-ready\r\n");
    fake.start_code = 4;
    expect("start_uart_stream%", "e-[the workload failed, code 4]\r\nm-ready\r\n");
}

static void a_search_has_no_windows_of_a_stream(void)
{
    restart();
    fake_is_stateful(&fake);
    fake_only_searches(&fake);
    (void)ask("db load 1%db 07%");
    expect("start_uart_stream%", "e-[this workload is no stream's]\r\nm-ready\r\n");
    expect("extract_uart_stream%", "e-[this workload is no stream's]\r\nm-ready\r\n");
}

int main(void)
{
    RUN(a_search_has_no_windows_of_a_stream);
    RUN(windows_of_a_stream_come_one_by_one);
    RUN(it_says_what_it_is);
    RUN(a_command_may_come_in_pieces);
    RUN(a_timestamp_is_one_pulse_and_its_microseconds);
    RUN(an_input_is_loaded_in_hex);
    RUN(the_longest_db_command_fits);
    RUN(an_input_larger_than_the_slot_is_refused_and_leaves_nothing_open);
    RUN(bytes_behind_the_declared_size_are_refused_and_not_written);
    RUN(a_refused_load_takes_the_old_input_away);
    RUN(bad_hex_drops_the_load);
    RUN(wrong_commands_name_the_cause);
    RUN(a_command_of_81_characters_is_one_error);
    RUN(a_stray_frame_does_not_spoil_the_next_command);
    RUN(infer_prints_both_times_after_the_window);
    RUN(infer_takes_ten_warmups_by_default);
    RUN(a_failing_workload_is_reported);
    RUN(one_timed_phase_is_phase_one);
    RUN(results_are_scaled_to_one_or_left_alone);
    RUN(scaled_results_sum_to_one_and_keep_their_order);
    return report("text");
}
