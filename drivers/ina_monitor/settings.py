# SPDX-License-Identifier: Apache-2.0
"""Settings of an ina_monitor and of its simulator."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Interval, Len, Unit, doc

from drivers.fields import (
    CalibrationFile,
    ClockError,
    CurrentGain,
    CurrentNoise,
    CurrentOffset,
    NoiseSeed,
    StartTime,
    SupplyShare,
)
from rig.settings.declare import DEVICE, Count, Number, Or, Ratio


@dataclass(frozen=True, slots=True)
class InaMonitorFaults:
    """Faults of a simulated board; places are samples, times seconds of the
    measurement, and below 0 is never.
    """

    lose_at: Annotated[Number, doc("Sample where lines are lost.")] = -1
    lose_samples: Annotated[Count, Ge(0), doc("How many are lost.")] = 1
    damage_at: Annotated[Number, doc("Sample whose line has another digit.")] = -1
    unread_at: Annotated[Number, doc("Sample whose chip does not acknowledge.")] = -1
    unplugged_at_s: Annotated[float, Unit("s"), doc("It is unplugged.")] = -1.0
    mute_at_s: Annotated[float, Unit("s"), doc("No data come after this time.")] = -1.0
    streaming: Annotated[bool, doc("It measures when it is opened.")] = False
    chip: Annotated[
        Literal["", "ina219", "ina226", "ina228", "none"],
        doc("The chip that is there; empty: as the bench has it."),
    ] = ""


@dataclass(frozen=True, slots=True)
class InaMonitorSimulatorSettings:
    """A simulated board, its chip and their true errors."""

    clock_ppm: ClockError = 20.0
    gain: CurrentGain = 0.0
    offset_a: CurrentOffset = 0.0
    noise_a: CurrentNoise = 0.0
    supply_v: Annotated[float, Gt(0), Unit("V"), doc("Voltage of the DUT.")] = 3.3
    share: SupplyShare = 1.0
    seed: NoiseSeed = 0
    faults: Annotated[InaMonitorFaults, doc("Simulated faults.")] = field(
        default_factory=InaMonitorFaults
    )


@dataclass(frozen=True, slots=True)
class InaMonitorSettings:
    """Settings: the port, the chip, its shunt, and the rate."""

    port: Annotated[
        str, DEVICE, Len(1), doc('Serial device, pyserial URL, or "simulator".')
    ]
    chip: Annotated[
        Literal["ina219", "ina226", "ina228"], doc("The chip on the module.")
    ]
    baud: Annotated[
        int, Gt(0), Unit("Bd"), doc("Line rate of the firmware (INA_HOST_BAUD).")
    ] = 500_000
    address: Annotated[
        Number, Interval(ge=0x40, le=0x4F), doc("I2C address of the chip.")
    ] = 0x40
    shunt_ohm: Annotated[float, Gt(0), Unit("ohm"), doc("The shunt.")] = 0.1
    shunt_tolerance: Annotated[
        Ratio,
        Ge(0),
        doc("Its tolerance, with what temperature does; R100 of a module has 1 %."),
    ] = 0.01
    most_a: Annotated[
        float,
        Or(0, "all that the chip measures"),
        Gt(0),
        Unit("A"),
        doc("Largest current; a smaller one may allow a better range of the chip."),
    ] = 0.0
    sample_hz: Annotated[
        int, Interval(ge=10, le=1000), Unit("Hz"), doc("Samples a second.")
    ] = 500
    start_s: StartTime = 0.01
    calibration: CalibrationFile = ""
    simulator: Annotated[InaMonitorSimulatorSettings, doc("The simulated board.")] = (
        field(default_factory=InaMonitorSimulatorSettings)
    )
