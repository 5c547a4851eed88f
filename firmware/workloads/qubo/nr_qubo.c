/* SPDX-License-Identifier: Apache-2.0 */
#include "nr_qubo.h"

#include <string.h>

enum {
    /* of all pairs that are edges: the rule that takes the oldest swap is better below, measured */
    SPARSE_BELOW_PERMILLE = 40,
    KICK_AFTER_SPARSE = 1000,   /* moves without a gain */
    KICK_AFTER_DENSE = 4000,
    KICK_NODES_SPARSE = 2,
    KICK_NODES_DENSE = 8,
    TABU_SPARSE = 3,            /* moves */
    TABU_DENSE = 7,             /* and up to as many more as there are swaps */
    LOOKED_AT_SPARSE = 64,      /* number of swaps among which the oldest is taken */
    LOOKED_AT_DENSE = 20,
    LOOKED_AT_FREE = 8,         /* number of free nodes among which the heaviest is taken */
    MOVE_WORK = 4,              /* cost of a move in addition to its neighbours */
};

/* xorshift32 (Marsaglia 2003). */
uint32_t nr_qubo_below(struct nr_qubo *qubo, uint32_t limit)
{
    uint32_t x = qubo->random;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    qubo->random = x;
    return (uint32_t)(((uint64_t)x * limit) >> 32);
}

/* ---- the parts of `order`: a node moves to the part beside its own by a swap with the node at the
   border ---- */

static void exchange(struct nr_qubo *qubo, uint32_t v, uint32_t to)
{
    uint32_t from = qubo->place[v];
    uint16_t there = qubo->order[to];
    qubo->order[to] = (uint16_t)v;
    qubo->order[from] = there;
    qubo->place[v] = (uint16_t)to;
    qubo->place[there] = (uint16_t)from;
}

static void free_to_others(struct nr_qubo *qubo, uint32_t v)
{
    qubo->free--;
    exchange(qubo, v, qubo->chosen + qubo->free);
}

static void others_to_free(struct nr_qubo *qubo, uint32_t v)
{
    exchange(qubo, v, qubo->chosen + qubo->free);
    qubo->free++;
}

static void others_to_swappable(struct nr_qubo *qubo, uint32_t v)
{
    qubo->swappable++;
    exchange(qubo, v, qubo->graph.nodes - qubo->swappable);
}

static void swappable_to_others(struct nr_qubo *qubo, uint32_t v)
{
    exchange(qubo, v, qubo->graph.nodes - qubo->swappable);
    qubo->swappable--;
}

/* ---- moves ---- */

static uint32_t weight_of(const struct nr_qubo *qubo, uint32_t v)
{
    return qubo->graph.weight == NULL ? 1U : qubo->graph.weight[v];
}

static void choose(struct nr_qubo *qubo, uint32_t v) /* a free node */
{
    const uint32_t start = qubo->graph.row[v];
    const uint32_t stop = qubo->graph.row[v + 1];
    exchange(qubo, v, qubo->chosen);
    qubo->chosen++;
    qubo->free--;
    qubo->heavy += weight_of(qubo, v);
    qubo->changed[v] = qubo->move;
    for (uint32_t i = start; i < stop; i++) {
        uint16_t w = qubo->graph.neighbour[i];
        uint16_t before = qubo->tight[w]++;
        qubo->owner[w] ^= (uint16_t)v;
        if (before == 0) {
            free_to_others(qubo, w);
            others_to_swappable(qubo, w);
        } else if (before == 1) {
            swappable_to_others(qubo, w);
        }
    }
    qubo->work += stop - start;
}

static void drop(struct nr_qubo *qubo, uint32_t v) /* a chosen node */
{
    const uint32_t start = qubo->graph.row[v];
    const uint32_t stop = qubo->graph.row[v + 1];
    qubo->chosen--;
    qubo->free++;
    qubo->heavy -= weight_of(qubo, v);
    exchange(qubo, v, qubo->chosen);
    qubo->changed[v] = qubo->move;
    for (uint32_t i = start; i < stop; i++) {
        uint16_t w = qubo->graph.neighbour[i];
        uint16_t after = --qubo->tight[w];
        qubo->owner[w] ^= (uint16_t)v;
        if (after == 0) {
            swappable_to_others(qubo, w);
            others_to_free(qubo, w);
        } else if (after == 1) {
            others_to_swappable(qubo, w);
        }
    }
    qubo->work += stop - start;
}

/* Drops the next chosen neighbour of the node that is forced in; false when there is none left. */
static bool make_room(struct nr_qubo *qubo)
{
    const uint32_t stop = qubo->graph.row[qubo->forced + 1];
    while (qubo->tight[qubo->forced] > 0 && qubo->forced_at < stop) {
        uint16_t w = qubo->graph.neighbour[qubo->forced_at++];
        if (qubo->place[w] < qubo->chosen) {
            drop(qubo, w);
            qubo->tabu[w] = qubo->move + (qubo->sparse ? TABU_SPARSE : TABU_DENSE);
            return true;
        }
    }
    return false;
}

