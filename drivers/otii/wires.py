# SPDX-License-Identifier: Apache-2.0
"""The wires of an Otii Arc or Ace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rig.model.wiring import Connection, Pin, WireName


def wires(settings: Any) -> Sequence[Connection]:
    """Return them (docs/how-to/MONITORS.md): it supplies the DUT."""
    supplied = f"{settings.supply_v:g} V, to {settings.most_a:g} A"
    return [
        Connection(
            WireName.SUPPLY, Pin("monitor", "Main +"), Pin("dut", "supply +"), supplied
        ),
        Connection(WireName.GROUND, Pin("monitor", "Main -"), Pin("dut", "ground")),
        Connection(
            WireName.SYNC,
            Pin("dut", "SYNC"),
            Pin("monitor", f"expansion port GPI{settings.sync}"),
            f"logic of {settings.logic_v:g} V",
        ),
        Connection(
            WireName.GROUND, Pin("dut", "ground"), Pin("monitor", "expansion port GND")
        ),
    ]
