/* SPDX-License-Identifier: Apache-2.0 */
/* Each case on standard input: memory_b, length_b, seed, timeout_ticks, target, threshold_count, 4
   bytes each, low first; thresholds; the graph. Memory and graph get blocks of exactly their size,
   so that the sanitizers see every byte beside them. The clock is a counter of its own readings.
   Answers a line: refusal, needed bytes; of a search also end, cost, the best vector in hex, and
   threshold:cost pairs. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "nr_qubo.h"

enum { NUMBERS = 6, THRESHOLDS_MAX = 8 };

struct told {
    uint64_t readings;
    uint8_t count;
    uint8_t threshold[THRESHOLDS_MAX];
    int32_t cost[THRESHOLDS_MAX];
};

static uint64_t ticks(void *context) { return ((struct told *)context)->readings++; }

static void crossed(void *context, uint8_t threshold, int32_t cost)
{
    struct told *told = context;
    told->threshold[told->count] = threshold;
    told->cost[told->count++] = cost;
}

static void *block(size_t size_b)
{
    void *made = malloc(size_b == 0 ? 1 : size_b);
    if (made == NULL) {
        exit(3);
    }
    return made;
}

static void search(struct nr_qubo *qubo, const uint32_t *numbers, const int32_t *thresholds)
{
    struct told told = {0};
    struct nr_qubo_limits limits = {(int32_t)numbers[4], numbers[3], 500, thresholds,
                                    (uint8_t)numbers[5]};
    struct nr_qubo_bench bench = {&told, ticks, crossed};
    nr_qubo_start(qubo, numbers[2]);
    printf(" %d", (int)nr_qubo_run(qubo, &limits, &bench));
    printf(" %" PRId32 " x", qubo->best_cost);
    for (uint32_t i = 0; i < (qubo->graph.nodes + 7) / 8; i++) {
        printf("%02x", qubo->best[i]);
    }
    for (unsigned i = 0; i < told.count; i++) {
        printf(" %u:%" PRId32, told.threshold[i], told.cost[i]);
    }
}

int main(void)
{
    uint32_t numbers[NUMBERS];
    int32_t thresholds[THRESHOLDS_MAX];
    while (fread(numbers, sizeof *numbers, NUMBERS, stdin) == NUMBERS) {
        uint8_t *data = block(numbers[1]);
        uint32_t *memory = block(numbers[0]);
        struct nr_qubo *qubo = block(nr_qubo_state_b());
        if (numbers[5] > THRESHOLDS_MAX
            || fread(thresholds, sizeof *thresholds, numbers[5], stdin) != numbers[5]
            || fread(data, 1, numbers[1], stdin) != numbers[1]) {
            return 2;
        }
        enum nr_qubo_refusal refusal = nr_qubo_load(qubo, memory, numbers[0], data, numbers[1]);
        uint32_t kind = 0;
        uint32_t nodes = 0;
        uint32_t edges = 0;
        uint64_t needed_b = nr_qubo_sizes(data, numbers[1], &kind, &nodes, &edges) == NR_QUBO_GOOD
                                ? nr_qubo_memory_b(kind, nodes, edges)
                                : 0;
        printf("%d %" PRIu64, (int)refusal, needed_b);
        free(data);
        if (refusal == NR_QUBO_GOOD) {
            search(qubo, numbers, thresholds);
        }
        printf("\n");
        fflush(stdout);
        free(memory);
        free(qubo);
    }
    return 0;
}
