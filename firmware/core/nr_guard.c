/* SPDX-License-Identifier: Apache-2.0 */
/* The guard: a job is acknowledged, and the line listened to, before its window opens. */
#include "nr_shim_parts.h"

/* Acknowledges a job and listens for its repetition; the window opens when the guard has passed. */
static void start_guard(struct nr_shim *shim)
{
    nr_send_ack(shim);
    nr_drain(shim);
    shim->guard_from_tick = nr_now_tick(shim);
}

void nr_guard_accept(struct nr_shim *shim, uint8_t type, uint32_t guard_us, uint16_t hold_us)
{
    if (hold_us != 0 && hold_us < shim->port->hold_min_us) {
        nr_answer_error(shim, NR_E_ARGUMENT, shim->port->hold_min_us,
                        "hold shorter than hold_min_us");
        return;
    }
    shim->job.type = type;
    shim->job.hold_us = hold_us != 0 ? hold_us : shim->port->hold_min_us;
    shim->guard_us = guard_us;
    shim->guard_restarts = 0;
    shim->guarding = true;
    start_guard(shim);
}

void nr_guard_frame(struct nr_shim *shim)
{
    uint8_t type = nr_frame_type(&shim->frame_rx);
    if (nr_frame_seq(&shim->frame_rx) != shim->answer_seq) {
        return;
    }
    if (type == NR_GO) {
        shim->guard_us = 0; /* the window opens when no more bytes have come */
        return;
    }
    if (type != shim->job.type) {
        return;
    }
    if (shim->guard_restarts < NR_GUARD_RESTARTS_MAX) {
        shim->guard_restarts++;
        start_guard(shim);
    }
}
