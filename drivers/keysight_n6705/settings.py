# SPDX-License-Identifier: Apache-2.0
"""Settings of a Keysight N6705."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, Literal

from annotated_types import Interval, Unit, doc

from drivers.fields import CalibrationFile
from drivers.keysight_n6705.accuracy import RANGES_A
from drivers.keysight_n6705.io_manager import IoManagerSettings
from drivers.keysight_n6705.sim.settings import N6705SimulatorSettings
from rig.errors import ConfigError
from rig.settings.declare import DEVICE, Number, Or, Why

PATH = "monitor.keysight_n6705"
#: Shortest period for each parameter logged, over all channels, with FORM REAL (N6705C
#: guide, Specify the Integration Period).
PARAMETER_S = 102.4e-6
#: Limits of a 20 W module: up to so many volts, so many amperes (N6780 series data
#: sheet 5990-5829EN).
_LIMITS = ((6.12, 3.06), (20.4, 1.02))


@dataclass(frozen=True, slots=True)
class N6705Settings:
    """Settings: VISA address, supply, and how SYNC is seen."""

    resource: Annotated[
        str,
        DEVICE,
        doc('VISA name, as "TCPIP::192.168.1.5::5025::SOCKET"; or "simulator".'),
    ]
    visa_library: Annotated[
        str, doc('VISA library: "@py" is pyvisa-py, "@ivi" the vendor\'s; or a file.')
    ] = "@py"
    channel: Annotated[
        Number, Interval(ge=1, le=4), doc("Channel that supplies and measures the DUT.")
    ] = 1
    supply_v: Annotated[float, Unit("V"), doc("Voltage of the supply; up to 20 W.")] = (
        3.3
    )
    current_limit_a: Annotated[
        float, Unit("A"), doc("Limit of the supply's current.")
    ] = 0.2
    sync: Annotated[
        Literal["voltage", "trigger", "io_manager"], doc("How SYNC is seen.")
    ] = "voltage"
    sync_channel: Annotated[
        Number,
        Interval(ge=1, le=4),
        doc("Channel that logs the SYNC line; not the DUT's."),
    ] = 2
    sync_input: Annotated[
        Literal["aux", "main"],
        doc("Auxiliary input of that channel, or its own terminals as a voltmeter."),
    ] = "aux"
    trigger: Annotated[
        Literal["EXT", "PIN1", "PIN2", "PIN3", "PIN4", "PIN5", "PIN6", "PIN7"],
        doc("Where the starting edge comes in; EXT is the rear BNC."),
    ] = "EXT"
    clock_limit_ppm: Annotated[
        float,
        Interval(gt=0, le=10_000),
        Unit("ppm"),
        doc(
            "How far the clocks of device and instrument may differ, with sync ="
            ' "trigger".'
        ),
    ] = 200.0
    period_s: Annotated[
        float,
        Or(0, "the shortest"),
        Interval(ge=PARAMETER_S, le=60),
        Unit("s"),
        doc("Period of the records."),
    ] = 0.0
    current_range: Annotated[
        str, doc('"auto" (seamless), or the upper end of a range in amperes.')
    ] = "auto"
    settle_off_s: Annotated[
        float,
        Interval(ge=0, le=60),
        Unit("s"),
        doc("Wait after an output was found on and switched off."),
    ] = 3.0
    settle_on_s: Annotated[
        float,
        Interval(ge=0, le=60),
        Unit("s"),
        doc("Wait before the output is switched on; EEMBC's runner waits as long."),
    ] = 1.0
    start_s: Annotated[
        float,
        Interval(gt=0, le=60),
        Unit("s"),
        doc("How long it logs before anything else happens."),
    ] = 0.01
    fetch_s: Annotated[
        float,
        Interval(gt=0, le=0.5),
        Unit("s"),
        Why("at least two fetches a second"),
        doc("Time between two fetches, more or less."),
    ] = 0.25
    held_back_s: Annotated[
        float,
        Interval(gt=0, le=1),
        Unit("s"),
        doc("How long the instrument may hold a record back; later ones are lost."),
    ] = 0.02
    timeout_s: Annotated[
        float, Interval(gt=0, le=3600), Unit("s"), doc("Time within which it answers.")
    ] = 3.0
    calibration: CalibrationFile = ""
    io_manager: Annotated[
        IoManagerSettings, doc('The IO manager, with sync = "io_manager".')
    ] = field(default_factory=IoManagerSettings)
    simulator: Annotated[N6705SimulatorSettings, doc("The simulated instrument.")] = (
        field(default_factory=N6705SimulatorSettings)
    )

    @property
    def logged_sync_channel(self) -> int | None:
        """The channel that logs SYNC, where one does."""
        return self.sync_channel if self.sync == "voltage" else None

    @property
    def current_range_a(self) -> float | None:
        """The fixed measuring range of current, or None for all in turn; raises
        ConfigError.
        """
        if self.current_range == "auto":
            return None
        with suppress(ValueError):
            if 0 < float(self.current_range) <= RANGES_A[-1]:
                return float(self.current_range)
        raise ConfigError(
            f"{self.current_range!r}",
            path=f"{PATH}.current_range",
            try_next=f'"auto", or an upper end in amperes up to {RANGES_A[-1]}',
        )


def require(settings: N6705Settings) -> None:
    """Raise ConfigError for settings that do not go together."""
    _require_limits(settings.supply_v, settings.current_limit_a)
    _ = settings.current_range_a
    if settings.sync_channel == settings.channel:
        raise ConfigError(
            f"{settings.sync_channel}",
            path=f"{PATH}.sync_channel",
            try_next="1 to 4, not the DUT's",
        )


def _require_limits(supply_v: float, current_limit_a: float) -> None:
    """Raise ConfigError where no 20 W module can supply that."""
    if any(
        0 < supply_v <= most_v and 0 < current_limit_a <= most_a
        for most_v, most_a in _LIMITS
    ):
        return
    raise ConfigError(
        f"{supply_v:g} V with a limit of {current_limit_a:g} A",
        path=f"{PATH}.supply_v",
        try_next=(
            "above 0 to 6.12 V with up to 3.06 A, or to 20.4 V with up to 1.02 A: 20 W,"
            " positive only"
        ),
    )
