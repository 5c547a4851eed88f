/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the workload on every 16000 bytes of standard input; writes 16 bytes each to standard
   output. */
#include <stdint.h>
#include <stdio.h>

#include "nr_asc.h"

int main(void)
{
    static struct nr_asc state;
    static uint8_t input[NR_ASC_INPUT_B];
    uint8_t output[NR_ASC_OUTPUT_B];
    struct nr_workload asc;

    nr_asc_workload(&asc, &state);
    while (fread(input, 1, sizeof input, stdin) == sizeof input) {
        if (asc.load(asc.state, input, sizeof input) != 0
            || asc.preprocess(asc.state, input, sizeof input) != 0 || asc.infer(asc.state) != 0
            || asc.result(asc.state, output) != sizeof output) {
            return 1;
        }
        if (fwrite(output, 1, sizeof output, stdout) != sizeof output) {
            return 2;
        }
    }
    return 0;
}
