/* SPDX-License-Identifier: Apache-2.0 */
/* Optional abilities of this device, as CAPS announces them: parts of the build that have memory.
   */
#include "nr_shim_parts.h"

bool nr_knows_run(const struct nr_shim *shim)
{
    return shim->workload->infer != NULL && shim->workload->start == NULL;
}

bool nr_knows_batch(const struct nr_shim *shim)
{
    return nr_knows_run(shim)
           && (uint64_t)shim->workload->output_bytes * shim->memory.slot_count
                  <= shim->memory.output_b;
}

bool nr_knows_optimize(const struct nr_shim *shim)
{
    return NR_WITH_OPTIMIZE && shim->workload->optimize != NULL
           && shim->workload->start == NULL;
}

static uint64_t record_most_b(const struct nr_shim *shim)
{
    return (uint64_t)nr_stream_marks(shim) * NR_TICK_B + shim->workload->output_bytes;
}

bool nr_knows_stream(const struct nr_shim *shim)
{
    return NR_WITH_STREAM && shim->workload->infer != NULL
           && NR_TAKEN_FIXED_B + record_most_b(shim) <= NR_MAX_PAYLOAD_B
           && (uint64_t)shim->workload->output_bytes * NR_STREAM_RECORDS <= shim->memory.output_b;
}
