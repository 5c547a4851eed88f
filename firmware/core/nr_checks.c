/* SPDX-License-Identifier: Apache-2.0 */
/* What several requests check before they are accepted. */
#include "nr_shim_parts.h"

bool nr_can_run(struct nr_shim *shim, uint16_t slot)
{
    if (slot >= shim->memory.slot_count) {
        nr_answer_error(shim, NR_E_SLOT, shim->memory.slot_count, "no such slot");
        return false;
    }
    if (!shim->slot_loaded[slot]) {
        nr_answer_error(shim, NR_E_NOT_LOADED, slot, "this slot is not loaded");
        return false;
    }
    return true;
}
