/* SPDX-License-Identifier: Apache-2.0 */
/* What an image's main program needs of its workload, under the same names in every workload's
   folder: the include path chooses. */
#ifndef NR_IMAGE_WORKLOAD_H
#define NR_IMAGE_WORKLOAD_H

#include "nr_null.h"

typedef struct nr_null nr_image_workload;

#define NR_IMAGE_FILL_WORKLOAD nr_null_workload
#define NR_IMAGE_SLOT_B NR_NULL_SLOT_BYTES
#define NR_IMAGE_OUTPUT_B NR_NULL_OUTPUT_BYTES

#endif
