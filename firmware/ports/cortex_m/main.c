/* SPDX-License-Identifier: Apache-2.0 */
#include "nr_board.h"
#include "nr_cortex_m.h"
#include "nr_shim.h"

#ifdef NR_WORKLOAD_ASC
#include "nr_asc.h"
typedef struct nr_asc workload_state;
#define fill_workload nr_asc_workload
#define SLOT_BYTES NR_ASC_INPUT_B
#define OUTPUT_BYTES NR_ASC_OUTPUT_B
#else
#include "nr_null.h"
typedef struct nr_null workload_state;
#define fill_workload nr_null_workload
#define SLOT_BYTES NR_NULL_SLOT_BYTES
#define OUTPUT_BYTES NR_NULL_OUTPUT_BYTES
#endif

#ifndef NR_BUILD
#define NR_BUILD "unknown"
#endif

static uint8_t slot_memory[NR_SLOTS * SLOT_BYTES];
static uint8_t output_memory[NR_SLOTS * OUTPUT_BYTES];
static struct nr_port port;
static struct nr_workload workload;
static workload_state state;
static struct nr_shim shim;

int main(void)
{
    struct nr_memory memory = {slot_memory, NR_SLOTS, output_memory, sizeof output_memory};
    nr_board_init();
    nr_cortex_m_port(&port, NR_BUILD);
    nr_interrupts_on();
    fill_workload(&workload, &state);
    nr_shim_init(&shim, &port, &workload, &memory);
    for (;;) {
        nr_shim_poll(&shim);
    }
}
