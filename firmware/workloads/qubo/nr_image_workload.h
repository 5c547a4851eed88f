/* SPDX-License-Identifier: Apache-2.0 */
/* What an image's main program needs of its workload, under the same names in every workload's
   folder: the include path chooses. */
#ifndef NR_IMAGE_WORKLOAD_H
#define NR_IMAGE_WORKLOAD_H

#include "nr_qubo_workload.h"

typedef struct nr_qubo_state nr_image_workload;

#define NR_IMAGE_FILL_WORKLOAD nr_qubo_workload
#define NR_IMAGE_SLOT_B NR_QUBO_SLOT_B
#define NR_IMAGE_OUTPUT_B NR_QUBO_OUTPUT_B
#ifdef NR_QUBO_SLOTS
/* fewer than the board has for other workloads: RAM is better spent on one large graph */
#define NR_IMAGE_SLOTS NR_QUBO_SLOTS
#endif

#endif
