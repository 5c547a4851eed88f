# SPDX-License-Identifier: Apache-2.0
"""INA3221: the power sensor on many boards, among them NVIDIA's Jetsons, read by the
board itself.

It has no register of power: a reading is a voltage times a current, of two conversions
one after the other. Limits of error: Texas Instruments, INA3221 (SBOS576A), electrical
characteristics. Never run on hardware: tested on simulated trees of files only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Self

from annotated_types import Interval, MinLen, Unit, doc

from drivers.host_counters.driver import CounterDriver
from drivers.host_counters.ina3221_rails import (
    DEVICES,
    PowerRail,
    chosen,
    number,
    rails,
)
from drivers.host_counters.recording import (
    STAND_IN_V,
    CounterClock,
    CounterRecording,
    HostClock,
    Polling,
)
from drivers.host_counters.settings import CounterSettings, Longest, is_of_kernel
from drivers.host_counters.sim.ina3221 import Ina3221Simulator
from rig.errors import ConfigError
from rig.files import typed
from rig.interfaces.context import BenchContext
from rig.interfaces.monitor import FoundInstrument, MonitorInfo
from rig.measure.problems import SHORT_PERIODS
from rig.settings.declare import Ratio
from rig.uncertainty import accuracy
from rig.uncertainty.accuracy import Accuracy, Range

#: A step of the bus voltage, and of the voltage over a shunt.
_BUS_STEP_V = 8e-3
_SHUNT_STEP_V = 40e-6
#: Largest offsets, and gain error of each of both.
_BUS_OFFSET_V = 16e-3
_SHUNT_OFFSET_V = 80e-6
_GAIN = 0.0025
#: The largest voltage over a shunt that it can show.
_SHUNT_MOST_V = 0.1638
#: A reading waits for up to twice the interval.
_WAITS = 2
#: A reading that took so much longer was interrupted.
_LATE_S = 0.005
#: The most that NTP may slew CLOCK_MONOTONIC (MAXFREQ of linux/timex.h); from general
#: knowledge.
_CLOCK_PPM = 500.0
_PRODUCT = (
    "the product of a voltage and a current that are not of one conversion; momentary,"
    " a line between two readings"
)


@dataclass(frozen=True, slots=True)
class _Channel:
    """Facts for a channel's limits of error, as a session keeps them."""

    label: str
    voltage_mv: int
    shunt_uohm: int


@dataclass(frozen=True, slots=True)
class _Facts:
    """Details of the sensor that are read back from a session."""

    rails: tuple[_Channel, ...]
    interval_s: float


