/* SPDX-License-Identifier: Apache-2.0 */
/* The search of nr_qubo.h as a workload: an input is a graph on the wire (docs/reference/QUBO.md),
   and OPTIMIZE is all it does. Output: cost:4 signed, as the search counts it; end:1, 0 time-out, 1
   target; nodes:4; then the best vector, one bit a node, low bits first. */
#ifndef NR_QUBO_WORKLOAD_H
#define NR_QUBO_WORKLOAD_H

#include "nr_qubo.h"
#include "nr_workload.h"

/* Settings of a build: memory for the graph and the search on it (nr_qubo_memory_b), the longest
   graph on the wire, and the number of touched neighbours between two readings of the clock
   (docs/reference/QUBO.md, "The solver"). */
#ifndef NR_QUBO_MEMORY_B
#define NR_QUBO_MEMORY_B 16384
#endif
#ifndef NR_QUBO_SLOT_B
#define NR_QUBO_SLOT_B 5120
#endif
#ifndef NR_QUBO_WORK_PER_POLL
#define NR_QUBO_WORK_PER_POLL 64
#endif

/* The most nodes that so much memory holds: without an edge, a node takes 20 bytes and more. */
#define NR_QUBO_NODES_FIT                                                                          \
    (NR_QUBO_MEMORY_B / 20 < NR_QUBO_NODES_MAX ? NR_QUBO_MEMORY_B / 20 : NR_QUBO_NODES_MAX)
#define NR_QUBO_HEAD_B 9
#define NR_QUBO_OUTPUT_B (NR_QUBO_HEAD_B + (NR_QUBO_NODES_FIT + 7) / 8)

/* All memory of the workload; the caller owns it. */
struct nr_qubo_state {
    struct nr_qubo search;
    enum nr_qubo_end end;
    uint32_t memory[NR_QUBO_MEMORY_B / 4];
};

/* Fills `out` with this workload on `state`. A load is refused with a code of enum nr_qubo_refusal,
   or with NR_LOAD_TOO_LARGE. */
void nr_qubo_workload(struct nr_workload *out, struct nr_qubo_state *state);

#endif
