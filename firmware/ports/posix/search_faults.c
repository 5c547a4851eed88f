/* SPDX-License-Identifier: Apache-2.0 */
#include "search_faults.h"

#include <stddef.h>

#include "nr_frame.h"

/* Static, as a workload's functions know its state and nothing else: a process is one device. */
static struct nr_search_faults wanted;
static uint64_t overrun_ticks;
static int (*optimize)(void *state, const struct nr_search *search);
static uint32_t (*result)(void *state, uint8_t *output);

static int optimize_too_long(void *state, const struct nr_search *search)
{
    struct nr_search longer = *search;
    longer.end_tick += overrun_ticks;
    return optimize(state, &longer);
}

static uint32_t wrong_result(void *state, uint8_t *output)
{
    uint32_t length_b = result(state, output);
    if (wanted.wrong_cost) {
        nr_put_u32(output, nr_get_u32(output) - 1U);
    }
    return wanted.short_vector ? length_b - 1U : length_b;
}

void nr_search_faults(const struct nr_search_faults *faults, uint32_t tick_hz,
                      struct nr_workload *workload)
{
    wanted = *faults;
    if (workload->optimize == NULL) {
        return;
    }
    overrun_ticks = (uint64_t)faults->overrun_us * tick_hz / 1000000U;
    optimize = workload->optimize;
    result = workload->result;
    workload->optimize = optimize_too_long;
    workload->result = wrong_result;
}
