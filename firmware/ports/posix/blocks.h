/* SPDX-License-Identifier: Apache-2.0 */
/* How many basic blocks core and workload have executed: the same work always gives the same
   number. */
#ifndef NR_BLOCKS_H
#define NR_BLOCKS_H

#include <stdint.h>

uint64_t nr_blocks(void);

/* Pretends that so many more were executed; for tests. */
void nr_blocks_add(uint64_t blocks);

#endif
