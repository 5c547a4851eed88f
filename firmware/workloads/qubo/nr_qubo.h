/* SPDX-License-Identifier: Apache-2.0 */
/* Quadratic problems of binary variables, by local search, the least cost first.

   Independent sets: cost -1 for a chosen node, or minus its weight; no two chosen nodes are ever
   joined by an edge. Cuts, and general problems with a weight of each node and edge, are searched
   by single flips: nr_qubo_flip.c.

   The search for sets keeps an independent set that cannot be extended, and goes on by swaps: a
   node with exactly one chosen neighbour comes in, that neighbour leaves. Nodes that become
   free come in at once. What may be swapped is known at all times, as each node counts its
   chosen neighbours (the idea of Andrade, Resende & Werneck 2012); which swap is taken is
   decided by tabu (Wu, Hao & Glover 2012) on dense graphs and by age on sparse ones. Where
   nothing was gained for a while, a few nodes are forced in. With weights, the swap of the
   largest gain is taken, and of free nodes the heaviest. Integers only, no allocation: all
   memory is the caller's. The same source runs on the device and on the host. */
#ifndef NR_QUBO_H
#define NR_QUBO_H

#include <stdbool.h>
#include <stdint.h>

#define NR_QUBO_NODES_MAX 65535U /* nodes are 16-bit numbers */
#define NR_QUBO_FLIP_NODES_MAX 32767U /* of those, bit 15 is the sign of an edge */

/* What is searched for: byte 3 of a graph on the wire. */
enum nr_qubo_kind {
    NR_QUBO_SET = 0,          /* an independent set of many nodes */
    NR_QUBO_WEIGHTED_SET = 1, /* an independent set of much weight */
    NR_QUBO_CUT = 2,          /* two sides, with many edges of weight 1 across, few of weight -1 */
    NR_QUBO_GENERAL = 3,      /* a binary vector of low cost: weights of nodes and edges */
    NR_QUBO_KINDS = 4,
};

/* Why a graph was refused. */
enum nr_qubo_refusal {
    NR_QUBO_GOOD = 0,
    NR_QUBO_TRUNCATED = 1, /* fewer bytes than a head, or than its rows need */
    /* more nodes than 16 bits can count, more edges than pairs, or more memory than there is */
    NR_QUBO_TOO_LARGE = 2,
    NR_QUBO_CHECKSUM = 3,
    NR_QUBO_NODE = 4,      /* a neighbour beyond the last node */
    NR_QUBO_NUMBER = 5,    /* a number longer than three bytes, or longer than it needs to be */
    NR_QUBO_EDGES = 6,     /* more or fewer edges than announced, or bytes after the last row */
    NR_QUBO_KIND = 7,      /* a kind of problem that is not known */
    /* a weight of 0, one of a node beyond 16 bits, or more in all than 31 bits count */
    NR_QUBO_WEIGHT = 8,
};

/* The problem in memory: node v has neighbours neighbour[row[v]] to neighbour[row[v + 1] - 1]; of a
   cut, bit 15 of a neighbour says that the edge weighs -1. */
struct nr_qubo_graph {
    enum nr_qubo_kind kind;
    uint32_t nodes;
    uint32_t edges;
    uint32_t *row;
    uint16_t *neighbour;
    uint16_t *weight;    /* node: its weight (weighted sets) */
    int32_t *linear;     /* node: its part of the cost (general) */
    int32_t *coupling;   /* beside `neighbour`: cost of both ends being 1 (general) */
};

/* The search by single flips. */
struct nr_qubo_flip {
    int32_t *gain;       /* node: what its flip takes off the cost */
    /* lists of nodes: of about the same gain, or to be free of tabu at the same move */
    uint16_t *next;
    uint16_t *before;    /* node: the one before it in its list; itself where it is tabu */
    uint16_t *bucket;    /* first nodes of the lists by gain */
    uint16_t *release;   /* first nodes of the lists by the move that ends their tabu */
    uint8_t *side;       /* bit v of the vector, low bits first */
    int32_t cost;
    uint32_t top;        /* no list by gain above this one has a node */
};

