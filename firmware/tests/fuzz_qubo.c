/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer target: a graph of any bytes, taken in and searched. Byte 0 sets how much memory there
   is, byte 1 is the seed, byte 2 says how long is searched and in how large steps, the rest is the
   graph; its CRC is put right unless bit 7 of byte 0 is set, so that the fuzzer gets past it.
   Demanded: what was taken in is a simple graph whose rows fall and name each other, the best
   vector costs what the search says, it is an independent set where one is searched for, and the
   cost only falls. */
#include <stdlib.h>
#include <string.h>

#include "nr_frame.h"
#include "nr_qubo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    PARAMETERS_B = 3,
    CRC_AT_B = 8,
    HEAD_B = 12,
    MEMORY_STEP_WORDS = 64,
    SHORT_STEP = 7,
    LONG_STEP = 600,
    ROWS_MAX = 200,
    NODE_MASK = 0x7FFF
};

static void need(bool condition)
{
    if (!condition) {
        abort();
    }
}

static void put_crc(uint8_t *graph, uint32_t graph_b)
{
    if (graph_b >= HEAD_B) {
        nr_put_u32(graph + CRC_AT_B,
                   nr_crc32(nr_crc32(0, graph, CRC_AT_B), graph + HEAD_B, graph_b - HEAD_B));
    }
}

static uint32_t node_at(const struct nr_qubo_graph *graph, uint32_t i)
{
    return graph->kind == NR_QUBO_CUT ? graph->neighbour[i] & NODE_MASK : graph->neighbour[i];
}

/* What both ends being 1 costs. */
static int64_t weight_at(const struct nr_qubo_graph *graph, uint32_t i)
{
    if (graph->kind == NR_QUBO_CUT) {
        return graph->neighbour[i] > NODE_MASK ? -2 : 2;
    }
    return graph->kind == NR_QUBO_GENERAL ? graph->coupling[i] : 0;
}

static bool is_neighbour(const struct nr_qubo_graph *graph, uint32_t v, uint32_t w, int64_t weight)
{
    for (uint32_t i = graph->row[v]; i < graph->row[v + 1]; i++) {
        if (node_at(graph, i) == w) {
            return weight_at(graph, i) == weight;
        }
    }
    return false;
}

static void check_graph(const struct nr_qubo_graph *graph)
{
    need(graph->row[0] == 0 && graph->row[graph->nodes] == 2 * graph->edges);
    for (uint32_t v = 0; v < graph->nodes; v++) {
        need(graph->row[v] <= graph->row[v + 1]);
        for (uint32_t i = graph->row[v]; i < graph->row[v + 1]; i++) {
            uint32_t w = node_at(graph, i);
            need(w < graph->nodes && w != v && (i == graph->row[v] || w < node_at(graph, i - 1)));
            need(graph->nodes > ROWS_MAX || is_neighbour(graph, w, v, weight_at(graph, i)));
        }
    }
}

static bool is_set(const uint8_t *bits, uint32_t v) { return (bits[v / 8] & 1U << (v % 8)) != 0; }

static int64_t own_cost(const struct nr_qubo_graph *graph, uint32_t v)
{
    int64_t cost = graph->weight == NULL || graph->kind != NR_QUBO_WEIGHTED_SET
                       ? -1
                       : -(int64_t)graph->weight[v];
    if (graph->kind == NR_QUBO_GENERAL) {
        return graph->linear[v];
    }
    if (graph->kind == NR_QUBO_CUT) {
        cost = 0;
        for (uint32_t i = graph->row[v]; i < graph->row[v + 1]; i++) {
            cost -= weight_at(graph, i) / 2;
        }
    }
    return cost;
}

static void check_best(const struct nr_qubo *qubo)
{
    const struct nr_qubo_graph *graph = &qubo->graph;
    int64_t cost = 0;
    for (uint32_t v = 0; v < graph->nodes; v++) {
        if (!is_set(qubo->best, v)) {
            continue;
        }
        cost += own_cost(graph, v);
        for (uint32_t i = graph->row[v]; i < graph->row[v + 1]; i++) {
            uint32_t w = node_at(graph, i);
            need(graph->kind >= NR_QUBO_CUT || !is_set(qubo->best, w));
            cost += w > v && is_set(qubo->best, w) ? weight_at(graph, i) : 0;
        }
    }
    for (uint32_t v = graph->nodes; v % 8 != 0; v++) {
        need(!is_set(qubo->best, v));
    }
    need(cost == qubo->best_cost);
}

static void search(struct nr_qubo *qubo, uint32_t seed, uint32_t work, unsigned steps)
{
    int32_t before = 0;
    nr_qubo_start(qubo, seed);
    for (unsigned i = 0; i < steps; i++) {
        bool reported;
        int64_t below;
        /* a cost may be next to the least that 32 bits hold */
        below = (int64_t)before - (int64_t)(seed % 3U);
        nr_qubo_set_report_at(qubo, below < INT32_MIN ? INT32_MIN : (int32_t)below);
        reported = nr_qubo_step(qubo, work);
        need(qubo->best_cost <= before && (!reported || qubo->best_cost <= qubo->report_at));
        before = qubo->best_cost;
    }
    nr_qubo_settle(qubo);
    check_best(qubo);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nr_qubo qubo;
    uint32_t graph_b;
    size_t words;
    uint32_t *memory;
    uint8_t *graph;
    if (size < PARAMETERS_B) {
        return 0;
    }
    graph_b = (uint32_t)(size - PARAMETERS_B);
    words = (size_t)(data[0] & 0x7FU) * MEMORY_STEP_WORDS;
    /* both of their own, so that the sanitizer sees their ends */
    memory = malloc(words * sizeof *memory + 1);
    graph = malloc((size_t)graph_b + 1);
    need(memory != NULL && graph != NULL);
    memset(memory, 0xA5, words * sizeof *memory);
    memcpy(graph, data + PARAMETERS_B, graph_b);
    if ((data[0] & 0x80U) == 0) {
        put_crc(graph, graph_b);
    }
    if (nr_qubo_load(&qubo, memory, (uint32_t)(words * sizeof *memory), graph, graph_b)
        == NR_QUBO_GOOD) {
        need(nr_qubo_memory_b(qubo.graph.kind, qubo.graph.nodes, qubo.graph.edges)
             <= words * sizeof *memory);
        check_graph(&qubo.graph);
        search(&qubo, data[1], data[2] % 2 != 0 ? SHORT_STEP : LONG_STEP, data[2] / 2U);
    }
    free(graph);
    free(memory);
    return 0;
}
