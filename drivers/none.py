# SPDX-License-Identifier: Apache-2.0
"""No energy monitor: the settings of a bench that has none. There is no driver behind it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rig.errors import ConfigError

#: Makers of crystals state two limits: at 25 °C, and over temperature. Often either is 50 ppm.
CRYSTAL_PPM = 100.0
_ASSUMED = (
    "assumed, not measured: a quartz crystal within 50 ppm at 25 °C and 50 ppm over temperature; "
    "an internal RC oscillator is off by percents, and its data sheet says by how many"
)


class NoMonitor:
    """No energy monitor: accuracy and latency by the device's own time stamps; there is no
    energy.
    """

    @dataclass(frozen=True, slots=True)
    class Settings:
        """`clock_ppm`: the limit of the error of the device's own clock, which nothing checks;
        `clock_source`: who says so.
        """

        clock_ppm: float = CRYSTAL_PPM
        clock_source: str = ""

        def __post_init__(self) -> None:
            if not 0 <= self.clock_ppm < 1e6 or not math.isfinite(self.clock_ppm):
                raise ConfigError(
                    f"{self.clock_ppm}", path="clock_ppm", try_next="0 or more, below 1000000"
                )
            if not self.clock_source:
                said = (
                    _ASSUMED
                    if self.clock_ppm == CRYSTAL_PPM
                    else "the bench file, which gives no source"
                )
                object.__setattr__(self, "clock_source", said)
