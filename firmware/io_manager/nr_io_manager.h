/* SPDX-License-Identifier: Apache-2.0 */
/* The IO manager: a proxy between the host and a DUT that is fed through an energy monitor, with a
   clock for SYNC edges. docs/reference/PROTOCOL.md, section 8. All memory is the caller's: this
   struct and that of the port. Call init once, then poll. */
#ifndef NR_IO_MANAGER_H
#define NR_IO_MANAGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /* `dut ` and the 79 characters of the longest command of the text layer, without its `%` */
    NR_IO_COMMAND_B = 83,
    /* of a line of the DUT: one more than the longest that means something here */
    NR_IO_HEAD_B = 12,
    NR_IO_STAMPS = 32
};

/* When SYNC fell: high * 65536 + low, in steps of 0.5 us since power-up. */
struct nr_io_stamp {
    uint32_t high;
    uint16_t low;
};

/* What went wrong on the lines since power-up; each count ends at its greatest value. */
struct nr_io_counts {
    uint16_t dut_broken; /* bytes of the DUT without a stop bit */
    uint16_t dut_lost;   /* bytes of the DUT that found no room */
    uint16_t host_lost;
    uint16_t edges_missed; /* edges that came faster than they were taken */
};

struct nr_io_port {
    void *context; /* passed to every function */
    uint32_t dut_baud;

    int (*host_read)(void *context); /* the next byte, or -1 */
    /* waits for room, which always comes: the line has no handshake */
    void (*host_write)(void *context, uint8_t byte);
    int (*dut_read)(void *context);
    /* how many bytes `dut_write` may be called for now */
    uint8_t (*dut_room)(void *context);
    void (*dut_write)(void *context, uint8_t byte);
    bool (*dut_idle)(void *context); /* everything written has left */
    bool (*dut_high)(void *context); /* the level of the DUT's transmitting line */

    struct nr_io_stamp (*time)(void *context); /* of now, in the clock of the edges */
    /* the next edge, in order; false when there is none */
    bool (*edge)(void *context, struct nr_io_stamp *stamp);
    void (*counts)(void *context, struct nr_io_counts *counts);
};

enum nr_io_mode {
    NR_IO_COMMAND,     /* no request to the DUT is pending */
    NR_IO_HELD,        /* a command waits until the DUT is quiet */
    NR_IO_ASKED,       /* the DUT is to answer, up to its m-ready */
    NR_IO_TRANSPARENT, /* every byte passes */
    NR_IO_LEAVING      /* the escape has passed; the DUT's answer to it is swallowed */
};

struct nr_io_manager {
    const struct nr_io_port *port;
    enum nr_io_mode mode;
    uint32_t since;    /* when the mode began */
    uint32_t progress; /* when the DUT last ended a line, or was last sent something */
    uint32_t host_at;
    uint32_t dut_at;

    uint8_t command[NR_IO_COMMAND_B];
    uint8_t command_b;
    bool overflow;
    uint8_t escape_b;

    uint8_t head[NR_IO_HEAD_B]; /* of the line that the DUT is sending */
    uint8_t head_b;             /* its length, which may be more */
    bool mid_line;              /* the host has had a part of it */
    bool frame_asked;
    bool framed; /* the DUT announced that it will send frames */
    bool slow;   /* the command may take long */
    bool restarted;
    bool reporting;

    struct nr_io_stamp stamps[NR_IO_STAMPS];
    uint8_t stamp_next;
    uint8_t stamp_count;
    uint16_t stamps_lost;
    uint16_t unasked;
};

void nr_io_manager_init(struct nr_io_manager *io, const struct nr_io_port *port);

/* Takes received bytes; waits only for room towards the host. True when it is to be called again at
   once. */
bool nr_io_manager_poll(struct nr_io_manager *io);

#endif
