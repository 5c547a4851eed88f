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
    MOVE_WORK = 4,              /* cost of a move in addition to its neighbours */
};

/* xorshift32 (Marsaglia 2003). */
static uint32_t below(struct nr_qubo *qubo, uint32_t limit)
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

static void choose(struct nr_qubo *qubo, uint32_t v) /* a free node */
{
    const uint32_t start = qubo->graph.row[v];
    const uint32_t stop = qubo->graph.row[v + 1];
    exchange(qubo, v, qubo->chosen);
    qubo->chosen++;
    qubo->free--;
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
        qubo->forced = qubo->order[qubo->chosen + below(qubo, n - qubo->chosen)];
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

/* Returns the oldest of some swappable nodes that are not tabu (sparse) or any of them (dense); the
   number of nodes if none. */
static uint32_t find_swap(struct nr_qubo *qubo)
{
    const uint16_t *swappable = qubo->order + qubo->graph.nodes - qubo->swappable;
    uint32_t count = qubo->swappable;
    uint32_t found = qubo->graph.nodes;
    if (!qubo->sparse) {
        for (unsigned tries = 0; count > 0 && tries < LOOKED_AT_DENSE; tries++) {
            uint32_t v = swappable[below(qubo, count)];
            if (!is_tabu(qubo, v)) {
                return v;
            }
        }
        return found;
    }
    uint32_t at = count > LOOKED_AT_SPARSE ? below(qubo, count) : 0;
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
        tenure = TABU_DENSE + below(qubo, qubo->swappable + 1);
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
    qubo->best_cost = -(int32_t)qubo->chosen;
    return qubo->best_cost <= qubo->report_at;
}

/* Chooses a free node; true when that made a reportable best. */
static bool extend(struct nr_qubo *qubo)
{
    choose(qubo, qubo->order[qubo->chosen + below(qubo, qubo->free)]);
    if (qubo->chosen > qubo->local_best) {
        qubo->local_best = qubo->chosen;
        qubo->idle_moves = 0;
    }
    /* A set that can still grow is kept only if its cost is waited for: it will grow at once. */
    const int32_t cost = -(int32_t)qubo->chosen;
    return cost < qubo->best_cost && (qubo->free == 0 || cost <= qubo->report_at)
           && keep_best(qubo);
}

static void wander(struct nr_qubo *qubo)
{
    qubo->idle_moves++;
    if (qubo->idle_moves
        >= (qubo->sparse ? (uint32_t)KICK_AFTER_SPARSE : (uint32_t)KICK_AFTER_DENSE)) {
        qubo->idle_moves = 0;
        qubo->local_best = 0;
        qubo->kicks = qubo->sparse ? KICK_NODES_SPARSE : KICK_NODES_DENSE;
        return;
    }
    uint32_t v = find_swap(qubo);
    if (v < qubo->graph.nodes) {
        swap_in(qubo, v);
    } else {
        qubo->kicks = 1;
    }
}

void nr_qubo_start(struct nr_qubo *qubo, uint32_t seed)
{
    uint32_t n = qubo->graph.nodes;
    uint64_t pairs = (uint64_t)n * (n - (n > 0)) / 2;
    for (uint32_t v = 0; v < n; v++) {
        qubo->changed[v] = qubo->tabu[v] = 0;
        qubo->tight[v] = qubo->owner[v] = 0;
        qubo->order[v] = qubo->place[v] = (uint16_t)v;
    }
    memset(qubo->best, 0, (size_t)((n + 7) / 8));
    qubo->chosen = qubo->swappable = 0;
    qubo->free = n;
    qubo->move = qubo->idle_moves = qubo->local_best = 0;
    qubo->kicks = 0;
    qubo->forced = n;
    qubo->forced_at = 0;
    /* spreads small seeds; odd, so only 0 is mapped to 0, which is forbidden */
    qubo->random = seed != 0 ? seed * UINT32_C(2654435761) : 1;
    qubo->best_cost = 0;
    qubo->report_at = INT32_MIN;
    qubo->sparse = 1000 * (uint64_t)qubo->graph.edges < SPARSE_BELOW_PERMILLE * pairs;
    qubo->work = 0;
}

bool nr_qubo_step(struct nr_qubo *qubo, uint32_t work)
{
    bool reported = false;
    qubo->work = 0;
    while (qubo->work < work && !reported) {
        if (qubo->kicks > 0) {
            go_on_kicking(qubo);
            continue;
        }
        qubo->move++;
        qubo->work += MOVE_WORK;
        if (qubo->free > 0) {
            reported = extend(qubo);
        } else {
            wander(qubo);
        }
    }
    return reported;
}

void nr_qubo_settle(struct nr_qubo *qubo)
{
    if (-(int32_t)qubo->chosen < qubo->best_cost) {
        (void)keep_best(qubo);
    }
}

uint32_t nr_qubo_state_b(void) { return (uint32_t)sizeof(struct nr_qubo); }

void nr_qubo_set_report_at(struct nr_qubo *qubo, int32_t cost) { qubo->report_at = cost; }

int32_t nr_qubo_best_cost(const struct nr_qubo *qubo) { return qubo->best_cost; }

const uint8_t *nr_qubo_best(const struct nr_qubo *qubo) { return qubo->best; }
