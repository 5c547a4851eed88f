/* SPDX-License-Identifier: Apache-2.0 */
/* The text layer between bytes and commands: docs/reference/PROTOCOL.md, section 1. */
#include "nr_shim_parts.h"

static void say_ready(struct nr_shim *shim)
{
    nr_text_put(&shim->text_tx, "m-ready\r\n");
    nr_text_flush(&shim->text_tx);
}

void nr_text_layer_boot(struct nr_shim *shim)
{
    nr_text_put(&shim->text_tx, "m-init-done\r\n");
    say_ready(shim);
}

void nr_text_layer_byte(struct nr_shim *shim, uint8_t byte)
{
    if (!nr_text_rx_byte(&shim->text_rx, byte)) {
        return;
    }
    if (NR_WITH_CLASSIC) {
        nr_text_classic(shim);
    } else {
        nr_text_minimal(shim);
    }
    nr_text_rx_init(&shim->text_rx);
    say_ready(shim);
}
