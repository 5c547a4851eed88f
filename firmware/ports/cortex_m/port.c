/* SPDX-License-Identifier: Apache-2.0 */
#include "nr_board.h"
#include "nr_cortex_m.h"
#include "nr_edge_wire.h"
#include "nr_ring.h"

enum {
    REST_US = 4000,     /* how long rest() sleeps at most; a byte ends it at once */
    WAIT_PART_US = 4000 /* a longer wait sends the time to the simulated world so often */
};

struct cortex_m {
    uint64_t tick;      /* at the last look at the counter, which wraps every 71 minutes */
    uint64_t free_tick; /* from there on SYNC may fall again */
};

static struct cortex_m this_core;

/* ---- time ---- */

static uint64_t extended(struct cortex_m *core, uint32_t counter_us)
{
    core->tick += counter_us - (uint32_t)core->tick;
    return core->tick;
}

static uint64_t port_ticks(void *context) { return extended(context, nr_board_counter_us()); }

static uint64_t port_mark(void *context, uint8_t phase, uint16_t hold_us)
{
    struct cortex_m *core = context;
    uint64_t tick;
    uint32_t counter_us;
    /* the line falls within a microsecond that has begun: one more, and it is low for `hold_us` */
    uint32_t low_us = (uint32_t)hold_us + 1U;
    /* the previous pulse, and as long a rest after it */
    while (port_ticks(core) < core->free_tick) {
    }
    nr_interrupts_off();
    counter_us = nr_board_pulse(low_us);
    nr_interrupts_on();
    tick = extended(core, counter_us);
    core->free_tick = tick + low_us + NR_RISE_LATE_US + hold_us;
    nr_edge_wire_note(tick, phase, low_us);
    return tick;
}

/* ---- sleep ---- */

static void sleep_for(uint32_t delay_us)
{
    /* a byte that comes between the look at the ring and the sleep ends the sleep */
    nr_interrupts_off();
    if (nr_ring_is_empty()) {
        nr_board_wake_after(delay_us);
        nr_wait_for_interrupt();
        nr_board_wake_off();
    }
    nr_interrupts_on();
}

static void port_rest(void *context)
{
    nr_edge_wire_tell(port_ticks(context));
    sleep_for(REST_US);
}

static void port_wait(void *context, uint32_t duration_us)
{
    uint64_t now = port_ticks(context);
    uint64_t until = now + duration_us;
    while (now < until) {
        nr_edge_wire_tell(now);
        sleep_for(until - now < WAIT_PART_US ? (uint32_t)(until - now) : WAIT_PART_US);
        now = port_ticks(context);
    }
}

/* ---- the line ---- */

static size_t port_read(void *context, uint8_t *bytes, size_t capacity_b)
{
    nr_edge_wire_tell(port_ticks(context));
    return nr_ring_take(bytes, capacity_b);
}

static void port_write(void *context, const uint8_t *bytes, size_t length_b)
{
    nr_edge_wire_tell(port_ticks(context)); /* before the answer that ends the window */
    while (length_b-- != 0) {
        nr_board_uart_put(*bytes++);
    }
}

static void port_drain(void *context)
{
    (void)context;
    nr_board_uart_drain();
}

static int port_set_baud(void *context, uint32_t baud)
{
    (void)context;
    return nr_board_uart_set_baud(baud);
}

static uint32_t port_rx_lost_b(void *context)
{
    (void)context;
    return nr_ring_lost_b();
}

/* ---- the stack ---- */

static uint32_t port_stack_unused_b(void *context)
{
    (void)context;
    return nr_stack_unused_b();
}

void nr_cortex_m_port(struct nr_port *port, const char *build)
{
    nr_board_describe(port);
    port->context = &this_core;
    port->build = build;
    port->read = port_read;
    port->write = port_write;
    port->drain = port_drain;
    port->ticks = port_ticks;
    port->mark = port_mark;
    port->wait = port_wait;
    port->rest = port_rest;
    port->set_baud = port_set_baud;
    port->rx_lost_b = port_rx_lost_b;
    port->stack_b = nr_stack_size_b();
    port->stack_unused_b = port_stack_unused_b;
}