struct nr_qubo {
    struct nr_qubo_graph graph;
    uint32_t *changed;   /* node: move of its last coming or leaving */
    uint32_t *tabu;      /* node: move before which it may not come back by a swap */
    uint16_t *tight;     /* node: how many of its neighbours are chosen; 0 for chosen ones */
    uint16_t *owner;     /* node: all its chosen neighbours, XORed: with one, it is that one */
    /* all nodes: chosen, free (tight 0), others (tight 2 and more), swappable (tight 1) */
    uint16_t *order;
    uint16_t *place;     /* node: where it stands in `order` */
    uint8_t *best;       /* bit v of the best vector, low bits first */
    uint32_t chosen;     /* lengths of the parts of `order` */
    uint32_t free;
    uint32_t swappable;
    uint32_t heavy;      /* weight of the chosen nodes: their number, without weights */
    struct nr_qubo_flip flip;
    uint32_t move;
    uint32_t idle_moves; /* moves since the last gain */
    uint32_t local_best; /* most weight chosen since the last kick */
    int32_t local_cost;  /* least cost since the last kick (flips) */
    /* nodes that are still to be forced in: a kick is cut where it has dropped a node, as it is
       long */
    uint32_t kicks;
    uint32_t forced;     /* the one that is being forced in, or graph.nodes */
    uint32_t forced_at;  /* the first of its neighbours that may still have to leave */
    uint32_t random;
    uint32_t work;       /* neighbours touched in this step */
    int32_t best_cost;
    /* nr_qubo_step returns at once when the best cost comes down to this or less */
    int32_t report_at;
    bool sparse;
};

/* The memory that a problem needs, in bytes; 0 where its kind, the numbers of its nodes or the
   number of pairs forbid it. Grows by 4 bytes an edge, by 12 with weights of edges. */
uint64_t nr_qubo_memory_b(uint32_t kind, uint32_t nodes, uint32_t edges);

/* Reads the head of a graph on the wire: kind, nodes and edges. */
enum nr_qubo_refusal nr_qubo_sizes(const uint8_t *data, uint32_t length_b, uint32_t *kind,
                                   uint32_t *nodes, uint32_t *edges);

/* Takes the graph on the wire (docs/reference/QUBO.md) into `memory` of `memory_b` bytes, which
   stays in use. `data` is not needed afterwards. Call nr_qubo_start next. */
enum nr_qubo_refusal nr_qubo_load(struct nr_qubo *qubo, uint32_t *memory, uint32_t memory_b,
                                  const uint8_t *data, uint32_t length_b);

/* Restarts on the loaded graph: best cost 0, no node chosen. Equal seeds make equal moves. */
void nr_qubo_start(struct nr_qubo *qubo, uint32_t seed);

/* Searches until about `work` neighbours were touched, or a best cost at or below `report_at` is
   new; returns true in that case. How it is cut into steps does not change the search. */
bool nr_qubo_step(struct nr_qubo *qubo, uint32_t work);

/* Takes the present choice for the best where it is better: for a search that ends before its first
   set is complete. */
void nr_qubo_settle(struct nr_qubo *qubo);

/* ---- the search by single flips, which the functions above call ---- */

/* Moves that a node may stay tabu for, at most. */
#define NR_QUBO_RELEASES 64U

/* The lists of a kind of problem, in 16-bit numbers: by gain, and by the end of tabu. */
uint32_t nr_qubo_flip_lists(uint32_t kind);
void nr_qubo_flip_start(struct nr_qubo *qubo);
bool nr_qubo_flip_step(struct nr_qubo *qubo, uint32_t work);
void nr_qubo_flip_settle(struct nr_qubo *qubo);

/* A number of 0 to `limit` - 1 by chance. */
uint32_t nr_qubo_below(struct nr_qubo *qubo, uint32_t limit);

/* ---- for callers in other languages, which do not know the struct ---- */

uint32_t nr_qubo_state_b(void);
void nr_qubo_set_report_at(struct nr_qubo *qubo, int32_t cost);
int32_t nr_qubo_best_cost(const struct nr_qubo *qubo);
const uint8_t *nr_qubo_best(const struct nr_qubo *qubo);
uint32_t nr_qubo_moves(const struct nr_qubo *qubo);

/* ---- with a clock ---- */

enum nr_qubo_end { NR_QUBO_TIMEOUT = 0, NR_QUBO_TARGET = 1 };

/* When to stop, and what to tell on the way. */
struct nr_qubo_limits {
    int32_t target_cost;         /* stop here */
    uint64_t timeout_ticks;      /* or after this time */
    /* how often the clock is read: about that many touched neighbours */
    uint32_t work_per_poll;
    const int32_t *thresholds;   /* costs to mark, falling */
    uint8_t threshold_count;
};

/* Connection of the search to the device. `crossed` is called once for each threshold, as soon as
   the best cost is at or below it. */
struct nr_qubo_bench {
    void *context;
    uint64_t (*ticks)(void *context);
    void (*crossed)(void *context, uint8_t threshold, int32_t cost);
};

/* Searches until target or time-out; `qubo` was started. The best vector is in qubo->best, its cost
   in qubo->best_cost. */
enum nr_qubo_end nr_qubo_run(struct nr_qubo *qubo, const struct nr_qubo_limits *limits,
                             const struct nr_qubo_bench *bench);

#endif
