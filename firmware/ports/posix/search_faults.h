/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong searches on request: what a host has to find out. */
#ifndef NR_SEARCH_FAULTS_H
#define NR_SEARCH_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "nr_workload.h"

struct nr_search_faults {
    /* the output claims a cost that is lower by one than what the search found */
    bool wrong_cost;
    bool short_vector;   /* the last byte of the vector is missing */
    uint32_t overrun_us; /* the search ends so much later than requested */
};

/* Puts the faults between the shim and `workload`, which stays in use; no effect without an
   `optimize`. `tick_hz` is the port's. */
void nr_search_faults(const struct nr_search_faults *faults, uint32_t tick_hz,
                      struct nr_workload *workload);

#endif
