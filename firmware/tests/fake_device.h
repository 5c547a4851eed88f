/* SPDX-License-Identifier: Apache-2.0 */
/* The fake as a library: for tests in a language that does not know its struct. */
#ifndef FAKE_DEVICE_H
#define FAKE_DEVICE_H

#include <stddef.h>
#include <stdint.h>

struct fake;

/* Bytes of memory that a device needs, and its start there, with `output_b` bytes of output. */
size_t fake_device_b(void);
void fake_device_start(struct fake *fake, uint32_t output_b);

/* Gives a started one another workload: one that finds `costs`, at most FAKE_COSTS, one a move; or
   one with a single timed phase and outputs of `answer_b` bytes, so that answers of a stream fit
   into small frames. */
void fake_device_searches(struct fake *fake, const int32_t *costs, size_t count);
void fake_device_answers(struct fake *fake, uint32_t answer_b);

/* How many searches and inferences it has begun. */
int fake_device_jobs(const struct fake *fake);

/* Its time in microseconds. */
uint64_t fake_device_us(const struct fake *fake);

/* Lets it run for so long, or until it has said something; returns how many bytes that is. */
size_t fake_device_listen(struct fake *fake, uint64_t duration_us);

/* The content of a slot. */
const uint8_t *fake_device_slot(const struct fake *fake, uint16_t slot);

#endif
