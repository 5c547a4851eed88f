/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* CLOCK_THREAD_CPUTIME_ID under -std=c99 */
#include "true_time.h"

#include <time.h>

#include "blocks.h"

static const int64_t ns_per_s = 1000000000;

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * ns_per_s + now.tv_nsec;
}

int64_t nr_wall_ns(void) { return clock_ns(CLOCK_MONOTONIC); }

void nr_true_time_start(struct nr_true_time *time, uint32_t block_ns)
{
    time->block_ns = block_ns;
    time->busy = false;
    time->cpu_ns = 0;
    time->blocks = nr_blocks();
    time->wall_ns = nr_wall_ns();
    time->true_ns = time->wall_ns;
}

int64_t nr_true_time_ns(const struct nr_true_time *time)
{
    int64_t cpu_ns;
    int64_t wall_ns;
    if (time->busy && time->block_ns != 0) {
        return time->true_ns + (int64_t)(nr_blocks() - time->blocks) * time->block_ns;
    }
    cpu_ns = time->busy ? clock_ns(CLOCK_THREAD_CPUTIME_ID) - time->cpu_ns : 0;
    wall_ns = nr_wall_ns() - time->wall_ns;
    /* The two clocks are adjusted differently, so CPU time may run ahead by some parts per million:
       then no time is returned. */
    return time->true_ns + (time->busy && cpu_ns < wall_ns ? cpu_ns : wall_ns);
}

void nr_true_time_resume(struct nr_true_time *time, int64_t true_ns, int64_t wall_ns, bool busy)
{
    time->busy = busy;
    time->true_ns = true_ns;
    time->wall_ns = wall_ns;
    time->cpu_ns = busy ? clock_ns(CLOCK_THREAD_CPUTIME_ID) : 0;
    time->blocks = nr_blocks();
}

/* 64 bits suffice when seconds and nanoseconds, and whole and fractional ticks per second, are
   multiplied apart: with an uptime under 2^30 s and a rate under 2^32 Hz no product passes 2^62. */
uint64_t nr_ticks_of(const struct nr_tick_rate *rate, int64_t true_ns)
{
    uint64_t per_1e9_s = rate->tick_hz * (uint64_t)(ns_per_s + rate->ppb);
    uint64_t whole = per_1e9_s / (uint64_t)ns_per_s;
    uint64_t part = per_1e9_s % (uint64_t)ns_per_s;
    uint64_t s = (uint64_t)(true_ns / ns_per_s);
    uint64_t ns = (uint64_t)(true_ns % ns_per_s);
    return rate->offset + s * whole
           + (s * part + ns * whole + ns * part / (uint64_t)ns_per_s) / (uint64_t)ns_per_s;
}
