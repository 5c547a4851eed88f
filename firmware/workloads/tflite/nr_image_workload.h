/* SPDX-License-Identifier: Apache-2.0 */
/* What an image's main program needs of its workload, under the same names in every workload's
   folder: the include path chooses. */
#ifndef NR_IMAGE_WORKLOAD_H
#define NR_IMAGE_WORKLOAD_H

#include "nr_tflite_workload.h"

typedef struct nr_tflite_memory nr_image_workload;

#define NR_IMAGE_FILL_WORKLOAD nr_tflite_workload
#define NR_IMAGE_SLOT_B NR_TFLITE_SLOT_B
#define NR_IMAGE_OUTPUT_B NR_TFLITE_ANSWER_B
#define NR_IMAGE_KERNELS NR_TFLITE_KERNELS
#ifdef NR_TFLITE_SLOTS
#define NR_IMAGE_SLOTS NR_TFLITE_SLOTS
#endif

#endif
