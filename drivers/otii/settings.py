# SPDX-License-Identifier: Apache-2.0
"""Settings of an Otii Arc or Ace, and of its simulator."""

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
    EdgeDelay,
    NoiseSeed,
    StartTime,
    SupplyShare,
)
from rig.settings.declare import DEVICE, Count, Number, Ratio

#: Samples of current that an Arc takes a second; it has no other rate.
ARC_HZ = 4000


@dataclass(frozen=True, slots=True)
class OtiiFaults:
    """Faults of a simulated server and its device; places are samples of the current,
    times seconds of a recording, and below 0 is never.
    """

    logged_in: Annotated[bool, doc("A user is logged in.")] = True
    licences: Annotated[
        tuple[str, ...], doc("Types of the licences that are free.")
    ] = ("Automation",)
    devices: Annotated[
        tuple[str, ...], doc("Names of the devices that are connected.")
    ] = ("Simulated",)
    supply_found_on: Annotated[bool, doc("The supply is on when it is opened.")] = False
    recording_found: Annotated[bool, doc("A recording runs when it is opened.")] = False
    refuse: Annotated[str, doc("Request that is answered with a failure.")] = ""
    mute: Annotated[str, doc("Request that is never answered.")] = ""
    misread: Annotated[str, doc("Request that is answered with 77.")] = ""
    unplugged_at_s: Annotated[float, Unit("s"), doc("The device is unplugged.")] = -1.0
    ended_at_s: Annotated[float, Unit("s"), doc("The server ends.")] = -1.0
    lose_at: Annotated[Number, doc("Sample where samples are lost.")] = -1
    lose_samples: Annotated[Count, Ge(0), doc("How many are lost.")] = 1
    unnumbered: Annotated[
        bool, doc("Later samples have the times of those that were lost.")
    ] = False


@dataclass(frozen=True, slots=True)
class OtiiSimulatorSettings:
    """A simulated device and its true errors."""

    model: Annotated[Literal["Arc", "Ace"], doc("Model.")] = "Arc"
    clock_ppm: ClockError = 20.0
    gain: CurrentGain = 0.0
    offset_a: CurrentOffset = 0.0
    noise_a: CurrentNoise = 0.0
    supply_v_error: Annotated[Ratio, doc("Error of the voltage of its supply.")] = 0.0
    share: SupplyShare = 1.0
    edge_delay_s: EdgeDelay = 0.0
    sync: Annotated[Number, Interval(ge=1, le=2), doc("GPI that SYNC is wired to.")] = 1
    input_hz: Annotated[
        int, Gt(0), Unit("Hz"), doc("How often it looks at its digital inputs.")
    ] = 1000
    seed: NoiseSeed = 0
    faults: Annotated[OtiiFaults, doc("Simulated faults.")] = field(
        default_factory=OtiiFaults
    )


@dataclass(frozen=True, slots=True)
class OtiiSettings:
    """Settings: the server, the device, the supply, and the input of SYNC."""

    server: Annotated[
        str,
        DEVICE,
        Len(1),
        doc('The Otii server, as "127.0.0.1:1905", or "simulator".'),
    ]
    device: Annotated[
        str, doc("Name or identity of the device; empty: the only one.")
    ] = ""
    supply_v: Annotated[
        float, Interval(ge=0.5, le=25.0), Unit("V"), doc("Voltage of the supply.")
    ] = 3.3
    most_a: Annotated[
        float,
        Interval(ge=0.001, le=5.0),
        Unit("A"),
        doc("Current at which the supply cuts off."),
    ] = 0.5
    sample_hz: Annotated[
        int,
        Interval(ge=1000, le=50_000),
        Unit("Hz"),
        doc("Samples of the current a second; an Arc has 4000 and no other rate."),
    ] = ARC_HZ
    current_range: Annotated[
        Literal["low", "high"],
        doc('"low" changes to the high range by itself, "high" keeps it.'),
    ] = "low"
    sync: Annotated[Number, Interval(ge=1, le=2), doc("GPI that carries SYNC.")] = 1
    logic_v: Annotated[
        float,
        Interval(ge=1.2, le=5.0),
        Unit("V"),
        doc("Logic level of the expansion port."),
    ] = 3.3
    start_s: StartTime = 0.02
    calibration: CalibrationFile = ""
    simulator: Annotated[OtiiSimulatorSettings, doc("The simulated server.")] = field(
        default_factory=OtiiSimulatorSettings
    )
