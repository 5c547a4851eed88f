/* SPDX-License-Identifier: Apache-2.0 */
/* Tabu search by single flips. The gain of each node's flip is kept up to date, and nodes of about
   the same gain are in one list, so that no move looks at all nodes: the lists tell gains up to
   +-31 apart exactly, larger ones to a sixteenth. A flipped node is in no such list until its tabu
   ends; where nothing was gained for a while, some nodes are flipped by chance. */
#include <string.h>

#include "nr_qubo.h"

#define NONE 0xFFFFU
#define SIGN 0x8000U

enum {
    EXACT = 32,                /* sizes of gains with a list of their own */
    EXACT_BITS = 5,
    STEPS = 16,                /* lists of a power of two beyond */
    SIZES_CUT = EXACT + STEPS * 10,      /* sizes up to 32767 */
    SIZES_GENERAL = EXACT + STEPS * 26,  /* and up to 31 bits */
    LOOKED_AT = 4,             /* nodes of the best list among which chance decides */
    TENURE_LEAST = 10,         /* moves that a node stays tabu for, and up to as many more */
    TENURE_MOST = 31,
    TENURE_NODES = 100,        /* one move more for so many nodes */
    KICK_AFTER_LEAST = 1000,   /* moves without a gain, and as many more as there are nodes */
    KICK_PART = 16,            /* one in so many nodes is flipped, at most */
    KICK_LEAST = 4,            /* or so many of few nodes: one alone is flipped back */
    MOVE_WORK = 4,             /* cost of a move in addition to its neighbours */
};

static uint32_t sizes_of(uint32_t kind)
{
    return kind == NR_QUBO_CUT ? (uint32_t)SIZES_CUT : (uint32_t)SIZES_GENERAL;
}

uint32_t nr_qubo_flip_lists(uint32_t kind) { return NR_QUBO_RELEASES + 2 * sizes_of(kind); }

static uint32_t bucket_of(const struct nr_qubo *qubo, int32_t gain)
{
    uint32_t size = gain < 0 ? 0U - (uint32_t)gain : (uint32_t)gain;
    uint32_t middle = sizes_of(qubo->graph.kind);
    uint32_t place = size;
    if (size >= EXACT) {
        uint32_t bits = EXACT_BITS;
        while (size >> bits > 1) {
            bits++;
        }
        place = EXACT + STEPS * (bits - EXACT_BITS) + (size >> (bits - 4)) - STEPS;
    }
    return gain < 0 ? middle - place : middle + place;
}

/* ---- the lists ---- */

static void insert(struct nr_qubo *qubo, uint32_t v)
{
    struct nr_qubo_flip *flip = &qubo->flip;
    uint32_t at = bucket_of(qubo, flip->gain[v]);
    uint32_t first = flip->bucket[at];
    flip->next[v] = (uint16_t)first;
    flip->before[v] = NONE;
    if (first != NONE) {
        flip->before[first] = (uint16_t)v;
    }
    flip->bucket[at] = (uint16_t)v;
    if (at > flip->top) {
        flip->top = at;
    }
}

static void take_out(struct nr_qubo *qubo, uint32_t v, uint32_t bucket)
{
    struct nr_qubo_flip *flip = &qubo->flip;
    uint32_t after = flip->next[v];
    uint32_t before = flip->before[v];
    if (after != NONE) {
        flip->before[after] = (uint16_t)before;
    }
    if (before != NONE) {
        flip->next[before] = (uint16_t)after;
    } else {
        flip->bucket[bucket] = (uint16_t)after;
    }
}

static void change_gain(struct nr_qubo *qubo, uint32_t v, int32_t change)
{
    struct nr_qubo_flip *flip = &qubo->flip;
    int32_t was = flip->gain[v];
    flip->gain[v] = was + change;
    if (flip->before[v] == v) { /* tabu */
        return;
    }
    uint32_t from = bucket_of(qubo, was);
    if (bucket_of(qubo, was + change) != from) {
        take_out(qubo, v, from);
        insert(qubo, v);
    }
}

static void release(struct nr_qubo *qubo)
{
    struct nr_qubo_flip *flip = &qubo->flip;
    uint16_t *list = &flip->release[qubo->move % NR_QUBO_RELEASES];
    uint32_t v = *list;
    *list = NONE;
    while (v != NONE) {
        uint32_t after = flip->next[v];
        insert(qubo, v);
        v = after;
    }
}

/* ---- moves ---- */

static bool is_one(const uint8_t *bits, uint32_t v) { return (bits[v / 8] & 1U << (v % 8)) != 0; }

/* Flips a node, which is in no list. */
static void flip_node(struct nr_qubo *qubo, uint32_t v)
{
    const struct nr_qubo_graph *graph = &qubo->graph;
    struct nr_qubo_flip *flip = &qubo->flip;
    const uint32_t start = graph->row[v];
    const uint32_t stop = graph->row[v + 1];
    const bool was_one = is_one(flip->side, v);
    flip->side[v / 8] = (uint8_t)(flip->side[v / 8] ^ 1U << (v % 8));
    flip->cost -= flip->gain[v];
    flip->gain[v] = -flip->gain[v];
    for (uint32_t i = start; i < stop; i++) {
        uint32_t w = graph->neighbour[i];
        int32_t coupling;
        if (graph->kind == NR_QUBO_CUT) {
            coupling = w < SIGN ? 2 : -2; /* what a cut edge of weight +-1 is worth, twice */
            w %= SIGN;
        } else {
            coupling = graph->coupling[i];
        }
        change_gain(qubo, w, is_one(flip->side, w) == was_one ? -coupling : coupling);
    }
    qubo->work += stop - start + MOVE_WORK;
}

