/* SPDX-License-Identifier: Apache-2.0 */
/* The time a simulated device lives in: nanoseconds of CLOCK_MONOTONIC less what the host has
   stolen from it. While it computes, its processor takes `block_ns` for each basic block, so that
   the same work always takes the same time; or, with `block_ns` 0, this thread's CPU time is its
   time. Either way a preemption by the host does not exist for it. While it idles, wall time is
   right. Time is continuous and monotonic over every change between the two. */
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

/* Goes on from `true_ns`, which the caller has read before, when wall time stood at `wall_ns`. Who
   was told the difference of the two knows the device's time while it idles, however late this is
   called. While it is busy, what passed since, the simulation's own work, did not happen. A moment
   of true time is told to others only once wall time has reached it: a slow processor keeps its
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
