/* SPDX-License-Identifier: Apache-2.0 */
/* The IO manager on an ATmega328P at 16 MHz, such as an Arduino Uno: the program around
   nr_io_manager.c. */
#include <avr/interrupt.h>
#include <avr/sleep.h>

#include "dut_uart.h"
#include "edge_clock.h"
#include "host_uart.h"
#include "nr_io_manager.h"

static int host_read(void *context)
{
    (void)context;
    return host_uart_read();
}

static void host_write(void *context, uint8_t byte)
{
    (void)context;
    host_uart_write(byte);
}

static int dut_read(void *context)
{
    (void)context;
    return dut_uart_read();
}

static uint8_t dut_room(void *context)
{
    (void)context;
    return dut_uart_room();
}

static void dut_write(void *context, uint8_t byte)
{
    (void)context;
    dut_uart_write(byte);
}

static bool dut_idle(void *context)
{
    (void)context;
    return dut_uart_idle();
}

static bool dut_high(void *context)
{
    (void)context;
    return dut_uart_high();
}

static struct nr_io_stamp time_now(void *context)
{
    (void)context;
    return edge_clock_time();
}

static bool edge(void *context, struct nr_io_stamp *stamp)
{
    (void)context;
    return edge_clock_take(stamp);
}

static void line_counts(void *context, struct nr_io_counts *counts)
{
    (void)context;
    counts->dut_broken = dut_uart_broken();
    counts->dut_lost = dut_uart_lost();
    counts->host_lost = host_uart_lost();
    counts->edges_missed = edge_clock_missed();
}

/* Until an interrupt; the one that comes between the question and the sleep ends it, because `sei`
   takes hold after it. */
static void rest(void)
{
    cli();
    if (!host_uart_heard() && !dut_uart_heard() && !edge_clock_heard()) {
        sleep_enable();
        sei();
        sleep_cpu();
        sleep_disable();
    }
    sei();
}

int main(void)
{
    static struct nr_io_manager io;
    static const struct nr_io_port port = {
        .context = NULL,
        .dut_baud = NR_DUT_BAUD,
        .host_read = host_read,
        .host_write = host_write,
        .dut_read = dut_read,
        .dut_room = dut_room,
        .dut_write = dut_write,
        .dut_idle = dut_idle,
        .dut_high = dut_high,
        .time = time_now,
        .edge = edge,
        .counts = line_counts,
    };
    host_uart_begin();
    dut_uart_begin();
    edge_clock_begin();
    sei();
    nr_io_manager_init(&io, &port);
    for (;;) {
        if (!nr_io_manager_poll(&io)) {
            rest();
        }
    }
}
