/* SPDX-License-Identifier: Apache-2.0 */
/* Number of basic blocks that core and workload have executed: equal work has equal numbers. */
#ifndef NR_BLOCKS_H
#define NR_BLOCKS_H

#include <stdint.h>

uint64_t nr_blocks(void);

/* Pretends that so many more were executed; for tests. */
void nr_blocks_add(uint64_t blocks);

#endif
