/* SPDX-License-Identifier: Apache-2.0 */
/* The firmware as a process of the host: its UART is a pseudo-terminal, its SYNC line a stream of
   text lines ("the edge wire"). One line per change of level, written at once: tick true_ns level
   phase stolen_ns `tick` is the device's timer, `true_ns` the moment in the simulated world
   (CLOCK_MONOTONIC less `stolen_ns`, which the host took from the device while it was busy); one
   follows from the other exactly. `phase` is the phase that begins; a rise repeats the phase of its
   fall and is written together with it, ahead of its time. The first line, level 1 and phase 0,
   states the level at the start. */
#ifndef NR_POSIX_H
#define NR_POSIX_H

#include <stdbool.h>
#include <stdint.h>

#include "nr_port.h"
#include "search_faults.h"
#include "true_time.h"

enum { NR_POSIX_NEVER = -1 };

struct nr_posix_options {
    struct nr_tick_rate rate;
    /* the device is this host: its time is CLOCK_MONOTONIC, without subtraction */
    bool host_clock;
    /* time of the simulated processor for a basic block; 0: the CPU time of this host */
    uint32_t block_ns;
    int edge_fd;      /* -1: no edge wire */
    /* 0: every rate is understood; else both ends must agree, or the bytes are spoilt */
    uint32_t baud;
    const char *link; /* symbolic link to the pseudo-terminal, or NULL */
    /* the process ends in the first phase of the query after so many, or NR_POSIX_NEVER */
    int64_t die_after_queries;
    int64_t mute_after_queries; /* no answers from there on, or NR_POSIX_NEVER */
    uint32_t skip_iterations;   /* of each phase of a RUN */
    /* the power is cut, once, when so many bytes were received, or NR_POSIX_NEVER */
    int64_t restart_after_b;
    /* the same in the first phase of the query after so many, or NR_POSIX_NEVER */
    int64_t restart_after_queries;
    struct nr_search_faults search;
    /* more for each window of a stream; with host_clock or block_ns only */
    uint32_t slow_hop_us;
};

struct nr_posix {
    struct nr_posix_options options;
    int master_fd;
    int slave_fd; /* kept open, or the first client to leave would end the line for all */
    uint32_t baud;
    bool muted;
    uint64_t spoilt; /* bytes sent or received at the wrong rate */
    int64_t received_b;
    uint64_t offset; /* the timer's value at a power-up */
    void (*power_up)(void);

    struct nr_true_time time;
    bool in_query;
    bool listening; /* to a stream, between its windows */
    int64_t queries;
    int64_t stolen_ns;    /* wall time less true time at the last mark */
    int64_t rise_ns;      /* true time at which the last pulse ends */
    int64_t mark_free_ns; /* true time at which the next pulse may begin */
    int64_t active_ns;    /* wall time of the last byte or mark */
};

/* Opens the line and fills `port`; returns NULL, or the name of the call that failed (see errno).
   `posix` must not be moved. `power_up` restarts the device from any point, with an empty memory,
   and never returns. */
const char *nr_posix_open(struct nr_posix *posix, const struct nr_posix_options *options,
                          const char *build, struct nr_port *port, void (*power_up)(void));

/* Where clients connect to. */
const char *nr_posix_path(const struct nr_posix *posix);

#endif
