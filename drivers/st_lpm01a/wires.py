# SPDX-License-Identifier: Apache-2.0
"""The wires of an X-NUCLEO-LPM01A."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rig.model.wiring import Connection, Pin, WireName


def wires(settings: Any) -> Sequence[Connection]:
    """Return them: the board supplies the DUT, SYNC goes to its D7
    (docs/how-to/MONITORS.md)."""
    connections = [
        Connection(
            WireName.SUPPLY,
            Pin("monitor", "supply output"),
            Pin("dut", "supply +"),
            f"{settings.supply_v:g} V, to 50 mA",
        ),
        Connection(WireName.GROUND, Pin("monitor", "ground"), Pin("dut", "ground")),
    ]
    if settings.events:
        connections.append(
            Connection(
                WireName.SYNC, Pin("dut", "SYNC"), Pin("monitor", "Arduino pin D7")
            )
        )
    return connections
