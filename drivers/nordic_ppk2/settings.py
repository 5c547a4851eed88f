# SPDX-License-Identifier: Apache-2.0
"""Settings of a Nordic PPK2."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from annotated_types import Interval, Len, Unit, doc

from drivers.fields import CalibrationFile, StartTime
from drivers.nordic_ppk2.metadata import RANGES
from drivers.nordic_ppk2.sim.settings import Ppk2SimulatorSettings
from rig.errors import ConfigError
from rig.settings.declare import DEVICE, Number, Ratio


@dataclass(frozen=True, slots=True)
class Ppk2Settings:
    """Settings: the port, the supply, and the line of SYNC."""

    port: Annotated[
        str,
        DEVICE,
        Len(1),
        doc('Serial device, pyserial URL, or "simulator"; `rig scan` lists them.'),
    ]
    mode: Annotated[
        Literal["source", "ampere"],
        doc("The PPK2 supplies the DUT, or lies in the supply of another."),
    ] = "source"
    supply_v: Annotated[
        float,
        Interval(ge=0.8, le=5.0),
        Unit("V"),
        doc("Voltage of the supply; in mode ampere that of the other one."),
    ] = 3.3
    sync: Annotated[
        Number, Interval(ge=0, le=7), doc("Line of the logic port that carries SYNC.")
    ] = 0
    gains: Annotated[
        tuple[Ratio, ...],
        doc(
            "Factors of the five ranges, the lowest first, from a calibration; none:"
            " 1 each."
        ),
    ] = ()
    start_s: StartTime = 0.01
    calibration: CalibrationFile = ""
    simulator: Annotated[Ppk2SimulatorSettings, doc("The simulated PPK2.")] = field(
        default_factory=Ppk2SimulatorSettings
    )


def require(settings: Ppk2Settings) -> None:
    """Raise ConfigError for factors that are not one of each range."""
    gains = settings.gains
    if gains and (len(gains) != RANGES or min(gains) <= 0):
        raise ConfigError(
            f"{list(gains)}",
            path="monitor.nordic_ppk2.gains",
            try_next=f"{RANGES} factors above 0, that of the range to 50 uA first",
        )
