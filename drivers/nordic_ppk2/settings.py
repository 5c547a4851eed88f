# SPDX-License-Identifier: Apache-2.0
"""Settings of a Nordic PPK2."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from annotated_types import Interval, Len, Unit, doc

from drivers.fields import CalibrationFile, StartTime
from drivers.nordic_ppk2.sim.settings import Ppk2SimulatorSettings
from rig.settings.declare import DEVICE, Number


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
    start_s: StartTime = 0.01
    calibration: CalibrationFile = ""
    simulator: Annotated[Ppk2SimulatorSettings, doc("The simulated PPK2.")] = field(
        default_factory=Ppk2SimulatorSettings
    )