class Ina3221(CounterDriver):
    """Rails of a board's INA3221 (Jetson and others): the board measures itself."""

    kind = "ina3221"
    tested = "on simulated trees of files only, never on hardware"

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Settings(CounterSettings):
        """Settings: the rails, how they are polled, and the assumptions on them."""

        root: Annotated[
            str,
            doc(
                "Folder of the I2C devices, an absolute path; outside /sys it is"
                ' simulated. Or "simulator".'
            ),
        ] = DEVICES
        rails: Annotated[
            tuple[str, ...],
            MinLen(1),
            doc(
                "Labels of rails to add up; `rig scan` lists them. VDD_IN is the input"
                " of a Jetson module."
            ),
        ] = ("VDD_IN",)
        poll_hz: Annotated[
            int,
            Interval(ge=1, le=500),
            Unit("Hz"),
            doc("Readings a second; about 75 are possible of one rail, 25 of three."),
        ] = 20
        longest_s: Longest = 0.25
        gain_limit: Annotated[
            Ratio,
            Interval(gt=0, lt=1),
            doc(
                "Relative limit of error of the shunts: 1 % is assumed, no document of"
                " the boards states it."
            ),
        ] = 0.01
        sag: Annotated[
            Ratio,
            Interval(ge=0, lt=1),
            doc(
                "Largest relative change of a rail's voltage between its reading and"
                " that of the current: assumed."
            ),
        ] = 0.01
        simulator: Annotated[Ina3221Simulator.Settings, doc("The simulated board.")] = (
            field(default_factory=Ina3221Simulator.Settings)
        )

        @property
        def simulated(self) -> bool:
            """Whether the bench file names the simulator."""
            return self.root == "simulator"

        @property
        def reads_a_copy(self) -> bool:
            """Whether `root` is a folder of files that are not the kernel's."""
            return not is_of_kernel(self.root)

    def __init__(
        self,
        settings: Settings,
        measured_rails: Sequence[PowerRail],
        simulator: Ina3221Simulator | None,
    ) -> None:
        self._settings = settings
        self.simulator = simulator
        self._rails = tuple(measured_rails)
        self._facts = _facts(measured_rails)
        _refuse_rate(settings, self._facts)
        self._accuracy = _accuracy(settings, self._facts)
        self._clock: CounterClock = simulator.counter if simulator else HostClock()

    @staticmethod
    def restated(settings: Settings, info: MonitorInfo) -> MonitorInfo:
        """Return rates and limits of error as the settings have them, for the rails of
        the session.
        """
        facts = typed.take(_Facts, dict(info.details), "provenance.json, monitor")
        limits = info.accuracy if settings.calibration else _accuracy(settings, facts)
        rate_hz = settings.poll_hz
        return replace(info, sample_hz=rate_hz, edge_hz=rate_hz, accuracy=limits)

    @classmethod
    def open(cls, settings: Settings, context: BenchContext) -> Self:
        """Find the rails and read each once; the board stays on."""
        if not settings.simulated and not Path(settings.root).is_absolute():
            raise ConfigError(
                settings.root,
                path="monitor.ina3221.root",
                try_next='an absolute path, or "simulator"',
            )
        settings.validate("ina3221")
        simulator = (
            Ina3221Simulator(settings.simulator, context.world)
            if settings.simulated
            else None
        )
        if simulator:
            context.world.supply_on = True
        try:
            folder = simulator.root if simulator else Path(settings.root)
            return cls(settings, chosen(rails(folder), settings.rails), simulator)
        except BaseException:
            if simulator:
                simulator.close()
            raise

    @classmethod
    def scan(cls, root: str = DEVICES) -> list[FoundInstrument]:
        """List the rails of this machine."""
        return [
            FoundInstrument(f"INA3221 {rail.label}", "", f'rails = ["{rail.label}"]')
            for rail in rails(Path(root))
        ]

    @property
    def info(self) -> MonitorInfo:
        """Description of the rails."""
        labels = " + ".join(rail.label for rail in self._facts.rails)
        details: dict[str, Any] = {
            "rails": [
                {
                    "label": rail.label,
                    "voltage_mv": rail.voltage_mv,
                    "shunt_uohm": rail.shunt_uohm,
                }
                for rail in self._facts.rails
            ],
            "interval_s": self._facts.interval_s,
            "reading": _PRODUCT,
            "shortest_window_s": SHORT_PERIODS / self._settings.poll_hz,
            "clock": "CLOCK_MONOTONIC; the trace holds start_monotonic_ns",
        }
        return self._described(f"INA3221 {labels}", details)

    def record(self, folder: Path) -> CounterRecording:
        """Record into `folder`."""
        settings = self._settings
        took_s = _reading_s(self._facts)
        lag_s = 2 * self._facts.interval_s
        polling = Polling(
            settings.poll_hz,
            settings.longest_s,
            spread_s=2 * took_s + _LATE_S,
            start_s=took_s,
            lag_s=lag_s,
        )
        return self._recording(RailSum(self._rails), polling, folder, self.info.name)


