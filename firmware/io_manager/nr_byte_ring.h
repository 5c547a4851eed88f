/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes between an interrupt and the rest of the program: one side puts, the other takes, and
   neither has to lock, because an index of one byte is written at once. The bytes are volatile as
   the indices are: a compiler may move other stores past the one of an index. */
#ifndef NR_BYTE_RING_H
#define NR_BYTE_RING_H

#include <stdbool.h>
#include <stdint.h>

enum { NR_BYTE_RING_B = 128 }; /* a power of two; one byte stays free */

struct nr_byte_ring {
    volatile uint8_t bytes[NR_BYTE_RING_B];
    volatile uint8_t next; /* to be put */
    volatile uint8_t first;
};

static inline uint8_t nr_byte_ring_used(const struct nr_byte_ring *ring)
{
    return (uint8_t)((ring->next - ring->first) & (NR_BYTE_RING_B - 1));
}

static inline uint8_t nr_byte_ring_room(const struct nr_byte_ring *ring)
{
    return (uint8_t)(NR_BYTE_RING_B - 1 - nr_byte_ring_used(ring));
}

/* False when there is no room. */
static inline bool nr_byte_ring_put(struct nr_byte_ring *ring, uint8_t byte)
{
    uint8_t next = (uint8_t)((ring->next + 1U) & (NR_BYTE_RING_B - 1));
    if (next == ring->first) {
        return false;
    }
    ring->bytes[ring->next] = byte;
    ring->next = next;
    return true;
}

/* The oldest byte, or -1. */
static inline int nr_byte_ring_take(struct nr_byte_ring *ring)
{
    uint8_t byte;
    if (ring->first == ring->next) {
        return -1;
    }
    byte = ring->bytes[ring->first];
    ring->first = (uint8_t)((ring->first + 1U) & (NR_BYTE_RING_B - 1));
    return byte;
}

#endif
