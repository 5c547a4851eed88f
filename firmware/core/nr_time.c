/* SPDX-License-Identifier: Apache-2.0 */
/* The port's time, and its ticks in microseconds. */
#include "nr_division.h"
#include "nr_shim_parts.h"

uint64_t nr_now_tick(const struct nr_shim *shim) { return shim->port->ticks(shim->port->context); }

void nr_drain(const struct nr_shim *shim) { shim->port->drain(shim->port->context); }

uint64_t nr_us_to_ticks(const struct nr_shim *shim, uint64_t duration_us)
{
    return nr_scale(duration_us, shim->port->tick_hz, NR_US_PER_S);
}

uint64_t nr_ticks_to_us(const struct nr_shim *shim, uint64_t ticks)
{
    return nr_scale(ticks, NR_US_PER_S, shim->port->tick_hz);
}
