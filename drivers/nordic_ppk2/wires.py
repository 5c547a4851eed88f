# SPDX-License-Identifier: Apache-2.0
"""The wires of a PPK2."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rig.model.wiring import Connection, Pin, WireName


def wires(settings: Any) -> Sequence[Connection]:
    """Return them (docs/how-to/MONITORS.md): it supplies the DUT, or lies in its
    supply; the logic port has a supply and a ground of its own.
    """
    supplied = f"{settings.supply_v:g} V, to 1 A"
    feed = []
    if settings.mode == "ampere":
        feed = [
            Connection(
                WireName.SUPPLY, Pin("feed", "+"), Pin("monitor", "VIN"), supplied
            ),
            Connection(WireName.GROUND, Pin("feed", "-"), Pin("monitor", "GND")),
        ]
    return [
        *feed,
        Connection(
            WireName.SUPPLY, Pin("monitor", "VOUT"), Pin("dut", "supply +"), supplied
        ),
        Connection(WireName.GROUND, Pin("monitor", "GND"), Pin("dut", "ground")),
        Connection(
            WireName.LEVEL,
            Pin("dut", "supply +"),
            Pin("monitor", "logic port VCC"),
            "1.65 to 5.5 V; without it D0 to D7 stand still",
        ),
        Connection(
            WireName.GROUND, Pin("dut", "ground"), Pin("monitor", "logic port GND")
        ),
        Connection(
            WireName.SYNC,
            Pin("dut", "SYNC"),
            Pin("monitor", f"logic port D{settings.sync}"),
        ),
    ]
