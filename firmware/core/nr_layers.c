/* SPDX-License-Identifier: Apache-2.0 */
/* From one layer to the other. */
#include "nr_shim_parts.h"

void nr_text_layer_enter(struct nr_shim *shim)
{
    shim->layer = NR_LAYER_TEXT;
    shim->session = false;
    shim->guarding = false;
    nr_stream_stop(shim);
    nr_upload_drop(shim);
    nr_text_rx_init(&shim->text_rx);
}

void nr_framed_layer_enter(struct nr_shim *shim)
{
    shim->layer = NR_LAYER_FRAMED;
    shim->session = false;
    shim->expected = 0;
    shim->received = 0;
    shim->answer_valid = false;
    shim->escape_b = 0;
    nr_upload_drop(shim);
    nr_frame_rx_drop(&shim->frame_rx);
}
