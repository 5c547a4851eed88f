# SPDX-License-Identifier: Apache-2.0
"""A simulated processor's energy counters: a powercap tree of real files, as the kernel
shows it; simulated.

Names, layout and arithmetic follow the kernel
(Documentation/power/powercap/powercap.rst, drivers/powercap/intel_rapl_common.c): a
register of 32 bits counts in units of 2**-14 J; the kernel multiplies by 61035 (15300
for dram) and divides by 1000.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Annotated

from annotated_types import Ge, doc

from drivers.host_counters.settings import (
    BasePower,
    SimulatedCounterSettings,
    UpdateInterval,
)
from drivers.host_counters.sim.simulator import SimulatedCounter
from rig.settings.declare import Number
from rig.simulation.world import World

_REGISTER = 1 << 32
_BACK = 1_000_000
#: Faults that a test may set as `fault`, one at a time.
FAULTS = ("vanish", "permission", "backwards", "stuck", "garbage")


@dataclass(frozen=True, slots=True)
class _Zone:
    folder: str
    name: str
    share: float
    unit_j: float = 2.0**-14
    kernel_unit: int = 61_035


_ZONES = (
    _Zone("intel-rapl:0", "package-0", 1.0),
    _Zone("intel-rapl:0:0", "core", 0.7),
    _Zone(
        "intel-rapl:0:1", "uncore", 0.0
    ),  # a graphics unit that is switched off: the counter stands still
    _Zone("intel-rapl:0:2", "dram", 0.25, 15.3e-6, 15_300),
    _Zone("intel-rapl:1", "psys", 1.5),
)


class RaplSimulator:
    """Keeps the files in a temporary folder up to date with its counter; `close`
    removes them.

    `first` is the initial value of the registers. `fault`, one of FAULTS, acts from the
    next update of the files.
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Settings(SimulatedCounterSettings):
        """Power of the simulated host apart from the DUT, and errors of its counter."""

        base_w: BasePower = 5.0
        update_s: UpdateInterval = 0.001
        first: Annotated[
            Number,
            Ge(0),
            doc("Value of the counter at the start, in its own steps."),
        ] = 4_000_000_000

    def __init__(self, settings: Settings, world: World) -> None:
        self.counter = SimulatedCounter(world, settings)
        self.counter.updated = self._update
        self.fault = ""
        self._first = settings.first
        self._frozen_j = 0.0
        self.root = Path(tempfile.mkdtemp(prefix="powercap-"))
        (self.root / "intel-rapl").mkdir()
        self._files: dict[_Zone, FileIO] = {}
        self._lengths_b = dict.fromkeys(_ZONES, 0)
        for zone in _ZONES:
            folder = self.root / zone.folder
            folder.mkdir()
            (folder / "name").write_text(f"{zone.name}\n", encoding="ascii")
            largest = (_REGISTER - 1) * zone.kernel_unit // 1000
            (folder / "max_energy_range_uj").write_text(
                f"{largest}\n", encoding="ascii"
            )
            self._files[zone] = FileIO(folder / "energy_uj", "w")
            (folder / "energy_uj").chmod(0o400)
        self._update()

    def close(self) -> None:
        """Remove the files; closing twice is allowed."""
        self.counter.updated = lambda: None
        for file in self._files.values():
            file.close()
        shutil.rmtree(self.root, ignore_errors=True)

    def _update(self) -> None:
        if self.fault != "stuck":
            self._frozen_j = self.counter.energy_j
        back = _BACK if self.fault == "backwards" else 0
        for zone, file in self._files.items():
            if self.fault in ("vanish", "permission"):
                path = self.root / zone.folder / "energy_uj"
                if self.fault == "vanish":
                    path.unlink(missing_ok=True)
                    continue
                path.chmod(0o000)
            register = (
                self._first + int(self._frozen_j * zone.share / zone.unit_j) - back
            ) % _REGISTER
            shown = (
                "?" if self.fault == "garbage" else register * zone.kernel_unit // 1000
            )
            text = f"{shown}\n".encode("ascii")
            # The file is overwritten in place: opening it again every time costs ten
            # times as much.
            file.seek(0)
            file.write(text)
            if len(text) != self._lengths_b[zone]:
                file.truncate()
                self._lengths_b[zone] = len(text)
