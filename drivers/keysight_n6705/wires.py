# SPDX-License-Identifier: Apache-2.0
"""The wires of a Keysight N6705."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rig.model.wiring import Connection, Pin, WireName


def wires(settings: Any) -> Sequence[Connection]:
    """Return them: a channel supplies the DUT; SYNC goes where `sync` says
    (docs/how-to/MONITORS.md)."""
    s = settings
    connections = [
        Connection(
            WireName.SUPPLY,
            Pin("monitor", f"channel {s.channel} +"),
            Pin("dut", "supply +"),
            f"{s.supply_v:g} V, to {s.current_limit_a:g} A",
        ),
        Connection(
            WireName.GROUND,
            Pin("monitor", f"channel {s.channel} -"),
            Pin("dut", "ground"),
        ),
    ]
    if s.sync == "voltage":
        place = "auxiliary input" if s.sync_input == "aux" else "terminals"
        to = Pin("monitor", f"channel {s.sync_channel}, {place}")
        note = "logged as a voltage"
    elif s.sync == "trigger":
        rear = s.trigger == "EXT"
        to = Pin(
            "monitor",
            "rear BNC trigger"
            if rear
            else f"digital pin {s.trigger.removeprefix('PIN')}",
        )
        note = "the first falling edge starts the log"
    else:
        to = Pin("io manager", "8 (ICP1)")
        note = "stamps each edge: docs/how-to/IO_MANAGER.md"
        connections.append(
            Connection(WireName.GROUND, Pin("dut", "ground"), Pin("io manager", "GND"))
        )
    connections.append(Connection(WireName.SYNC, Pin("dut", "SYNC"), to, note))
    return connections
