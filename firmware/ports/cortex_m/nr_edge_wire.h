/* SPDX-License-Identifier: Apache-2.0 */
/* The edge wire of an emulated board: no emulator lets its pins out, so what SYNC does is told in
   lines of text on a channel of its own.
       E tttttttttttt pp lllll  at tick t SYNC fell, the phase p began, and at tick t + l SYNC
                                rises by itself
       T tttttttttttt           everything before tick t has been told
   All numbers are hexadecimal with leading zeros, a line ends with LF, ticks rise from line to
   line. Edges are kept in memory during a window and told after it: they cost the window a few
   instructions, not a conversation. Where NR_EMULATED is not defined, all this is nothing. */
#ifndef NR_EDGE_WIRE_H
#define NR_EDGE_WIRE_H

#include <stdint.h>

#ifdef NR_EMULATED
void nr_edge_wire_note(uint64_t tick, uint8_t phase, uint32_t low_us);

/* Sends the edges that were noted, and the present time `tick` if the last one was sent some
   milliseconds ago. */
void nr_edge_wire_tell(uint64_t tick);
#else
static inline void nr_edge_wire_note(uint64_t tick, uint8_t phase, uint32_t low_us)
{
    (void)tick;
    (void)phase;
    (void)low_us;
}
static inline void nr_edge_wire_tell(uint64_t tick) { (void)tick; }
#endif

#endif