/* Goes on with a kick: nodes by chance that are not chosen come in, and their chosen neighbours
   leave first, one a call. */
static void go_on_kicking(struct nr_qubo *qubo)
{
    const uint32_t n = qubo->graph.nodes;
    if (qubo->forced == n) {
        if (qubo->chosen == n) {
            qubo->kicks = 0;
            return;
        }
        qubo->forced = qubo->order[qubo->chosen + nr_qubo_below(qubo, n - qubo->chosen)];
        qubo->forced_at = qubo->graph.row[qubo->forced];
    }
    if (!make_room(qubo)) {
        choose(qubo, qubo->forced);
        qubo->forced = n;
        qubo->kicks--;
    }
}

static bool is_tabu(const struct nr_qubo *qubo, uint32_t v)
{
    /* Right also after the counter of moves has wrapped: no tabu is longer than 2^17 moves. */
    return qubo->tabu[v] - qubo->move - 1U < UINT32_C(1) << 17;
}

/* Returns one of some swappable nodes that gains most weight and is not tabu, of equal ones the
   oldest; the number of nodes if none. */
static uint32_t find_heavy_swap(struct nr_qubo *qubo)
{
    const uint16_t *swappable = qubo->order + qubo->graph.nodes - qubo->swappable;
    const uint16_t *weight = qubo->graph.weight;
    uint32_t count = qubo->swappable;
    uint32_t at = count > LOOKED_AT_SPARSE ? nr_qubo_below(qubo, count) : 0;
    uint32_t looked_at = count > LOOKED_AT_SPARSE ? LOOKED_AT_SPARSE : count;
    uint32_t found = qubo->graph.nodes;
    int32_t most = 0;
    uint32_t age = 0;
    for (; looked_at > 0; looked_at--, at = at + 1 == count ? 0 : at + 1) {
        uint32_t v = swappable[at];
        int32_t gain = (int32_t)weight[v] - (int32_t)weight[qubo->owner[v]];
        uint32_t since = qubo->move - qubo->changed[v];
        qubo->work++;
        if (is_tabu(qubo, v)) {
            continue;
        }
        if (found == qubo->graph.nodes || gain > most || (gain == most && since > age)) {
            found = v;
            most = gain;
            age = since;
        }
    }
    return found;
}

/* Returns the oldest of some swappable nodes that are not tabu (sparse) or any of them (dense); the
   number of nodes if none. */
static uint32_t find_swap(struct nr_qubo *qubo)
{
    const uint16_t *swappable = qubo->order + qubo->graph.nodes - qubo->swappable;
    uint32_t count = qubo->swappable;
    uint32_t found = qubo->graph.nodes;
    if (qubo->graph.weight != NULL) {
        return find_heavy_swap(qubo);
    }
    if (!qubo->sparse) {
        for (unsigned tries = 0; count > 0 && tries < LOOKED_AT_DENSE; tries++) {
            uint32_t v = swappable[nr_qubo_below(qubo, count)];
            if (!is_tabu(qubo, v)) {
                return v;
            }
        }
        return found;
    }
    uint32_t at = count > LOOKED_AT_SPARSE ? nr_qubo_below(qubo, count) : 0;
    uint32_t looked_at = count > LOOKED_AT_SPARSE ? LOOKED_AT_SPARSE : count;
    for (uint32_t age = 0; looked_at > 0; looked_at--, at = at + 1 == count ? 0 : at + 1) {
        uint32_t v = swappable[at];
        uint32_t since = qubo->move - qubo->changed[v];
        if (!is_tabu(qubo, v) && (found == qubo->graph.nodes || since > age)) {
            found = v;
            age = since;
        }
        qubo->work++;
    }
    return found;
}

static void swap_in(struct nr_qubo *qubo, uint32_t v)
{
    uint32_t leaving = qubo->owner[v];
    uint32_t tenure = TABU_SPARSE;
    drop(qubo, leaving);
    choose(qubo, v);
    if (!qubo->sparse) {
        tenure = TABU_DENSE + nr_qubo_below(qubo, qubo->swappable + 1);
    }
    qubo->tabu[leaving] = qubo->move + tenure;
}

static bool keep_best(struct nr_qubo *qubo)
{
    uint32_t n = qubo->graph.nodes;
    memset(qubo->best, 0, (size_t)((n + 7) / 8));
    for (uint32_t i = 0; i < qubo->chosen; i++) {
        uint32_t v = qubo->order[i];
        qubo->best[v / 8] = (uint8_t)(qubo->best[v / 8] | 1U << (v % 8));
    }
    qubo->work += n / 8 + qubo->chosen;
    qubo->best_cost = -(int32_t)qubo->heavy;
    return qubo->best_cost <= qubo->report_at;
}

