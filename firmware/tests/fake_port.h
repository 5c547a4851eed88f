/* SPDX-License-Identifier: Apache-2.0 */
/* A port and a workload under the test's control: the clock moves only when somebody waits, and
   every byte arrives when it is due. */
#ifndef FAKE_PORT_H
#define FAKE_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nr_shim.h"

enum {
    FAKE_INPUT_B = 65536,
    FAKE_OUTPUT_B = 65536,
    FAKE_EDGES = 256,
    FAKE_SLOT_B = 600,
    FAKE_SLOTS = 2,
    FAKE_OUTPUT_BYTES = 400,
    FAKE_REST_US = 500,
    FAKE_STACK_B = 2048,
    FAKE_COSTS = 8,
    FAKE_MOVE_US = 250, /* of a search */
    FAKE_PHASE_US = 1000 /* what one preprocess or infer takes */
};

struct fake_edge {
    uint64_t tick;
    uint8_t phase;
    uint16_t hold_us;
};

struct fake {
    struct nr_port port;
    struct nr_workload workload;
    struct nr_memory memory;
    struct nr_shim shim;

    uint64_t tick;         /* 1 MHz */
    uint32_t tick_a_read;  /* what reading it takes */
    uint32_t back_at_read; /* at this many reads from now it jumps back by 1000 once; 0: never */

    uint8_t input[FAKE_INPUT_B]; /* to the device; byte i may be read from input_due[i] on */
    uint64_t input_due[FAKE_INPUT_B];
    size_t input_used;
    size_t input_next;

    uint8_t output[FAKE_OUTPUT_B]; /* from the device */
    size_t output_used;
    size_t output_next;

    struct fake_edge edges[FAKE_EDGES];
    size_t edge_count;
    bool sync_stuck; /* the pin follows nobody: it reads 1 */
    uint32_t lost_b;
    uint32_t stack_unused_b;
    bool in_window;            /* between a mark that begins something and the END */
    /* pulses of the burst to come: set by the test, as a burst has no END */
    uint32_t sync_left;
    size_t writes_in_window;   /* must stay 0 */
    size_t undrained_b;        /* written and not drained; must be 0 at a mark */
    size_t undrained_at_mark;

    uint32_t baud;      /* of the device */
    uint32_t host_baud; /* other than the device's: bytes are garbage, both ways */
    uint32_t refused_baud;
    int baud_calls;

    int loads;
    int starts;
    int start_code;
    int8_t feature; /* what the last preprocess made, of a workload with a state */
    int preprocesses;
    int infers;
    int results;
    int load_code; /* what the workload's functions return */
    int preprocess_code;
    int infer_code;
    int infers_max; /* after so many infer fails; 0: never */
    int searches;
    int search_code;
    /* the best costs that a search finds, one a move; the last one stays */
    int32_t search_costs[FAKE_COSTS];
    struct nr_search search;          /* what the last one was told */
    uint32_t output_length_b;
    bool output_as_input; /* outputs are as long as their inputs */
    const uint8_t *data;
    uint32_t length_b;

    uint8_t slots[FAKE_SLOTS * FAKE_SLOT_B];
    uint8_t output_memory[FAKE_SLOTS * FAKE_OUTPUT_BYTES];
};

/* Starts a device; its boot text is in the output. */
void fake_start(struct fake *fake);

/* Makes the workload one that is searched and cannot infer. */
void fake_only_searches(struct fake *fake);

/* Makes the workload one whose answers depend on the windows before: a sum of first bytes. */
void fake_is_stateful(struct fake *fake);

/* Lets bytes arrive at once, or `delay_us` from now. */
void fake_send(struct fake *fake, const void *bytes, size_t length_b);
void fake_send_later(struct fake *fake, const void *bytes, size_t length_b, uint64_t delay_us);

/* Polls the device for so long in its own time. */
void fake_run_us(struct fake *fake, uint64_t duration_us);

/* Takes all there is of the output. */
size_t fake_receive(struct fake *fake, uint8_t *bytes, size_t capacity_b);

#endif
