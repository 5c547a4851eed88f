/* SPDX-License-Identifier: Apache-2.0 */
#include "nr_ring.h"

#include "nr_shim.h"

/* A window of frames, so that no byte is lost while the main loop is busy. */
enum { RING_B = NR_WINDOW * (NR_MAX_PAYLOAD_B + 10) };

/* Static, as an interrupt has no context. One producer, one consumer, an index each: no lock. */
static volatile uint8_t ring[RING_B];
static volatile size_t put_at;
static volatile size_t take_at;
static volatile uint32_t lost_b;

static size_t after(size_t index) { return index + 1 == RING_B ? 0 : index + 1; }

void nr_ring_put(uint8_t byte)
{
    size_t at = put_at;
    size_t next = after(at);
    if (next != take_at) {
        ring[at] = byte;
        put_at = next;
    } else {
        nr_ring_lose();
    }
}

void nr_ring_lose(void) { lost_b++; }

uint32_t nr_ring_lost_b(void) { return lost_b; }

size_t nr_ring_take(uint8_t *bytes, size_t capacity_b)
{
    size_t taken_b = 0;
    size_t at = take_at;
    while (taken_b < capacity_b && at != put_at) {
        bytes[taken_b++] = ring[at];
        at = after(at);
    }
    take_at = at;
    return taken_b;
}

bool nr_ring_is_empty(void)
{
    size_t at = take_at;
    return at == put_at;
}