/* Returns a free node by chance: with weights, the heaviest of some. */
static uint32_t find_free(struct nr_qubo *qubo)
{
    const uint16_t *free = qubo->order + qubo->chosen;
    uint32_t found = free[nr_qubo_below(qubo, qubo->free)];
    if (qubo->graph.weight != NULL) {
        for (unsigned tries = 1; tries < LOOKED_AT_FREE; tries++) {
            uint32_t v = free[nr_qubo_below(qubo, qubo->free)];
            if (weight_of(qubo, v) > weight_of(qubo, found)) {
                found = v;
            }
        }
    }
    return found;
}

/* Looks at the weight after a move; true when that made a reportable best. */
static bool judge(struct nr_qubo *qubo)
{
    if (qubo->heavy > qubo->local_best) {
        qubo->local_best = qubo->heavy;
        qubo->idle_moves = 0;
    }
    /* A set that can still grow is kept only if its cost is waited for: it will grow at once. */
    const int32_t cost = -(int32_t)qubo->heavy;
    return cost < qubo->best_cost && (qubo->free == 0 || cost <= qubo->report_at)
           && keep_best(qubo);
}

/* Swaps, or begins a kick; true when that made a reportable best. */
static bool wander(struct nr_qubo *qubo)
{
    qubo->idle_moves++;
    if (qubo->idle_moves
        >= (qubo->sparse ? (uint32_t)KICK_AFTER_SPARSE : (uint32_t)KICK_AFTER_DENSE)) {
        qubo->idle_moves = 0;
        qubo->local_best = 0;
        qubo->kicks = qubo->sparse ? KICK_NODES_SPARSE : KICK_NODES_DENSE;
        return false;
    }
    uint32_t v = find_swap(qubo);
    if (v < qubo->graph.nodes) {
        swap_in(qubo, v);
        return qubo->graph.weight != NULL && judge(qubo);
    }
    qubo->kicks = 1;
    return false;
}

static bool flips(const struct nr_qubo *qubo) { return qubo->graph.kind >= NR_QUBO_CUT; }

static void start_sets(struct nr_qubo *qubo)
{
    uint32_t n = qubo->graph.nodes;
    uint64_t pairs = (uint64_t)n * (n - (n > 0)) / 2;
    for (uint32_t v = 0; v < n; v++) {
        qubo->changed[v] = qubo->tabu[v] = 0;
        qubo->tight[v] = qubo->owner[v] = 0;
        qubo->order[v] = qubo->place[v] = (uint16_t)v;
    }
    qubo->chosen = qubo->swappable = qubo->heavy = 0;
    qubo->free = n;
    qubo->forced = n;
    qubo->forced_at = 0;
    qubo->sparse = 1000 * (uint64_t)qubo->graph.edges < SPARSE_BELOW_PERMILLE * pairs;
}

void nr_qubo_start(struct nr_qubo *qubo, uint32_t seed)
{
    memset(qubo->best, 0, (size_t)((qubo->graph.nodes + 7) / 8));
    qubo->move = qubo->idle_moves = qubo->local_best = qubo->kicks = 0;
    /* spreads small seeds; odd, so only 0 is mapped to 0, which is forbidden */
    qubo->random = seed != 0 ? seed * UINT32_C(2654435761) : 1;
    qubo->best_cost = 0;
    qubo->report_at = INT32_MIN;
    qubo->work = 0;
    if (flips(qubo)) {
        nr_qubo_flip_start(qubo);
    } else {
        start_sets(qubo);
    }
}

bool nr_qubo_step(struct nr_qubo *qubo, uint32_t work)
{
    bool reported = false;
    qubo->work = 0;
    if (flips(qubo)) {
        return nr_qubo_flip_step(qubo, work);
    }
    while (qubo->work < work && !reported) {
        if (qubo->kicks > 0) {
            go_on_kicking(qubo);
            /* With weights, one node that is forced in may outweigh all that left. */
            if (qubo->graph.weight != NULL && qubo->forced == qubo->graph.nodes) {
                reported = judge(qubo);
            }
            continue;
        }
        qubo->move++;
        qubo->work += MOVE_WORK;
        if (qubo->free > 0) {
            choose(qubo, find_free(qubo));
            reported = judge(qubo);
        } else {
            reported = wander(qubo);
        }
    }
    return reported;
}

void nr_qubo_settle(struct nr_qubo *qubo)
{
    if (flips(qubo)) {
        nr_qubo_flip_settle(qubo);
    } else if (-(int32_t)qubo->heavy < qubo->best_cost) {
        (void)keep_best(qubo);
    }
}

uint32_t nr_qubo_state_b(void) { return (uint32_t)sizeof(struct nr_qubo); }

void nr_qubo_set_report_at(struct nr_qubo *qubo, int32_t cost) { qubo->report_at = cost; }

int32_t nr_qubo_best_cost(const struct nr_qubo *qubo) { return qubo->best_cost; }

const uint8_t *nr_qubo_best(const struct nr_qubo *qubo) { return qubo->best; }

uint32_t nr_qubo_moves(const struct nr_qubo *qubo) { return qubo->move; }
