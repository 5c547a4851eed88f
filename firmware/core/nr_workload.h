/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NR_WORKLOAD_H
#define NR_WORKLOAD_H

#include <stdint.h>

/* Parameters of a search, and its connection to the device. */
struct nr_search {
    uint32_t seed;             /* equal seeds make equal searches */
    /* a cost at or below it ends the search; with INT32_MIN only time does */
    int32_t target;
    uint64_t end_tick;         /* at this tick the search ends, in any case */
    const int32_t *thresholds; /* costs, strictly falling */
    uint8_t threshold_count;

    void *context; /* passed to both functions */
    uint64_t (*ticks)(void *context);

    /* To be called as soon as the best cost is at or below threshold `last`: once, for all that
       were reached together. */
    void (*reached)(void *context, uint8_t last);
};

/* `load` returns this where the input needs more of the workload's own memory than `memory_bytes`:
   the host sees ERROR 4. */
enum { NR_LOAD_TOO_LARGE = -1 };

/* A workload defines the meaning of inputs and outputs: a few functions and their fixed sizes; the
   memory at `state` belongs to the caller. Each function returns 0, or a positive code of its own
   that the host sees as ERROR 7. None may block on I/O. */
struct nr_workload {
    const char *name;     /* "asc" */
    const char *model;    /* identifies the trained model: name and hash */
    uint32_t slot_bytes;  /* largest input */
    uint32_t output_bytes;/* largest output */
    /* timed phases: 2 = preprocess and infer; 1 = infer alone, preprocess then runs once before the
       window */
    uint8_t phases;

    void *state;

    /* Checks an input of `length_b` bytes in memory; untimed. `data` stays valid and unchanged
       until the next load of its slot. */
    int (*load)(void *state, const uint8_t *data, uint32_t length_b);

    /* Turns the input into what infer reads; timed as phase 1. Must give the same result when
       repeated. */
    int (*preprocess)(void *state, const uint8_t *data, uint32_t length_b);

    /* Runs the model from its initial state; timed as phase 2. Must give the same result when
       repeated. NULL: all it does is optimize. */
    int (*infer)(void *state);

    /* Writes the output of the last infer or optimize, at most `output_bytes`; returns its length
       in bytes. Untimed. The text layer prints it as signed 32-bit little-endian numbers; in frames
       it is just bytes. */
    uint32_t (*result)(void *state, uint8_t *output);

    /* Searches the input that preprocess has taken in just before, untimed: OPTIMIZE. NULL: this
       workload is no search. */
    int (*optimize)(void *state, const struct nr_search *search);

    uint32_t memory_bytes; /* see NR_LOAD_TOO_LARGE */

    /* Goes to the state before the first window of a STREAM; returns 0 or a code. NULL: answers
       depend on their own input alone. A workload that has it answers for the windows of a stream
       one after the other, each once: its preprocess and infer need not give the same result when
       repeated, and RUN, BATCH, OPTIMIZE and `infer` are refused. */
    int (*start)(void *state);

    /* Returns `count` values that preprocess made of the last window, which the text layer prints
       after `extract_uart_stream`. NULL: there are none. Of a workload with `start`. */
    const int8_t *(*features)(void *state, uint32_t *count);
};

#endif
