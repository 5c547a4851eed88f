/* SPDX-License-Identifier: Apache-2.0 */
#include "nr_tflite.h"

#include "nr_tflite_parts.h"

int nr_tflite_run(const struct nr_tflite *network)
{
    int32_t n;
    int status = 0;

    for (n = 0; n < network->model->operator_count && status == 0; n++) {
        const struct nr_tflite_operator *operator = &network->model->operators[n];

        switch (operator->kind) {
        case NR_TFLITE_CONVOLUTION: status = nr_tflite_convolution(network, operator); break;
        case NR_TFLITE_DEPTHWISE: status = nr_tflite_depthwise(network, operator); break;
        case NR_TFLITE_SUM: nr_tflite_sum(network, operator); break;
        case NR_TFLITE_MEAN: nr_tflite_mean(network, operator); break;
        case NR_TFLITE_PAD: nr_tflite_pad(network, operator); break;
        case NR_TFLITE_SOFTMAX: nr_tflite_softmax(network, operator); break;
        case NR_TFLITE_KEEP: nr_tflite_keep(network, operator); break;
        default: nr_tflite_pool(network, operator); break;
        }
    }
    return status;
}

int nr_tflite_start(struct nr_tflite *network)
{
    int status;

    network->starting = 1;
    status = nr_tflite_run(network);
    network->starting = 0;
    return status;
}
