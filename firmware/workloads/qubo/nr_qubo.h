/* SPDX-License-Identifier: Apache-2.0 */
/* Maximum independent sets as QUBO, by local search: cost -1 for a chosen node, no two chosen nodes
   are ever joined by an edge.

   The search keeps an independent set that cannot be extended, and goes on by swaps: a node with
   exactly one chosen neighbour comes in, that neighbour leaves. Nodes that become free come in at
   once. What may be swapped is known at all times, as each node counts its chosen neighbours (the
   idea of Andrade, Resende & Werneck 2012); which swap is taken is decided by tabu (Wu, Hao &
   Glover 2012) on dense graphs and by age on sparse ones. Where nothing was gained for a while, a
   few nodes are forced in. Integers only, no allocation: all memory is the caller's. The same
   source runs on the device and on the host. */
#ifndef NR_QUBO_H
#define NR_QUBO_H

#include <stdbool.h>
#include <stdint.h>

#define NR_QUBO_NODES_MAX 65535U /* nodes are 16-bit numbers */

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
};

/* The graph in memory: node v has neighbours neighbour[row[v]] to neighbour[row[v + 1] - 1]. */
struct nr_qubo_graph {
    uint32_t nodes;
    uint32_t edges;
    uint32_t *row;
    uint16_t *neighbour;
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
    uint32_t move;
    uint32_t idle_moves; /* moves since the last gain */
    uint32_t local_best; /* most chosen since the last kick */
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

/* The memory that a graph needs, in bytes; 0 where 16-bit nodes or the number of pairs forbid it.
   Grows by 4 bytes an edge. */
uint64_t nr_qubo_memory_b(uint32_t nodes, uint32_t edges);

/* Reads the head of a graph on the wire: nodes and edges. */
enum nr_qubo_refusal nr_qubo_sizes(const uint8_t *data, uint32_t length_b, uint32_t *nodes,
                                   uint32_t *edges);

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

/* ---- for callers in other languages, which do not know the struct ---- */

uint32_t nr_qubo_state_b(void);
void nr_qubo_set_report_at(struct nr_qubo *qubo, int32_t cost);
int32_t nr_qubo_best_cost(const struct nr_qubo *qubo);
const uint8_t *nr_qubo_best(const struct nr_qubo *qubo);

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
