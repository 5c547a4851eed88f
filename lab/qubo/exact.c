/* SPDX-License-Identifier: Apache-2.0 */
/* Proves the largest independent set of a graph by branch and bound, on the host.

   Sets are bits; the bound is a greedy cover by cliques, of each of which at most one node can be
   chosen (San Segundo et al. 2011, "An exact bit-parallel algorithm for the maximum clique
   problem", on the complement). */
#include <stdint.h>
#include <string.h>

enum { NODES_MAX = 512, WORDS = NODES_MAX / 64 };

typedef uint64_t set[WORDS];

struct search {
    unsigned nodes;
    unsigned words;
    set joined[NODES_MAX];          /* neighbours, by place in the order of branching */
    uint16_t node_at[NODES_MAX];    /* place -> node */
    uint16_t chosen[NODES_MAX];     /* places on the way to here */
    unsigned best;
    uint16_t *best_nodes;
    uint64_t branches_left;
};

static void take(set from, unsigned v) { from[v / 64] &= ~(UINT64_C(1) << (v % 64)); }
static void put(set to, unsigned v) { to[v / 64] |= UINT64_C(1) << (v % 64); }

static int lowest(const struct search *search, const set of)
{
    for (unsigned w = 0; w < search->words; w++) {
        if (of[w] != 0) {
            return (int)(64 * w) + __builtin_ctzll(of[w]);
        }
    }
    return -1;
}

/* Covers `candidates` by cliques; lists those whose clique has a number above `free_cliques`, with
   that number. */
static unsigned cover(const struct search *search, const set candidates, int free_cliques,
                      uint16_t *order, uint16_t *bound)
{
    set left, clique;
    unsigned listed = 0;
    int v;
    memcpy(left, candidates, sizeof left);
    for (int number = 1; lowest(search, left) >= 0; number++) {
        memcpy(clique, left, sizeof clique);
        while ((v = lowest(search, clique)) >= 0) {
            for (unsigned w = 0; w < search->words; w++) {
                clique[w] &= search->joined[v][w];
            }
            take(left, (unsigned)v);
            if (number > free_cliques) {
                order[listed] = (uint16_t)v;
                bound[listed++] = (uint16_t)number;
            }
        }
    }
    return listed;
}

static void keep(struct search *search, unsigned size)
{
    search->best = size;
    for (unsigned i = 0; i < size; i++) {
        search->best_nodes[i] = search->node_at[search->chosen[i]];
    }
}

static void branch(struct search *search, set candidates, unsigned size)
{
    uint16_t order[NODES_MAX], bound[NODES_MAX];
    set rest;
    if (size > search->best) {
        keep(search, size);
    }
    unsigned listed = cover(search, candidates, (int)search->best - (int)size, order, bound);
    while (listed-- > 0 && size + bound[listed] > search->best) {
        unsigned v = order[listed];
        if (search->branches_left == 0) {
            return;
        }
        search->branches_left--;
        take(candidates, v);
        for (unsigned w = 0; w < search->words; w++) {
            rest[w] = candidates[w] & ~search->joined[v][w];
        }
        search->chosen[size] = (uint16_t)v;
        branch(search, rest, size + 1);
    }
}

/* Orders the nodes so that the one with the most neighbours among those left comes last, and so is
   branched on first. */
static void order_nodes(struct search *search, const int64_t *row, const int32_t *neighbour)
{
    uint16_t degree[NODES_MAX], place[NODES_MAX];
    set left = {0};
    for (unsigned v = 0; v < search->nodes; v++) {
        degree[v] = (uint16_t)(row[v + 1] - row[v]);
        put(left, v);
    }
    for (unsigned at = search->nodes; at-- > 0;) {
        unsigned most = (unsigned)lowest(search, left);
        for (unsigned v = most; v < search->nodes; v++) {
            if ((left[v / 64] >> (v % 64) & 1) && degree[v] > degree[most]) {
                most = v;
            }
        }
        take(left, most);
        search->node_at[at] = (uint16_t)most;
        place[most] = (uint16_t)at;
        for (int64_t i = row[most]; i < row[most + 1]; i++) {
            degree[neighbour[i]]--;
        }
    }
    memset(search->joined, 0, sizeof search->joined);
    for (unsigned v = 0; v < search->nodes; v++) {
        for (int64_t i = row[v]; i < row[v + 1]; i++) {
            put(search->joined[place[v]], place[neighbour[i]]);
        }
    }
}

/* Looks for more than `known` independent nodes; returns the most there are, or -1 where `branches`
   did not do, or for too many nodes. `best_nodes` has room for all nodes and is written where more
   than `known` were found. */
int exact_independent(uint32_t nodes, const int64_t *row, const int32_t *neighbour, uint32_t known,
                      uint64_t branches, uint16_t *best_nodes)
{
    struct search search;
    set all = {0};
    if (nodes > NODES_MAX) {
        return -1;
    }
    search.nodes = nodes;
    search.words = (nodes + 63) / 64;
    search.best = known;
    search.best_nodes = best_nodes;
    search.branches_left = branches;
    order_nodes(&search, row, neighbour);
    for (unsigned v = 0; v < nodes; v++) {
        put(all, v);
    }
    branch(&search, all, 0);
    return search.branches_left == 0 ? -1 : (int)search.best;
}
