/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest text layer that a session in frames needs: `name` and `frame 1`. */
#include "nr_shim_parts.h"

#include <string.h>

static bool is(const struct nr_text_rx *rx, const char *command)
{
    return !rx->overflow && rx->length_b == strlen(command)
           && memcmp(rx->line, command, rx->length_b) == 0;
}

void nr_text_minimal(struct nr_shim *shim)
{
    if (is(&shim->text_rx, "name")) {
        nr_text_put(&shim->text_tx, "m-name-dut-[");
        nr_text_put(&shim->text_tx, shim->port->device);
        nr_text_put(&shim->text_tx, "]\r\n");
    } else if (is(&shim->text_rx, "frame 1")) { /* NR_PROTOCOL */
        nr_text_put(&shim->text_tx, "m-frame-[1]\r\n");
        nr_framed_layer_enter(shim);
    } else {
        nr_text_put(&shim->text_tx, "e-[only name and frame 1]\r\n");
    }
}
