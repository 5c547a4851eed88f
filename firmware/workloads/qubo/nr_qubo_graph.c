/* SPDX-License-Identifier: Apache-2.0 */
/* The problem from the wire: head, checks, and its rows in two passes over the bytes. */
#include <string.h>

#include "nr_frame.h"
#include "nr_qubo.h"

enum { HEAD_B = 12, SIZES_B = 8, NUMBER_MAX_B = 3, WEIGHT_MAX_B = 5, NODE_BITS = 24 };

#define SIGN 0x8000U /* of a neighbour: the edge weighs -1 */

/* A place in the bytes, and what went wrong there. */
struct reader {
    const uint8_t *data;
    uint32_t length_b;
    uint32_t offset_b;
    enum nr_qubo_refusal refusal;
};

/* An edge, its lesser node first, and its weight. */
struct edge {
    uint32_t lesser;
    uint32_t greater;
    int32_t weight;
};

static uint64_t bits_b(uint64_t n) { return (n + 7) / 8; }

/* Arrays of 4-byte, of 2-byte numbers and of bytes of a problem. */
struct sizes {
    uint64_t words;
    uint64_t halves;
    uint64_t bytes;
};

static struct sizes sizes_of(uint32_t kind, uint64_t n, uint64_t m)
{
    struct sizes sizes = {n + 1, 2 * m, bits_b(n)};
    if (kind < NR_QUBO_CUT) {
        sizes.words += 2 * n;
        sizes.halves += kind == NR_QUBO_SET ? 4 * n : 5 * n;
        return sizes;
    }
    sizes.words += kind == NR_QUBO_CUT ? n : 2 * n + 2 * m;
    sizes.halves += 2 * n + nr_qubo_flip_lists(kind);
    sizes.bytes += bits_b(n);
    return sizes;
}

uint64_t nr_qubo_memory_b(uint32_t kind, uint32_t nodes, uint32_t edges)
{
    const uint64_t n = nodes;
    const uint64_t most = kind < NR_QUBO_CUT ? NR_QUBO_NODES_MAX : NR_QUBO_FLIP_NODES_MAX;
    struct sizes sizes;
    if (kind >= NR_QUBO_KINDS || n > most || edges > (n == 0 ? 0 : n * (n - 1) / 2)) {
        return 0;
    }
    sizes = sizes_of(kind, n, edges);
    return 4 * (sizes.words + (sizes.halves + (sizes.bytes + 1) / 2 + 1) / 2);
}

enum nr_qubo_refusal nr_qubo_sizes(const uint8_t *data, uint32_t length_b, uint32_t *kind,
                                   uint32_t *nodes, uint32_t *edges)
{
    if (length_b < HEAD_B) {
        return NR_QUBO_TRUNCATED;
    }
    *nodes = nr_get_u32(data) & ((UINT32_C(1) << NODE_BITS) - 1U);
    *kind = nr_get_u32(data) >> NODE_BITS;
    *edges = nr_get_u32(data + 4);
    return *kind < NR_QUBO_KINDS ? NR_QUBO_GOOD : NR_QUBO_KIND;
}

static uint32_t next_number(struct reader *reader, unsigned most_b)
{
    uint32_t value = 0;
    for (unsigned byte = 0; byte < most_b; byte++) {
        if (reader->offset_b == reader->length_b) {
            reader->refusal = NR_QUBO_TRUNCATED;
            return 0;
        }
        uint8_t got = reader->data[reader->offset_b++];
        value |= (uint32_t)(got & 0x7FU) << (7 * byte);
        if (got < 0x80U) {
            if (byte > 0 && (got == 0 || (byte + 1U == WEIGHT_MAX_B && got > 0x0FU))) {
                reader->refusal = NR_QUBO_NUMBER;
            }
            return value;
        }
    }
    reader->refusal = NR_QUBO_NUMBER;
    return 0;
}

/* A signed number: 0, -1, 1, -2, ... are 0, 1, 2, 3, ... */
static int32_t next_weight(struct reader *reader)
{
    uint32_t folded = next_number(reader, WEIGHT_MAX_B);
    return folded % 2 == 0 ? (int32_t)(folded / 2) : -(int32_t)(folded / 2) - 1;
}

/* The next edge of a row, after `edge->greater`. */
static void next_edge(struct reader *reader, enum nr_qubo_kind kind, struct edge *edge)
{
    uint32_t passed = next_number(reader, NUMBER_MAX_B);
    edge->weight = 1;
    if (kind == NR_QUBO_CUT) {
        edge->weight = passed % 2 == 0 ? 1 : -1;
        passed /= 2;
    }
    edge->greater += 1 + passed;
    if (kind == NR_QUBO_GENERAL) {
        edge->weight = next_weight(reader);
        if (edge->weight == 0 && reader->refusal == NR_QUBO_GOOD) {
            reader->refusal = NR_QUBO_WEIGHT;
        }
    }
}

/* Adds a weight's size; false where all together are more than 31 bits count. */
static bool add(uint64_t *sum, int32_t weight)
{
    *sum += weight < 0 ? (uint64_t)(-(int64_t)weight) : (uint64_t)weight;
    return *sum <= INT32_MAX;
}

/* Reads the weights of the nodes. */
static void node_weights(struct nr_qubo_graph *graph, struct reader *reader, uint64_t *sum)
{
    for (uint32_t v = 0; v < graph->nodes && reader->refusal == NR_QUBO_GOOD; v++) {
        int32_t weight;
        if (graph->kind == NR_QUBO_GENERAL) {
            weight = next_weight(reader);
            graph->linear[v] = weight;
        } else {
            weight = (int32_t)next_number(reader, NUMBER_MAX_B);
            graph->weight[v] = (uint16_t)weight;
        }
        bool counts = graph->kind == NR_QUBO_GENERAL || (weight > 0 && weight <= UINT16_MAX);
        if (reader->refusal == NR_QUBO_GOOD && (!counts || !add(sum, weight))) {
            reader->refusal = NR_QUBO_WEIGHT;
        }
    }
}

