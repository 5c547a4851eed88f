/* SPDX-License-Identifier: Apache-2.0 */
#include "blocks.h"

/* The compiler calls this at the start of every basic block of files built with
   -fsanitize-coverage=trace-pc. */
void __sanitizer_cov_trace_pc(void);

/* Static, because the compiler passes no context: a process is one device with one thread. */
static uint64_t count;

void __sanitizer_cov_trace_pc(void) { count++; }

uint64_t nr_blocks(void) { return count; }

void nr_blocks_add(uint64_t blocks) { count += blocks; }