/* Returns one of the nodes that gain most and are not tabu; NONE if none. */
static uint32_t find_flip(struct nr_qubo *qubo)
{
    struct nr_qubo_flip *flip = &qubo->flip;
    while (flip->top > 0 && flip->bucket[flip->top] == NONE) {
        flip->top--;
    }
    uint32_t v = flip->bucket[flip->top];
    for (uint32_t more = nr_qubo_below(qubo, LOOKED_AT); v != NONE && more > 0; more--) {
        if (flip->next[v] == NONE) {
            break;
        }
        v = flip->next[v];
    }
    return v;
}

static uint32_t tenure(struct nr_qubo *qubo)
{
    const uint32_t n = qubo->graph.nodes;
    uint32_t least = TENURE_LEAST + n / TENURE_NODES;
    if (least > TENURE_MOST) {
        least = TENURE_MOST;
    }
    /* Without a tabu the search would flip one node to and fro until a kick. */
    const uint32_t most = n < 8 ? 1 : n / 4;
    if (least > most) {
        least = most;
    }
    return least + nr_qubo_below(qubo, least + 1);
}

/* Goes on with a kick: flips a node by chance, one a call, as a kick is long. */
static void go_on_kicking(struct nr_qubo *qubo)
{
    struct nr_qubo_flip *flip = &qubo->flip;
    uint32_t v = nr_qubo_below(qubo, qubo->graph.nodes);
    qubo->work += MOVE_WORK;
    if (flip->before[v] != v) {
        take_out(qubo, v, bucket_of(qubo, flip->gain[v]));
        flip_node(qubo, v);
        insert(qubo, v);
    }
    qubo->kicks--;
    if (qubo->kicks == 0) {
        qubo->idle_moves = 0;
        qubo->local_cost = flip->cost;
    }
}

static bool keep(struct nr_qubo *qubo)
{
    const uint32_t bytes = (qubo->graph.nodes + 7) / 8;
    memcpy(qubo->best, qubo->flip.side, bytes);
    qubo->work += bytes / 4;
    qubo->best_cost = qubo->flip.cost;
    return qubo->best_cost <= qubo->report_at;
}

static bool move(struct nr_qubo *qubo)
{
    struct nr_qubo_flip *flip = &qubo->flip;
    qubo->move++;
    release(qubo);
    uint32_t v = find_flip(qubo);
    if (v == NONE) {
        qubo->work += MOVE_WORK;
        return false;
    }
    /* A vector that the next flip betters is kept only if its cost is waited for. */
    bool reported = false;
    if (flip->gain[v] <= 0 && flip->cost < qubo->best_cost) {
        reported = keep(qubo);
    }
    take_out(qubo, v, bucket_of(qubo, flip->gain[v]));
    flip_node(qubo, v);
    uint16_t *list = &flip->release[(qubo->move + tenure(qubo)) % NR_QUBO_RELEASES];
    flip->next[v] = *list;
    flip->before[v] = (uint16_t)v;
    *list = (uint16_t)v;
    if (flip->cost < qubo->local_cost) {
        qubo->local_cost = flip->cost;
        qubo->idle_moves = 0;
    } else if (++qubo->idle_moves >= KICK_AFTER_LEAST + qubo->graph.nodes) {
        nr_qubo_flip_settle(qubo);
        const uint32_t most = 1 + qubo->graph.nodes / KICK_PART;
        qubo->kicks = 1 + nr_qubo_below(qubo, most < KICK_LEAST ? (uint32_t)KICK_LEAST : most);
    }
    if (flip->cost < qubo->best_cost && flip->cost <= qubo->report_at) {
        reported = keep(qubo);
    }
    return reported;
}

void nr_qubo_flip_start(struct nr_qubo *qubo)
{
    const struct nr_qubo_graph *graph = &qubo->graph;
    struct nr_qubo_flip *flip = &qubo->flip;
    const uint32_t n = graph->nodes;
    const uint32_t buckets = 2 * sizes_of(graph->kind);
    for (uint32_t i = 0; i < NR_QUBO_RELEASES; i++) {
        flip->release[i] = NONE;
    }
    for (uint32_t i = 0; i < buckets; i++) {
        flip->bucket[i] = NONE;
    }
    memset(flip->side, 0, (size_t)((n + 7) / 8));
    flip->cost = qubo->local_cost = 0;
    flip->top = 0;
    for (uint32_t v = 0; v < n; v++) {
        int32_t gain = 0;
        if (graph->kind == NR_QUBO_GENERAL) {
            gain = -graph->linear[v];
        } else {
            for (uint32_t i = graph->row[v]; i < graph->row[v + 1]; i++) {
                gain += graph->neighbour[i] < SIGN ? 1 : -1;
            }
        }
        flip->gain[v] = gain;
        if (graph->row[v] < graph->row[v + 1]) {
            insert(qubo, v);
            continue;
        }
        /* A node without pairs is right at once. Among the others it would be flipped to and fro,
           as that costs least, and no other node would. */
        flip->before[v] = (uint16_t)v;
        if (gain > 0) {
            flip->side[v / 8] = (uint8_t)(flip->side[v / 8] | 1U << (v % 8));
            flip->cost -= gain;
            flip->gain[v] = -gain;
        }
    }
    qubo->local_cost = flip->cost;
}

bool nr_qubo_flip_step(struct nr_qubo *qubo, uint32_t work)
{
    bool reported = false;
    while (qubo->work < work && !reported) {
        if (qubo->kicks > 0) {
            go_on_kicking(qubo);
        } else {
            reported = move(qubo);
        }
    }
    return reported;
}

void nr_qubo_flip_settle(struct nr_qubo *qubo)
{
    if (qubo->flip.cost < qubo->best_cost) {
        (void)keep(qubo);
    }
}
