# SPDX-License-Identifier: Apache-2.0
"""No energy monitor: the settings of a bench that has none. No driver belongs to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Interval, Unit, doc

from rig.errors import ConfigError
from rig.interfaces.context import BenchContext
from rig.interfaces.monitor import EnergyMonitor
from rig.interfaces.plugin_classes import Driver

#: Makers of crystals state two limits: at 25 °C, and over temperature. Often either is
#: 50 ppm.
CRYSTAL_PPM = 100.0
_ASSUMED = (
    "assumed, not measured: a quartz crystal within 50 ppm at 25 °C and 50 ppm over"
    " temperature; an internal RC oscillator is off by percents, and its data sheet"
    " says by how many"
)


class NoMonitor(Driver):
    """No energy monitor: accuracy and latency by the device's own time stamps; there is
    no energy.
    """

    @dataclass(frozen=True, slots=True)
    class Settings:
        """Settings: the limit of the device's own clock, which is not checked."""

        clock_ppm: Annotated[
            float,
            Interval(ge=0, lt=1e6),
            Unit("ppm"),
            doc("Limit of error of the device's own clock."),
        ] = CRYSTAL_PPM
        clock_source: Annotated[
            str, doc("Who states that limit; empty: as assumed of a quartz crystal.")
        ] = ""

        def __post_init__(self) -> None:
            if not self.clock_source:
                source = (
                    _ASSUMED
                    if self.clock_ppm == CRYSTAL_PPM
                    else "the bench file, which gives no source"
                )
                object.__setattr__(self, "clock_source", source)

    @classmethod
    def open(cls, settings: Settings, context: BenchContext) -> EnergyMonitor:
        """Refuse: a bench of this kind opens no monitor."""
        raise ConfigError("there is no monitor to open", path="monitor.none")
