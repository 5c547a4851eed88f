/* SPDX-License-Identifier: Apache-2.0 */
#include "nr_board.h"
#include "nr_cortex_m.h"
#include "nr_image_workload.h"
#include "nr_shim.h"

#ifndef NR_BUILD
#define NR_BUILD "unknown"
#endif

static uint8_t slot_memory[NR_SLOTS * NR_IMAGE_SLOT_B];
static uint8_t output_memory[NR_SLOTS * NR_IMAGE_OUTPUT_B];
static struct nr_port port;
static struct nr_workload workload;
static nr_image_workload state;
static struct nr_shim shim;

int main(void)
{
    struct nr_memory memory = {slot_memory, NR_SLOTS, output_memory, sizeof output_memory};
    nr_board_init();
    nr_cortex_m_port(&port, NR_BUILD);
    nr_interrupts_on();
    NR_IMAGE_FILL_WORKLOAD(&workload, &state);
    nr_shim_init(&shim, &port, &workload, &memory);
    for (;;) {
        nr_shim_poll(&shim);
    }
}
