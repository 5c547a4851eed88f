/* SPDX-License-Identifier: Apache-2.0 */
/* What an image's main program needs of its workload, under the same names in every workload's
   folder: the include path chooses. */
#ifndef NR_IMAGE_WORKLOAD_H
#define NR_IMAGE_WORKLOAD_H

#include "nr_asc.h"

typedef struct nr_asc nr_image_workload;

#define NR_IMAGE_FILL_WORKLOAD nr_asc_workload
#define NR_IMAGE_SLOT_B NR_ASC_INPUT_B
#define NR_IMAGE_OUTPUT_B NR_ASC_OUTPUT_B

#endif
