# SPDX-License-Identifier: Apache-2.0
"""Settings of an X-NUCLEO-LPM01A, and the commands that they come to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Literal

from annotated_types import Gt, Interval, Len, Unit, doc

from drivers.fields import CalibrationFile, StartTime
from drivers.st_lpm01a.sim.simulator import Lpm01aSimulatorSettings
from rig.errors import ConfigError
from rig.settings.declare import DEVICE

#: UM2269 table 13.
RATES_HZ = (
    1,
    2,
    5,
    10,
    20,
    50,
    100,
    200,
    500,
    1_000,
    2_000,
    5_000,
    10_000,
    20_000,
    50_000,
    100_000,
)
#: UM2269 table 2, at 3 686 400 baud: faster ones end after 1 s or less.
_FASTEST_HZ = {"ascii_dec": 5_000, "bin_hexa": 100_000}
#: UM2269 Rev 6 table 17 says 100 Hz, the firmware's help 10 kHz; the runner of MLPerf
#: Tiny uses 1 kHz.
_FASTEST_ENERGY_HZ = 1_000


@dataclass(frozen=True, slots=True)
class Lpm01aSettings:
    """Settings: the port, the supply, and the sampling."""

    port: Annotated[
        str,
        DEVICE,
        Len(1),
        doc('Serial device, pyserial URL, or "simulator"; `rig scan` lists them.'),
    ]
    baud: Annotated[int, Gt(0), Unit("Bd"), doc("Line rate.")] = 3_686_400
    format: Annotated[
        Literal["ascii_dec", "bin_hexa"],
        doc("Form of the samples; ascii_dec goes up to 5000 samples a second."),
    ] = "ascii_dec"
    output: Annotated[
        Literal["current", "energy"],
        doc(
            "Measured quantity; energy needs ascii_dec and up to 1000 samples a second."
        ),
    ] = "current"
    sample_hz: Annotated[
        int, Unit("Hz"), doc("Sampling rate, one that the board offers.")
    ] = 5_000
    supply_v: Annotated[
        float, Interval(ge=1.8, le=3.3), Unit("V"), doc("Voltage of the supply.")
    ] = 3.3
    events: Annotated[
        bool, doc("Tell of edges at D7, which needs ascii_dec and firmware 1.0.6.")
    ] = True
    start_s: StartTime = 0.01
    calibration: CalibrationFile = ""
    simulator: Annotated[Lpm01aSimulatorSettings, doc("The simulated board.")] = field(
        default_factory=Lpm01aSimulatorSettings
    )

    @property
    def sees_events(self) -> bool:
        """Whether edges are reported: the form of an event in bin_hexa is not
        documented."""
        return self.events and self.format == "ascii_dec"


def require(settings: Lpm01aSettings) -> None:
    """Raise ConfigError for settings that do not go together."""
    fastest_hz = _FASTEST_HZ[settings.format]
    energy_ok = settings.output == "current" or (
        settings.format == "ascii_dec" and settings.sample_hz <= _FASTEST_ENERGY_HZ
    )
    if settings.sample_hz not in RATES_HZ:
        raise ConfigError(
            f"{settings.sample_hz!r}",
            path="monitor.st_lpm01a.sample_hz",
            try_next=f"one of {', '.join(map(str, RATES_HZ))}",
        )
    if settings.sample_hz > fastest_hz:
        raise ConfigError(
            f"{settings.sample_hz!r}",
            path="monitor.st_lpm01a.sample_hz",
            try_next=f"{fastest_hz} or less in format {settings.format}: faster ends"
            " after 1 s",
        )
    if not energy_ok:
        raise ConfigError(
            f"{settings.output!r}",
            path="monitor.st_lpm01a.output",
            try_next="current; energy needs format ascii_dec and sample_hz"
            f" {_FASTEST_ENERGY_HZ} or less",
        )


def configuration(settings: Lpm01aSettings) -> Iterator[str]:
    """Yield the commands that set up an acquisition without end, started by
    software."""
    hz = settings.sample_hz
    yield "acqtime inf"
    yield "trigsrc sw"
    yield "trigdelay 0"
    # The supply is ours alone: else the end of an acquisition would switch it.
    yield "pwrend on"
    if settings.sees_events:
        yield "eventsrc d7 fal"
    yield f"output {settings.output}"
    if settings.output == "current":
        yield "funcmode optim"
    yield f"format {settings.format}"
    yield f"freq {hz // 1000}k" if hz >= 1000 else f"freq {hz}"
