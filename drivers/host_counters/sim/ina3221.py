# SPDX-License-Identifier: Apache-2.0
"""A simulated board with an INA3221: a tree of real files, as the kernel's hwmon driver
shows it; simulated.

The chip converts one quantity after the other, the voltage over a shunt and that of the
bus of channels 1 to 3, and keeps whole steps in registers; files show the
registers.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from annotated_types import Gt, Unit, doc

from drivers.host_counters.settings import (
    BasePower,
    SimulatedCounterSettings,
    UpdateInterval,
)
from drivers.host_counters.sim.simulator import SimulatedCounter
from rig.simulation.world import World

#: Faults that a test may set as `fault`, one at a time.
FAULTS = ("vanish", "garbage")
_SHUNT_UOHM = 5_000


@dataclass(frozen=True, slots=True)
class _Input:
    """A channel: its part of the board's power, its voltage without a load, and what
    its supply loses of that for each ampere.
    """

    label: str
    share: float
    supply_v: float = 5.0
    source_ohm: float = 0.01


_INPUTS = (
    _Input("VDD_IN", 1.0),
    _Input("VDD_CPU_GPU_CV", 0.6),
    _Input("VDD_SOC", 0.25),
)


class Ina3221Simulator:
    """Keeps the files in a temporary folder up to date with the board's power; `close`
    removes them. `fault`, one of FAULTS, acts from the next update.
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Settings(SimulatedCounterSettings):
        """Power of the simulated board apart from the DUT, and errors of its sensor."""

        base_w: BasePower = 4.0
        update_s: UpdateInterval = 0.0011
        shunt: Annotated[
            float, Gt(0), Unit("ohm"), doc("Resistor of each channel, as it is stated.")
        ] = _SHUNT_UOHM * 1e-6

    def __init__(self, settings: Settings, world: World) -> None:
        self.counter = SimulatedCounter(world, settings)
        self.counter.updated = self._update
        self.fault = ""
        self._settings = settings
        self._before_w = settings.base_w
        self.root = Path(tempfile.mkdtemp(prefix="i2c-"))
        device = self.root / "1-0040"
        self._folder = device / "hwmon" / "hwmon3"
        self._folder.mkdir(parents=True)
        (device / "name").write_text("ina3221\n", "ascii")
        self._show("update_interval", 7)
        self._show("in7_label", "sum of shunt voltages")
        for number, channel in enumerate(_INPUTS, 1):
            self._show(f"in{number}_label", channel.label)
            self._show(f"in{number}_enable", 1)
            self._show(f"shunt{number}_resistor", round(settings.shunt * 1e6))
        self.counter.power_w = settings.base_w * (1 + settings.gain)
        self._update()

    def close(self) -> None:
        """Remove the files; closing twice is allowed."""
        self.counter.updated = lambda: None
        shutil.rmtree(self.root, ignore_errors=True)

    def _update(self) -> None:
        if self.fault == "vanish":
            (self._folder / "curr1_input").unlink(missing_ok=True)
            return
        now_w = self.counter.power_w
        for number, channel in enumerate(_INPUTS, 1):
            volts, _ = _flow(channel, self._before_w)
            _, amperes = _flow(channel, now_w)
            bus = round(volts * 1e3 / 8)
            shunt = round(amperes * self._settings.shunt * 1e6 / 40)
            self._show(f"in{number}_input", bus * 8)
            self._show(
                f"curr{number}_input",
                round(shunt * 40e-3 / self._settings.shunt),
            )
        if self.fault == "garbage":
            self._show("curr1_input", "?")
        self._before_w = now_w

    def _show(self, name: str, shown: object) -> None:
        (self._folder / name).write_bytes(f"{shown}\n".encode("ascii"))


def _flow(channel: _Input, board_w: float) -> tuple[float, float]:
    """Return voltage and current of a channel after the resistance of its supply."""
    drawn_w = board_w * channel.share
    half_v = channel.supply_v / 2
    volts = half_v + (half_v**2 - drawn_w * channel.source_ohm) ** 0.5
    return volts, drawn_w / volts