/* Work of a pass on an edge: count it at both ends, or put each end into the other's row. */
static void count_edge(struct nr_qubo_graph *graph, const struct edge *edge)
{
    graph->row[edge->lesser]++;
    graph->row[edge->greater]++;
}

static void place_end(struct nr_qubo_graph *graph, uint32_t v, uint32_t w, int32_t weight)
{
    const uint32_t at = --graph->row[v];
    graph->neighbour[at] = (uint16_t)w;
    if (graph->kind == NR_QUBO_CUT && weight < 0) {
        graph->neighbour[at] = (uint16_t)(w | SIGN);
    } else if (graph->kind == NR_QUBO_GENERAL) {
        graph->coupling[at] = weight;
    }
}

static void place_edge(struct nr_qubo_graph *graph, const struct edge *edge)
{
    place_end(graph, edge->lesser, edge->greater, edge->weight);
    place_end(graph, edge->greater, edge->lesser, edge->weight);
}

static enum nr_qubo_refusal each_edge(struct nr_qubo_graph *graph, const uint8_t *data,
                                      uint32_t length_b,
                                      void (*take)(struct nr_qubo_graph *, const struct edge *))
{
    struct reader reader = {data, length_b, HEAD_B, NR_QUBO_GOOD};
    uint32_t left = graph->edges;
    uint64_t sum = 0;
    if (graph->kind == NR_QUBO_WEIGHTED_SET || graph->kind == NR_QUBO_GENERAL) {
        node_weights(graph, &reader, &sum);
    }
    for (uint32_t lesser = 0; lesser + 1 < graph->nodes; lesser++) {
        uint32_t count = next_number(&reader, NUMBER_MAX_B);
        struct edge edge = {lesser, lesser, 0};
        if (reader.refusal == NR_QUBO_GOOD && count > left) {
            return NR_QUBO_EDGES;
        }
        for (; count > 0 && reader.refusal == NR_QUBO_GOOD; count--, left--) {
            next_edge(&reader, graph->kind, &edge);
            if (reader.refusal == NR_QUBO_GOOD && edge.greater >= graph->nodes) {
                return NR_QUBO_NODE;
            }
            if (reader.refusal == NR_QUBO_GOOD && graph->kind >= NR_QUBO_CUT
                && !add(&sum, edge.weight)) {
                return NR_QUBO_WEIGHT;
            }
            if (reader.refusal == NR_QUBO_GOOD) {
                take(graph, &edge);
            }
        }
        if (reader.refusal != NR_QUBO_GOOD) {
            return reader.refusal;
        }
    }
    if (reader.refusal != NR_QUBO_GOOD) {
        return reader.refusal;
    }
    return left == 0 && reader.offset_b == length_b ? NR_QUBO_GOOD : NR_QUBO_EDGES;
}

/* Distributes the memory: 32-bit arrays first, so that each is aligned. */
static void lay_out_sets(struct nr_qubo *qubo, uint32_t *memory)
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
    uint16_t *end = qubo->place + n;
    qubo->graph.weight = NULL;
    if (qubo->graph.kind == NR_QUBO_WEIGHTED_SET) {
        qubo->graph.weight = end;
        end += n;
    }
    qubo->best = (uint8_t *)end;
}

static void lay_out_flips(struct nr_qubo *qubo, uint32_t *memory)
{
    struct nr_qubo_graph *graph = &qubo->graph;
    struct nr_qubo_flip *flip = &qubo->flip;
    const uint32_t n = graph->nodes;
    const uintptr_t ends = 2 * (uintptr_t)graph->edges;
    graph->row = memory;
    flip->gain = (int32_t *)(graph->row + n + 1);
    int32_t *words = flip->gain + n;
    graph->linear = graph->coupling = NULL;
    if (graph->kind == NR_QUBO_GENERAL) {
        graph->linear = words;
        graph->coupling = words + n;
        words += n + ends;
    }
    graph->neighbour = (uint16_t *)(void *)words;
    flip->next = graph->neighbour + ends;
    flip->before = flip->next + n;
    flip->release = flip->before + n;
    flip->bucket = flip->release + NR_QUBO_RELEASES;
    flip->side = (uint8_t *)(flip->release + nr_qubo_flip_lists(graph->kind));
    qubo->best = flip->side + bits_b(n);
}

enum nr_qubo_refusal nr_qubo_load(struct nr_qubo *qubo, uint32_t *memory, uint32_t memory_b,
                                  const uint8_t *data, uint32_t length_b)
{
    struct nr_qubo_graph *graph = &qubo->graph;
    uint32_t kind = 0;
    enum nr_qubo_refusal refusal =
        nr_qubo_sizes(data, length_b, &kind, &graph->nodes, &graph->edges);
    if (refusal != NR_QUBO_GOOD) {
        return refusal;
    }
    uint64_t needed_b = nr_qubo_memory_b(kind, graph->nodes, graph->edges);
    if (needed_b == 0 || needed_b > memory_b) {
        return NR_QUBO_TOO_LARGE;
    }
    if (nr_crc32(nr_crc32(0, data, SIZES_B), data + HEAD_B, (size_t)(length_b - HEAD_B))
        != nr_get_u32(data + SIZES_B)) {
        return NR_QUBO_CHECKSUM;
    }
    graph->kind = (enum nr_qubo_kind)kind;
    if (graph->kind >= NR_QUBO_CUT) {
        lay_out_flips(qubo, memory);
    } else {
        lay_out_sets(qubo, memory);
    }
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
