/* SPDX-License-Identifier: Apache-2.0 */
#include "nr_edge_wire.h"

#ifdef NR_EMULATED

#include <stddef.h>

#include "nr_board.h"

enum {
    EDGES_KEPT = 32, /* a window and a self-test have fewer; edges beyond that are sent at once */
    BEAT_US = 5000,  /* the simulated world learns the time as often as that */
    TICK_DIGITS = 12 /* 8 years */
};

struct edge {
    uint64_t tick;
    uint32_t low_us;
    uint8_t phase;
};

/* Static: a board has one wire. */
static struct edge edges[EDGES_KEPT];
static size_t kept;
static uint64_t told_tick;

static char *put_hex(char *to, uint64_t number, unsigned digits)
{
    for (unsigned shift = 4U * digits; shift != 0; shift -= 4U) {
        *to++ = "0123456789abcdef"[(number >> (shift - 4U)) & 15U];
    }
    return to;
}

static void tell_edges(void)
{
    char line[32];
    for (size_t i = 0; i < kept; i++) {
        char *to = line;
        *to++ = 'E';
        *to++ = ' ';
        to = put_hex(to, edges[i].tick, TICK_DIGITS);
        *to++ = ' ';
        to = put_hex(to, edges[i].phase, 2);
        *to++ = ' ';
        to = put_hex(to, edges[i].low_us, 5);
        *to++ = '\n';
        nr_board_wire_write(line, (size_t)(to - line));
    }
    kept = 0;
}

void nr_edge_wire_note(uint64_t tick, uint8_t phase, uint32_t low_us)
{
    if (kept == EDGES_KEPT) {
        tell_edges();
    }
    edges[kept].tick = tick;
    edges[kept].phase = phase;
    edges[kept].low_us = low_us;
    kept++;
}

void nr_edge_wire_tell(uint64_t tick)
{
    char line[24];
    char *to = line;
    tell_edges();
    if (tick - told_tick < BEAT_US) {
        return;
    }
    told_tick = tick;
    *to++ = 'T';
    *to++ = ' ';
    to = put_hex(to, tick, TICK_DIGITS);
    *to++ = '\n';
    nr_board_wire_write(line, (size_t)(to - line));
}

#else
typedef int nr_nothing_is_told; /* ISO C wants something in a file */
#endif
