/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs: slots, and the upload that fills one of them. */
#include "nr_shim_parts.h"

#include <string.h>

uint8_t *nr_slot_memory(const struct nr_shim *shim, uint16_t slot)
{
    return shim->memory.slots + (size_t)slot * shim->workload->slot_bytes;
}

void nr_upload_open(struct nr_shim *shim, uint16_t slot, uint32_t length_b, uint32_t crc)
{
    shim->upload = NR_UPLOAD_OPEN;
    shim->upload_slot = slot;
    shim->upload_crc = crc;
    shim->upload_received_b = 0;
    shim->upload_summed_b = 0;
    shim->upload_sum = 0;
    shim->slot_length_b[slot] = length_b;
    shim->slot_loaded[slot] = false;
}

void nr_upload_drop(struct nr_shim *shim) { shim->upload = NR_UPLOAD_NONE; }

bool nr_upload_fits(const struct nr_shim *shim)
{
    size_t payload_b = nr_frame_payload_b(&shim->frame_rx);
    uint32_t offset_b;
    uint32_t length_b;
    if (shim->upload != NR_UPLOAD_OPEN || payload_b <= NR_DATA_FIXED_B) {
        return false;
    }
    offset_b = nr_get_u32(nr_frame_payload(&shim->frame_rx));
    length_b = shim->slot_length_b[shim->upload_slot];
    return offset_b <= length_b && payload_b - NR_DATA_FIXED_B <= length_b - offset_b;
}

/* Updated with each piece as long as they come in order, which is nearly always to the end;
   computed again where a byte is written twice. */
static void sum_up(struct nr_shim *shim, uint32_t offset_b, const uint8_t *bytes, uint32_t bytes_b)
{
    if (offset_b == shim->upload_summed_b) {
        shim->upload_sum = nr_crc32(shim->upload_sum, bytes, bytes_b);
        shim->upload_summed_b += bytes_b;
    } else if (offset_b < shim->upload_summed_b) {
        shim->upload_sum = 0;
        shim->upload_summed_b = 0;
    }
}

void nr_upload_store(struct nr_shim *shim)
{
    const uint8_t *payload = nr_frame_payload(&shim->frame_rx);
    const uint8_t *bytes = payload + NR_DATA_FIXED_B;
    uint32_t bytes_b = (uint32_t)(nr_frame_payload_b(&shim->frame_rx) - NR_DATA_FIXED_B);
    uint32_t offset_b = nr_get_u32(payload);
    memcpy(nr_slot_memory(shim, shim->upload_slot) + offset_b, bytes, bytes_b);
    shim->upload_received_b += bytes_b;
    if (NR_WITH_STREAM) {
        sum_up(shim, offset_b, bytes, bytes_b);
    }
}

uint32_t nr_upload_crc(const struct nr_shim *shim)
{
    uint32_t rest_b = shim->slot_length_b[shim->upload_slot] - shim->upload_summed_b;
    return nr_crc32(shim->upload_sum,
                    nr_slot_memory(shim, shim->upload_slot) + shim->upload_summed_b, rest_b);
}

int nr_upload_finish(struct nr_shim *shim)
{
    uint16_t slot = shim->upload_slot;
    int code = shim->workload->load(shim->workload->state, nr_slot_memory(shim, slot),
                                    shim->slot_length_b[slot]);
    nr_upload_drop(shim);
    shim->slot_loaded[slot] = code == 0;
    return code;
}
