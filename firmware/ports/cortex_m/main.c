/* SPDX-License-Identifier: Apache-2.0 */
#include "nr_board.h"
#include "nr_cortex_m.h"
#include "nr_image_workload.h"
#include "nr_shim.h"

#ifndef NR_BUILD
#define NR_BUILD "unknown"
#endif
#ifndef NR_IMAGE_KERNELS
#define NR_IMAGE_KERNELS ""
#endif

#ifdef NR_BOARD
/* The board by its name, for tools: in a section that no memory holds. */
__asm__(".pushsection .nr_board, \"\", %progbits\n"
        "    .asciz \"" NR_BOARD "\"\n"
        "    .popsection");
#endif

#ifndef NR_IMAGE_SLOTS
#define NR_IMAGE_SLOTS NR_SLOTS
#endif

static uint8_t slot_memory[NR_IMAGE_SLOTS * NR_IMAGE_SLOT_B];
/* An output for each slot of a batch, or for each answer of a stream that waits. */
static uint8_t
    output_memory[(NR_IMAGE_SLOTS > NR_STREAM_RECORDS ? NR_IMAGE_SLOTS : NR_STREAM_RECORDS)
                  * NR_IMAGE_OUTPUT_B];
static struct nr_port port;
static struct nr_workload workload;
static nr_image_workload state;
static struct nr_shim shim;

int main(void)
{
    struct nr_memory memory = {slot_memory, NR_IMAGE_SLOTS, output_memory, sizeof output_memory};
    nr_board_init();
    nr_cortex_m_port(&port, NR_BUILD NR_IMAGE_KERNELS);
    nr_interrupts_on();
    NR_IMAGE_FILL_WORKLOAD(&workload, &state);
    nr_shim_init(&shim, &port, &workload, &memory);
    for (;;) {
        nr_shim_poll(&shim);
    }
}
