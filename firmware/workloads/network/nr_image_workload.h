/* SPDX-License-Identifier: Apache-2.0 */
/* What an image's main program needs of its workload, under the same names in every workload's
   folder: the include path chooses. */
#ifndef NR_IMAGE_WORKLOAD_H
#define NR_IMAGE_WORKLOAD_H

#include "nr_network_workload.h"

typedef struct nr_network_memory nr_image_workload;

#define NR_IMAGE_FILL_WORKLOAD nr_network_workload
#define NR_IMAGE_SLOT_B NR_NETWORK_SLOT_B
#define NR_IMAGE_OUTPUT_B NR_NETWORK_ANSWER_B
#ifdef NR_NETWORK_SLOTS
#define NR_IMAGE_SLOTS NR_NETWORK_SLOTS
#endif

#endif
