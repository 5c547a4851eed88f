# SPDX-License-Identifier: Apache-2.0
"""Settings that several instruments or their simulators have, as declarations of
fields."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Ge, Gt, Interval, Unit, doc

from rig.settings.declare import Or, PathText, Ratio, Seed

StartTime = Annotated[
    float,
    Interval(gt=0, le=60),
    Unit("s"),
    doc("How long it records before anything else happens."),
]
CalibrationFile = Annotated[
    PathText, doc("File of limits of error, in place of those of the data sheet.")
]
CurrentNoise = Annotated[
    float, Ge(0), Unit("A"), doc("Standard deviation of one current sample.")
]
CurrentGain = Annotated[Ratio, doc("Gain error of the current.")]
CurrentOffset = Annotated[float, Unit("A"), doc("Offset error of the current.")]
VoltageGain = Annotated[Ratio, doc("Gain error of the voltage.")]
ClockError = Annotated[
    float,
    Interval(gt=-100_000, lt=100_000),
    Unit("ppm"),
    doc("How fast its clock is."),
]
SupplyShare = Annotated[
    Ratio,
    Interval(gt=0, le=1),
    doc("Part of the DUT's power that flows through it."),
]
FedVoltage = Annotated[
    float,
    Or(0, "none"),
    Gt(0),
    Unit("V"),
    doc("Voltage of another cable that feeds the DUT in its place."),
]
EdgeDelay = Annotated[float, Unit("s"), doc("How much later than power SYNC is seen.")]
NoiseSeed = Annotated[Seed, doc("Seed of the noise.")]
