/* SPDX-License-Identifier: Apache-2.0 */
#include "nr_qubo.h"

/* Reports all thresholds that were reached; returns how many have been reported so far. */
static uint8_t tell(const struct nr_qubo *qubo, const struct nr_qubo_limits *limits,
                    const struct nr_qubo_bench *bench, uint8_t told)
{
    while (told < limits->threshold_count && qubo->best_cost <= limits->thresholds[told]) {
        bench->crossed(bench->context, told, qubo->best_cost);
        told++;
    }
    return told;
}

enum nr_qubo_end nr_qubo_run(struct nr_qubo *qubo, const struct nr_qubo_limits *limits,
                             const struct nr_qubo_bench *bench)
{
    uint64_t start = bench->ticks(bench->context);
    uint8_t told = tell(qubo, limits, bench, 0);
    while (qubo->best_cost > limits->target_cost) {
        qubo->report_at = limits->target_cost;
        if (told < limits->threshold_count && limits->thresholds[told] > limits->target_cost) {
            qubo->report_at = limits->thresholds[told];
        }
        if (nr_qubo_step(qubo, limits->work_per_poll)) {
            told = tell(qubo, limits, bench, told);
        } else if (bench->ticks(bench->context) - start >= limits->timeout_ticks) {
            nr_qubo_settle(qubo);
            return NR_QUBO_TIMEOUT;
        }
    }
    return NR_QUBO_TARGET;
}
