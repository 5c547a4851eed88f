/* SPDX-License-Identifier: Apache-2.0 */
/* Passes bytes from the port to their layer, returns from frames to text, and acts on silence. */
#include "nr_shim_parts.h"

#include <string.h>

enum { ESCAPE_MISSED = 0xFF };

static const char escape_text[] = "name%";

/* Fails to compile when a build chose sizes that cannot work. */
typedef char nr_check_payload[(NR_MAX_PAYLOAD_B >= 64 && NR_MAX_PAYLOAD_B <= 4096) ? 1 : -1];
typedef char nr_check_window[(NR_WINDOW >= 1 && NR_WINDOW <= 32) ? 1 : -1];
typedef char nr_check_slots[(NR_SLOTS_MAX >= 1 && NR_SLOTS_MAX <= 65535) ? 1 : -1];
typedef char nr_check_backlog[(NR_BACKLOG_B >= 1 && NR_BACKLOG_B <= 65535) ? 1 : -1];

/* ---- silence ---- */

/* True when at least `duration_us` lie between two readings of the timer, at any phase of the
   timer. */
static bool passed(const struct nr_shim *shim, uint64_t from_tick, uint64_t to_tick,
                   uint64_t duration_us)
{
    return to_tick - from_tick > nr_us_to_ticks(shim, duration_us);
}

static void return_to_old_baud(struct nr_shim *shim)
{
    shim->baud_on_trial = false;
    nr_drain(shim);
    (void)shim->port->set_baud(shim->port->context, shim->baud_before);
    shim->baud = shim->baud_before;
    nr_framed_layer_drop_partial(shim);
}

/* No byte had come up to `tick`: acts where silence was waited for. */
static void on_silence(struct nr_shim *shim, uint64_t tick)
{
    if (shim->layer == NR_LAYER_FRAMED && shim->frame_rx.started
        && passed(shim, shim->last_byte_tick, tick, (uint64_t)NR_PARTIAL_TIMEOUT_MS * 1000U)) {
        nr_framed_layer_drop_partial(shim);
    }
    if (shim->baud_on_trial
        && passed(shim, shim->baud_from_tick, tick, (uint64_t)NR_BAUD_TIMEOUT_MS * 1000U)) {
        return_to_old_baud(shim);
    }
    if (shim->guarding && !shim->frame_rx.started
        && passed(shim, shim->guard_from_tick, tick, shim->guard_us)) {
        nr_window_open(shim);
        return;
    }
    if (nr_stream_plays(shim)) {
        nr_stream_rest(shim);
    } else {
        shim->port->rest(shim->port->context);
    }
}

/* ---- start ---- */

void nr_shim_init(struct nr_shim *shim, const struct nr_port *port,
                  const struct nr_workload *workload, const struct nr_memory *memory)
{
    memset(shim, 0, sizeof *shim);
    shim->port = port;
    shim->workload = workload;
    shim->memory = *memory;
    if (shim->memory.slot_count > NR_SLOTS_MAX) {
        shim->memory.slot_count = NR_SLOTS_MAX;
    }
    shim->baud = port->baud;
    shim->layer = NR_LAYER_TEXT;
    nr_text_rx_init(&shim->text_rx);
    nr_text_tx_init(&shim->text_tx, port->write, port->context);
    nr_frame_rx_init(&shim->frame_rx, shim->frame_rx_buffer, sizeof shim->frame_rx_buffer);
    nr_frame_tx_init(&shim->frame_tx, shim->frame_tx_buffer, sizeof shim->frame_tx_buffer,
                     port->write, port->context);
    nr_text_layer_boot(shim);
}

/* ---- bytes ---- */

/* `name%` right after a delimiter is no frame: type 0x61 does not exist. It ends a session that the
   host has forgotten. */
static bool is_escape(struct nr_shim *shim, uint8_t byte)
{
    if (byte == 0) {
        shim->escape_b = 0;
    } else if (shim->escape_b < sizeof escape_text - 1U
               && byte == (uint8_t)escape_text[shim->escape_b]) {
        shim->escape_b++;
    } else {
        shim->escape_b = ESCAPE_MISSED;
    }
    return shim->escape_b == sizeof escape_text - 1U;
}

static void escape(struct nr_shim *shim)
{
    shim->baud_on_trial = false;
    nr_frame_rx_drop(&shim->frame_rx);
    nr_text_layer_enter(shim);
    for (size_t i = 0; i < sizeof escape_text - 1U; i++) {
        nr_text_layer_byte(shim, (uint8_t)escape_text[i]);
    }
}

static void take_byte(struct nr_shim *shim, uint8_t byte)
{
    if (shim->layer == NR_LAYER_TEXT) {
        nr_text_layer_byte(shim, byte);
    } else if (is_escape(shim, byte)) {
        escape(shim);
    } else {
        nr_framed_layer_byte(shim, byte);
    }
}

/* ---- poll ---- */

void nr_shim_poll(struct nr_shim *shim)
{
    if (nr_stream_plays(shim)) {
        nr_stream_step(shim);
    }
    if (shim->backlog_next_b == shim->backlog_used_b) {
        /* The timer is read before the UART: only then does an empty UART prove silence up to that
           moment, however late we are. */
        uint64_t tick = nr_now_tick(shim);
        shim->backlog_next_b = 0;
        shim->backlog_used_b =
            shim->port->read(shim->port->context, shim->backlog, sizeof shim->backlog);
        if (shim->backlog_used_b == 0) {
            on_silence(shim, tick);
            return;
        }
        shim->last_byte_tick = nr_now_tick(shim);
    }
    while (shim->backlog_next_b != shim->backlog_used_b) {
        shim->rx_bytes++;
        take_byte(shim, shim->backlog[shim->backlog_next_b++]);
    }
}
