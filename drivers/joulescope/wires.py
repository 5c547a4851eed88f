# SPDX-License-Identifier: Apache-2.0
"""The wires of a Joulescope."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rig.model.wiring import Connection, Pin, WireName

#: Number of the trigger input among a JS220's.
_TRIGGER = 7


def wires(settings: Any) -> Sequence[Connection]:
    """Return them: it lies between a supply and the DUT (docs/how-to/MONITORS.md)."""
    found = [
        Connection(WireName.SUPPLY, Pin("feed", "+"), Pin("monitor", "input +")),
        Connection(WireName.SUPPLY, Pin("monitor", "output +"), Pin("dut", "supply +")),
        Connection(WireName.GROUND, Pin("feed", "-"), Pin("monitor", "input -")),
        Connection(WireName.GROUND, Pin("monitor", "output -"), Pin("dut", "ground")),
    ]
    level = (
        f"logic of {settings.reference}; of another: `reference`, or a level shifter"
    )
    if settings.reference == "external":
        level = "compared with the voltage at Vref"
        found.append(
            Connection(
                WireName.LEVEL, Pin("dut", "supply +"), Pin("monitor", "Vref"), level
            )
        )
    sync = "trigger input" if settings.gpi == _TRIGGER else f"GPI {settings.gpi}"
    found.append(
        Connection(WireName.SYNC, Pin("dut", "SYNC"), Pin("monitor", sync), level)
    )
    found.append(
        Connection(WireName.GROUND, Pin("dut", "ground"), Pin("monitor", "GPI ground"))
    )
    return found
