/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of the simulated device, and its timer. */
#define _GNU_SOURCE
#include <time.h>

#include "blocks.h"
#include "check.h"
#include "true_time.h"

__extension__ typedef unsigned __int128 wide;

static void sleep_ms(long duration_ms)
{
    struct timespec duration = {0, duration_ms * 1000000};
    (void)nanosleep(&duration, NULL);
}

static void ticks_are_exact_for_years(void)
{
    static const uint32_t rates[] = {1000, 32768, 1000000, 84000000, 1000000000, 4294967295U};
    static const int32_t errors[] = {0, 1, -1, 20500, -12345678, 99999999, -99999999};
    uint64_t random = 1;
    for (int i = 0; i < 20000; i++) {
        struct nr_tick_rate rate;
        int64_t true_ns;
        wide exact;
        random = random * 6364136223846793005U + 1442695040888963407U;
        true_ns = (int64_t)(random >> (5 + i % 40)); /* up to 18 years */
        rate.offset = i % 3 == 0 ? UINT64_MAX - 5 : 1000;
        rate.tick_hz = rates[i % 6];
        rate.ppb = errors[i % 7];
        exact = (wide)rate.tick_hz * (wide)(1000000000 + rate.ppb) * (wide)true_ns;
        exact /= (wide)1000000000U * 1000000000U;
        CHECK(nr_ticks_of(&rate, true_ns) == rate.offset + (uint64_t)exact);
    }
}

static void idle_time_is_wall_time(void)
{
    struct nr_true_time time;
    int64_t start_ns;
    int64_t before_ns;
    nr_true_time_start(&time, 0);
    start_ns = nr_true_time_ns(&time);
    sleep_ms(20);
    CHECK(nr_true_time_ns(&time) - start_ns >= 20000000);
    before_ns = nr_wall_ns();
    start_ns = nr_true_time_ns(&time);
    CHECK(before_ns <= start_ns && start_ns <= nr_wall_ns());
}

static void a_busy_device_does_not_notice_that_it_was_stopped(void)
{
    struct nr_true_time time;
    int64_t start_ns;
    nr_true_time_start(&time, 0);
    start_ns = nr_true_time_ns(&time);
    nr_true_time_resume(&time, start_ns, nr_wall_ns(), true);
    sleep_ms(50); /* as if another process had the processor */
    CHECK(nr_true_time_ns(&time) - start_ns < 5000000);
    CHECK(nr_wall_ns() - nr_true_time_ns(&time) >= 45000000);
}

/* Who was told the two times at the end of a computation knows the time from there on. */
static void idle_time_goes_on_from_the_wall_time_that_was_told(void)
{
    struct nr_true_time time;
    int64_t start_ns;
    int64_t wall_ns;
    nr_true_time_start(&time, 0);
    start_ns = nr_true_time_ns(&time) - 1000000;
    wall_ns = nr_wall_ns();
    sleep_ms(20); /* as if another process had the processor */
    nr_true_time_resume(&time, start_ns, wall_ns, false);
    CHECK(nr_true_time_ns(&time) >= start_ns + 20000000);
    CHECK(nr_true_time_ns(&time) - start_ns <= nr_wall_ns() - wall_ns);
}

static void time_never_goes_back(void)
{
    struct nr_true_time time;
    int64_t before_ns;
    nr_true_time_start(&time, 0);
    before_ns = nr_true_time_ns(&time);
    for (int i = 0; i < 20000; i++) {
        int64_t now_ns = nr_true_time_ns(&time);
        int64_t stolen_ns;
        CHECK(now_ns >= before_ns);
        stolen_ns = nr_wall_ns() - now_ns;
        CHECK(stolen_ns >= 0);
        before_ns = now_ns;
        if (i % 10 == 0) {
            nr_true_time_resume(&time, now_ns, nr_wall_ns(), i % 20 == 0);
        }
    }
}

static void a_busy_processor_takes_the_same_time_for_the_same_blocks(void)
{
    struct nr_true_time time;
    int64_t start_ns;
    nr_true_time_start(&time, 25);
    start_ns = nr_true_time_ns(&time);
    nr_true_time_resume(&time, start_ns, nr_wall_ns(), true);
    sleep_ms(20);
    CHECK(nr_true_time_ns(&time) == start_ns);
    nr_blocks_add(1000000);
    CHECK(nr_true_time_ns(&time) == start_ns + 25000000);
    nr_true_time_resume(&time, start_ns + 25000000, nr_wall_ns(), false);
    sleep_ms(20);
    CHECK(nr_true_time_ns(&time) - start_ns >= 45000000);
}

int main(void)
{
    RUN(ticks_are_exact_for_years);
    RUN(idle_time_is_wall_time);
    RUN(idle_time_goes_on_from_the_wall_time_that_was_told);
    RUN(a_busy_device_does_not_notice_that_it_was_stopped);
    RUN(a_busy_processor_takes_the_same_time_for_the_same_blocks);
    RUN(time_never_goes_back);
    return report("time");
}