class RailSum:
    """The power of some rails together, in microwatts; between two readings it goes
    along a line.
    """

    always_moves = False

    def __init__(self, added: Sequence[PowerRail]) -> None:
        self._rails = added
        self.name = f"the power of {', '.join(rail.label for rail in added)}"

    def count(self) -> int:
        """Read all rails, one after the other."""
        return sum(rail.power_uw() for rail in self._rails)

    def energy_j(self, previous: int, present: int, elapsed_s: float) -> float:
        """Return the energy between two readings."""
        return (previous + present) / 2 * 1e-6 * elapsed_s


def _facts(measured_rails: Sequence[PowerRail]) -> _Facts:
    """Read each rail once, and its voltage."""
    channels = []
    for rail in measured_rails:
        rail.power_uw()
        voltage_mv = number(rail.voltage, rail.label)
        channels.append(_Channel(rail.label, voltage_mv, rail.shunt_uohm))
    return _Facts(tuple(channels), max(rail.interval_s for rail in measured_rails))


def _reading_s(facts: _Facts) -> float:
    """Return how long a reading of all rails takes: each number waits for the end of a
    round of conversions.
    """
    return len(facts.rails) * _WAITS * facts.interval_s


def _refuse_rate(settings: Ina3221.Settings, facts: _Facts) -> None:
    most_hz = 1 / _reading_s(facts)
    if not settings.simulated and settings.poll_hz > most_hz:
        raise ConfigError(
            f"{settings.poll_hz}",
            path="monitor.ina3221.poll_hz",
            evidence=(
                f"voltage and current of {len(facts.rails)} rails take"
                f" {_reading_s(facts) * 1e3:.1f} ms: the chip updates them every"
                f" {facts.interval_s * 1e3:.1f} ms, and each reading waits for that"
            ),
            try_next=(
                f"{math.floor(most_hz)} or less; fewer rails; or 0 in the chip's file"
                " update_interval, as root"
            ),
        )


def _accuracy(settings: Ina3221.Settings, facts: _Facts) -> Accuracy:
    """Return limits of error of the power in W, as that of a current at 1 V."""
    if settings.calibration:
        return accuracy.load(Path(settings.calibration))
    steps_w = []
    offset_w = most_w = bus = 0.0
    for rail in facts.rails:
        voltage_v = max(rail.voltage_mv, 1) * 1e-3
        shunt_ohm = rail.shunt_uohm * 1e-6
        most_a = _SHUNT_MOST_V / shunt_ohm
        steps_w.append(voltage_v * _SHUNT_STEP_V / shunt_ohm)
        offset_w += voltage_v * _SHUNT_OFFSET_V / shunt_ohm
        most_w += voltage_v * most_a
        # Of the voltage a step and an offset are as large a part of the power.
        bus = max(bus, (_BUS_OFFSET_V + _BUS_STEP_V / 2) / voltage_v)
    gain = settings.gain_limit + 2 * _GAIN + bus + settings.sag
    defaults = Ina3221.Settings()
    basis = (
        "assumed"
        if settings.gain_limit == defaults.gain_limit
        else "from the bench file"
    )
    changes = "assumed" if settings.sag == defaults.sag else "from the bench file"
    return Accuracy(
        current=(Range(most_w / STAND_IN_V, gain, offset_w, lsb=math.hypot(*steps_w)),),
        voltage=(Range(STAND_IN_V, 0.0, 0.0),),
        clock_ppm=(
            abs(settings.simulator.clock_ppm) if settings.simulated else _CLOCK_PPM
        ),
        source=(
            f"shunts {settings.gain_limit:.2%}, {basis}; voltage and current are of two"
            f" conversions, between which the voltage changes by {settings.sag:.2%} at"
            f" most, {changes}; steps of 8 mV and of 40 uV over the shunt, offsets of"
            " 16 mV and 80 uV, gains of 0.25 %: Texas Instruments, SBOS576A; clock: the"
            " largest slew of NTP; voltage: 1 V by definition"
        ),
        verified=settings.simulated,
        edge_s=_reading_s(facts) + settings.longest_s / 4,
    )
