/* SPDX-License-Identifier: Apache-2.0 */
/* The graph from the wire: head, checks, and its rows in two passes over the bytes. */
#include <string.h>

#include "nr_frame.h"
#include "nr_qubo.h"

enum { HEAD_B = 12, SIZES_B = 8, NUMBER_MAX_B = 3 };

/* A place in the bytes, and what went wrong there. */
struct reader {
    const uint8_t *data;
    uint32_t length_b;
    uint32_t offset_b;
    enum nr_qubo_refusal refusal;
};

uint64_t nr_qubo_memory_b(uint32_t nodes, uint32_t edges)
{
    uint64_t n = nodes;
    if (nodes > NR_QUBO_NODES_MAX || edges > (n == 0 ? 0 : n * (n - 1) / 2)) {
        return 0;
    }
    uint64_t halves = 2 * (uint64_t)edges + 4 * n + (n + 15) / 16;
    return 4 * (3 * n + 1) + 4 * ((halves + 1) / 2);
}

enum nr_qubo_refusal nr_qubo_sizes(const uint8_t *data, uint32_t length_b, uint32_t *nodes,
                                   uint32_t *edges)
{
    if (length_b < HEAD_B) {
        return NR_QUBO_TRUNCATED;
    }
    *nodes = nr_get_u32(data);
    *edges = nr_get_u32(data + 4);
    return NR_QUBO_GOOD;
}

static uint32_t next_number(struct reader *reader)
{
    uint32_t value = 0;
    for (unsigned byte = 0; byte < NUMBER_MAX_B; byte++) {
        if (reader->offset_b == reader->length_b) {
            reader->refusal = NR_QUBO_TRUNCATED;
            return 0;
        }
        uint8_t got = reader->data[reader->offset_b++];
        value |= (uint32_t)(got & 0x7FU) << (7 * byte);
        if (got < 0x80U) {
            if (got == 0 && byte > 0) {
                reader->refusal = NR_QUBO_NUMBER;
            }
            return value;
        }
    }
    reader->refusal = NR_QUBO_NUMBER;
    return 0;
}

/* Work of a pass on an edge: count it at both ends, or put each end into the other's row. */
static void count_edge(struct nr_qubo_graph *graph, uint32_t lesser, uint32_t greater)
{
    graph->row[lesser]++;
    graph->row[greater]++;
}

static void place_edge(struct nr_qubo_graph *graph, uint32_t lesser, uint32_t greater)
{
    graph->neighbour[--graph->row[lesser]] = (uint16_t)greater;
    graph->neighbour[--graph->row[greater]] = (uint16_t)lesser;
}

static enum nr_qubo_refusal each_edge(struct nr_qubo_graph *graph, const uint8_t *data,
                                      uint32_t length_b,
                                      void (*take)(struct nr_qubo_graph *, uint32_t, uint32_t))
{
    struct reader reader = {data, length_b, HEAD_B, NR_QUBO_GOOD};
    uint32_t left = graph->edges;
    for (uint32_t lesser = 0; lesser + 1 < graph->nodes; lesser++) {
        uint32_t count = next_number(&reader);
        uint32_t greater = lesser;
        if (reader.refusal == NR_QUBO_GOOD && count > left) {
            return NR_QUBO_EDGES;
        }
        for (; count > 0 && reader.refusal == NR_QUBO_GOOD; count--, left--) {
            greater += 1 + next_number(&reader);
            if (reader.refusal == NR_QUBO_GOOD && greater >= graph->nodes) {
                return NR_QUBO_NODE;
            }
            if (reader.refusal == NR_QUBO_GOOD) {
                take(graph, lesser, greater);
            }
        }
        if (reader.refusal != NR_QUBO_GOOD) {
            return reader.refusal;
        }
    }
    return left == 0 && reader.offset_b == length_b ? NR_QUBO_GOOD : NR_QUBO_EDGES;
}

/* Distributes the memory: 32-bit arrays first, so that each is aligned. */
static void lay_out(struct nr_qubo *qubo, uint32_t *memory)
{
    uint32_t n = qubo->graph.nodes;
    qubo->graph.row = memory;
    qubo->changed = qubo->graph.row + n + 1;
    qubo->tabu = qubo->changed + n;
    uint16_t *halves = (uint16_t *)(void *)(qubo->tabu + n);
    qubo->graph.neighbour = halves;
    qubo->tight = halves + 2 * (uintptr_t)qubo->graph.edges;
    qubo->owner = qubo->tight + n;
    qubo->order = qubo->owner + n;
    qubo->place = qubo->order + n;
    qubo->best = (uint8_t *)(qubo->place + n);
}

enum nr_qubo_refusal nr_qubo_load(struct nr_qubo *qubo, uint32_t *memory, uint32_t memory_b,
                                  const uint8_t *data, uint32_t length_b)
{
    struct nr_qubo_graph *graph = &qubo->graph;
    enum nr_qubo_refusal refusal = nr_qubo_sizes(data, length_b, &graph->nodes, &graph->edges);
    if (refusal != NR_QUBO_GOOD) {
        return refusal;
    }
    uint64_t needed_b = nr_qubo_memory_b(graph->nodes, graph->edges);
    if (needed_b == 0 || needed_b > memory_b) {
        return NR_QUBO_TOO_LARGE;
    }
    if (nr_crc32(nr_crc32(0, data, SIZES_B), data + HEAD_B, (size_t)(length_b - HEAD_B))
        != nr_get_u32(data + SIZES_B)) {
        return NR_QUBO_CHECKSUM;
    }
    lay_out(qubo, memory);
    memset(graph->row, 0, ((uintptr_t)graph->nodes + 1) * sizeof *graph->row);
    refusal = each_edge(graph, data, length_b, count_edge);
    if (refusal != NR_QUBO_GOOD) {
        return refusal;
    }
    /* From degrees to the ends of the rows; placing the edges then moves each to its beginning. */
    for (uint32_t v = 1; v <= graph->nodes; v++) {
        graph->row[v] += graph->row[v - 1];
    }
    return each_edge(graph, data, length_b, place_edge);
}
