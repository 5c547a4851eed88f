/* SPDX-License-Identifier: Apache-2.0 */
/* The time of a simulated device: nanoseconds of CLOCK_MONOTONIC less the time that the host took
   from it. While it computes, its processor takes `block_ns` for each basic block, so that the same
   work always takes the same time; with `block_ns` 0, its time is this thread's CPU time. In both
   cases a preemption by the host takes no time. While it idles, its time is wall time. Time is
   continuous and monotonic over every change between the two. */
#ifndef NR_TRUE_TIME_H
#define NR_TRUE_TIME_H

#include <stdbool.h>
#include <stdint.h>

struct nr_true_time {
    uint32_t block_ns;
    bool busy;
    int64_t true_ns; /* the four clocks at the last resume */
    int64_t wall_ns;
    int64_t cpu_ns;
    uint64_t blocks;
};

int64_t nr_wall_ns(void);
void nr_true_time_start(struct nr_true_time *time, uint32_t block_ns);
int64_t nr_true_time_ns(const struct nr_true_time *time);

/* Continues from `true_ns`, which the caller has read before, at wall time `wall_ns`. The
   difference of the two determines the device's time while it idles, even if this is called late.
   While it is busy, the time since then, the simulation's own work, does not count. A moment of
   true time is reported to others only once wall time has reached it: a slow processor keeps its
   host waiting. */
void nr_true_time_resume(struct nr_true_time *time, int64_t true_ns, int64_t wall_ns, bool busy);

/* A device timer: `offset` + true time * tick_hz * (1 + ppb * 1e-9), rounded down. */
struct nr_tick_rate {
    uint64_t offset;
    uint32_t tick_hz;
    int32_t ppb;
};

uint64_t nr_ticks_of(const struct nr_tick_rate *rate, int64_t true_ns);

#endif
