/* SPDX-License-Identifier: Apache-2.0 */
/* What an image's main program needs of its workload, under the same names in every workload's
   folder: the include path chooses. */
#ifndef NR_IMAGE_WORKLOAD_H
#define NR_IMAGE_WORKLOAD_H

#include "nr_sww_workload.h"

typedef struct nr_sww_memory nr_image_workload;

#define NR_IMAGE_FILL_WORKLOAD nr_sww_workload
#define NR_IMAGE_SLOT_B NR_SWW_HOP_B
#define NR_IMAGE_OUTPUT_B NR_SWW_OUTPUT_B
#ifdef NR_SWW_SLOTS
#define NR_IMAGE_SLOTS NR_SWW_SLOTS
#endif

#endif
