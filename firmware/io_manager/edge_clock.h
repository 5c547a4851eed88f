/* SPDX-License-Identifier: Apache-2.0 */
/* Timer 1 counts steps of 0.5 us and copies its count when SYNC falls, at ICP1: PB0, pin 8 of an
   Arduino Uno. No instruction lies between the edge and its stamp. */
#ifndef EDGE_CLOCK_H
#define EDGE_CLOCK_H

#include <stdbool.h>

#include "nr_io_manager.h"

void edge_clock_begin(void);
struct nr_io_stamp edge_clock_time(void);
/* the oldest stamp not yet taken; false when there is none */
bool edge_clock_take(struct nr_io_stamp *stamp);
bool edge_clock_heard(void);
uint16_t edge_clock_missed(void); /* edges that found no room since power-up */

#endif
