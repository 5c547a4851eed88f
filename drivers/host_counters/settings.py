# SPDX-License-Identifier: Apache-2.0
"""Settings that every energy counter of a host has, real or simulated."""

from __future__ import annotations

import posixpath
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Annotated

from annotated_types import Ge, Gt, Interval, Unit, doc

from rig.errors import ConfigError
from rig.settings.declare import PathText, Ratio

_KERNEL = "/sys"
#: A kind of counter has a default of its own for each of these.
Longest = Annotated[
    float,
    Interval(gt=0, le=10),
    Unit("s"),
    doc("Time without news of the counter that makes a gap; 2 / poll_hz or more."),
]
BasePower = Annotated[
    float, Ge(0), Unit("W"), doc("Power of the board or host apart from the DUT.")
]
UpdateInterval = Annotated[
    float,
    Interval(gt=0, le=10),
    Unit("s"),
    doc("Time between two updates of the counter."),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterSettings(ABC):
    """Polling of a counter, and the file of its limits of error."""

    poll_hz: int
    longest_s: Longest
    gain_limit: float
    calibration: Annotated[
        PathText, doc("File of limits of error, in place of `gain_limit`.")
    ] = ""

    @property
    @abstractmethod
    def simulated(self) -> bool:
        """Whether the bench file names the simulator."""

    @property
    def reads_a_copy(self) -> bool:
        """Whether the numbers are those of files that are not the kernel's."""
        return False

    def validate(self, kind: str) -> None:
        """Raise ConfigError if every second reading would make a gap; `kind` is that of
        the monitor."""
        if self.longest_s < 2 / self.poll_hz:
            raise ConfigError(
                f"{self.longest_s}",
                path=f"monitor.{kind}.longest_s",
                try_next="2 / poll_hz or more",
            )


def is_of_kernel(root: str) -> bool:
    """Check whether a folder is one in which Linux shows its sensors: below /sys.
    Another one has files that a person wrote. The text decides, so that a session says
    the same on another computer.
    """
    return PurePosixPath(posixpath.normpath(root)).is_relative_to(_KERNEL)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedCounterSettings:
    """Power of a simulated host apart from the DUT, and the errors of its counter."""

    base_w: BasePower
    gain: Annotated[Ratio, doc("Gain error of the counter.")] = 0.0
    clock_ppm: Annotated[
        float, Gt(-1e6), Unit("ppm"), doc("How fast the counter's clock is.")
    ] = 0.0
    update_s: UpdateInterval
    share: Annotated[
        Ratio, Interval(ge=0, le=1), doc("Part of the DUT's power that it counts.")
    ] = 1.0
