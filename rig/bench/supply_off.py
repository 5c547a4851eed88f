# SPDX-License-Identifier: Apache-2.0
"""Switch the supplies of a bench off when the rig that switched them on is gone."""

from __future__ import annotations

import json
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from rig.bench import config, plugins
from rig.bench.config import Config
from rig.errors import RigError
from rig.files import typed
from rig.interfaces.context import BenchContext

#: A killed process's ports are free at once, a USB instrument may need to be found
#: again.
_TRIES = 10
_PAUSE_S = 1.0


@dataclass(frozen=True, slots=True)
class _Order:
    """The task of the process after the end of the rig: the bench file, and the rails
    with a supply.
    """

    bench: str
    rails: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SwitchOff:
    """An order that is ready to be carried out: the bench is read, its drivers are
    imported."""

    resolved: Config
    rails: tuple[str, ...]

    def carry_out(self) -> list[str]:
        """Open and close the monitors of the rails, so that the supply is off; return
        what went wrong, a line a rail.
        """
        problems = [_switch_off(self.resolved, rail) for rail in self.rails]
        return [problem for problem in problems if problem]


def prepare(line: str) -> SwitchOff:
    """Read an order (rig/bench/supply_watchdog.py) and import the drivers that it
    needs."""
    order = typed.from_json(_Order, json.loads(line), "the order")
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "bench.toml"
        path.write_text(order.bench, encoding="utf-8")
        resolved = config.load(path)
    for rail in order.rails:
        plugins.find("monitor", resolved.monitors[rail].kind)
    return SwitchOff(resolved, order.rails)


def _switch_off(resolved: Config, rail: str) -> str:
    choice = resolved.monitors[rail]
    said = ""
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(_PAUSE_S)
        try:
            plugins.find("monitor", choice.kind).open(
                choice.settings, BenchContext()
            ).close()
        except RigError as error:
            said = f"the supply of {rail or 'the DUT'} may still be on: {error.cause}"
        else:
            return ""
    return said
