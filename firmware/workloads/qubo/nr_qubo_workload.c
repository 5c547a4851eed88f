/* SPDX-License-Identifier: Apache-2.0 */
#include "nr_qubo_workload.h"

#include <stddef.h>
#include <string.h>

#include "nr_frame.h"

/* Takes the graph in, in place of the one before. */
static int take_graph(struct nr_qubo_state *qubo, const uint8_t *data, uint32_t length_b)
{
    return (int)nr_qubo_load(&qubo->search, qubo->memory, sizeof qubo->memory, data, length_b);
}

static int qubo_load(void *state, const uint8_t *data, uint32_t length_b)
{
    int refusal = take_graph(state, data, length_b);
    return refusal == NR_QUBO_TOO_LARGE ? NR_LOAD_TOO_LARGE : refusal;
}

/* There is memory for one graph, and a graph of another slot may have been loaded since. */
static int qubo_preprocess(void *state, const uint8_t *data, uint32_t length_b)
{
    return take_graph(state, data, length_b);
}

/* Of thresholds that one move reaches, the search tells each: only the last is passed on. */
static void crossed(void *context, uint8_t threshold, int32_t cost)
{
    const struct nr_search *search = context;
    if (threshold + 1 == search->threshold_count || cost > search->thresholds[threshold + 1]) {
        search->reached(search->context, threshold);
    }
}

static uint64_t ticks(void *context)
{
    const struct nr_search *search = context;
    return search->ticks(search->context);
}

static int qubo_optimize(void *state, const struct nr_search *search)
{
    struct nr_qubo_state *qubo = state;
    struct nr_search tied = *search; /* without const, for those who get it as a context */
    struct nr_qubo_bench bench = {&tied, ticks, crossed};
    struct nr_qubo_limits limits = {search->target, 0, NR_QUBO_WORK_PER_POLL, search->thresholds,
                                    search->threshold_count};
    uint64_t now;
    nr_qubo_start(&qubo->search, search->seed);
    now = search->ticks(search->context);
    limits.timeout_ticks = now < search->end_tick ? search->end_tick - now : 0;
    qubo->end = nr_qubo_run(&qubo->search, &limits, &bench);
    return 0;
}

static uint32_t qubo_result(void *state, uint8_t *output)
{
    const struct nr_qubo_state *qubo = state;
    uint32_t vector_b = (qubo->search.graph.nodes + 7) / 8;
    nr_put_u32(output, (uint32_t)qubo->search.best_cost);
    output[4] = (uint8_t)qubo->end;
    nr_put_u32(output + 5, qubo->search.graph.nodes);
    memcpy(output + NR_QUBO_HEAD_B, qubo->search.best, vector_b);
    return NR_QUBO_HEAD_B + vector_b;
}

void nr_qubo_workload(struct nr_workload *out, struct nr_qubo_state *state)
{
    out->name = "qubo";
    out->model = "local search";
    out->slot_bytes = NR_QUBO_SLOT_B;
    out->output_bytes = NR_QUBO_OUTPUT_B;
    out->phases = 1;
    out->state = state;
    out->load = qubo_load;
    out->preprocess = qubo_preprocess;
    out->infer = NULL;
    out->result = qubo_result;
    out->optimize = qubo_optimize;
    out->memory_bytes = sizeof state->memory;
    out->start = NULL;
    out->features = NULL;
}
