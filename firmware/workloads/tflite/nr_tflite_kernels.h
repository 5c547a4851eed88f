/* SPDX-License-Identifier: Apache-2.0 */
/* Written by `rig firmware build --kernels`: whose code multiplies by weights. */
#ifndef NR_TFLITE_KERNELS_H
#define NR_TFLITE_KERNELS_H

/* 0: nr_tflite_weights.c; 1: CMSIS-NN by nr_tflite_cmsis_nn.c. */
#ifndef NR_TFLITE_CMSIS_NN
#define NR_TFLITE_CMSIS_NN 0
#endif

/* After the build in what the device says of itself. */
#define NR_TFLITE_KERNELS ""

#endif
