/* SPDX-License-Identifier: Apache-2.0 */
/* The receive ring: the UART's interrupt puts, the main loop takes. */
#ifndef NR_RING_H
#define NR_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A byte that finds the ring full is lost, and counted as one that the UART itself lost: the CRC of
   its frame tells. */
void nr_ring_put(uint8_t byte);
void nr_ring_lose(void);

size_t nr_ring_take(uint8_t *bytes, size_t capacity_b);
bool nr_ring_is_empty(void);
uint32_t nr_ring_lost_b(void);

#endif
