# SPDX-License-Identifier: Apache-2.0
"""The ADC on a Xylo board: a sensor of the board's own for each of its supplies, read
by the worker that runs the network on the chip.

It sees no SYNC line: windows are cut by the host's clock. The rule under which that is
accepted is docs/decisions/2026-11-23-monitors-without-edges.md. Never run on hardware.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from annotated_types import Ge, Gt, Interval, Unit, doc

from drivers.host_counters.driver import CounterDriver
from drivers.host_counters.recording import (
    STAND_IN_V,
    CounterClock,
    HostClock,
    Polling,
)
from drivers.worker_lines import EventsFile, Lines
from drivers.xylo_board.clock_tie import SETTLE_S
from drivers.xylo_board.events import CHANNELS, ChannelEvents
from drivers.xylo_board.recording import XyloRecording
from drivers.xylo_board.sim.board import BoardSimulator
from rig.errors import BenchError, ConfigError
from rig.files.plain_text import visible
from rig.files.user_folders import meeting_file
from rig.interfaces.context import BenchContext
from rig.interfaces.monitor import MonitorInfo
from rig.settings.declare import PathText, Ratio, Why
from rig.uncertainty import accuracy
from rig.uncertainty.accuracy import Accuracy, Range

SIMULATOR: Final = "simulator"
_NAMED_BY: Final = "monitor.xylo_board.events and sut.xylo.power_events"
#: Limit of USB, which feeds the board.
_MOST_W = 100.0
_GAP_PERIODS = 3.5


class XyloBoard(CounterDriver):
    """One supply of a Xylo board, by the board's own ADC."""

    kind = "xylo_board"
    tested = "on a simulated board only, never on hardware"

    @dataclass(frozen=True, slots=True)
    class Settings:
        """The supply, where its events come from, and how far they can be off."""

        channel: Annotated[
            Literal["", "io", "afe_core", "afe_ldo", "snn_core", "analog", "digital"],
            doc(
                "Supply: io, afe_core, afe_ldo, snn_core of Audio 2; io, analog,"
                " digital of 3."
            ),
        ] = ""
        events: Annotated[
            PathText,
            doc('File that the worker writes, empty: the usual one; or "simulator".'),
        ] = ""
        power_hz: Annotated[
            int,
            Interval(ge=1, le=1000),
            Unit("Hz"),
            doc("Measurements a second; as the SUT's."),
        ] = 100
        gain_limit: Annotated[
            Ratio,
            Interval(ge=0, lt=1),
            Why("no document states the error of this ADC"),
            doc("Relative limit of error that you claim for the ADC."),
        ] = 0.0
        offset_w: Annotated[
            float, Ge(0), Unit("W"), doc("Limit of error at no power.")
        ] = 0.0
        calibration: Annotated[
            PathText, doc("File of limits of error, in place of `gain_limit`.")
        ] = ""
        shift_limit_s: Annotated[
            float,
            Interval(gt=0, le=1),
            Unit("s"),
            doc("Limit of the shift between the host's clock and the events' times."),
        ] = 0.02
        clock_limit_ppm: Annotated[
            float,
            Gt(0),
            Unit("ppm"),
            doc("Limit of the stopwatch's rate against the host's."),
        ] = 100.0
        simulated: Annotated[bool, doc("The worker's board is a simulated one.")] = (
            False
        )
        simulator: Annotated[BoardSimulator.Settings, doc("The simulated board.")] = (
            field(default_factory=BoardSimulator.Settings)
        )

    def __init__(self, settings: Settings, simulator: BoardSimulator | None) -> None:
        self._settings = settings
        self.simulator = simulator
        self._accuracy = _accuracy(settings)
        path = Path(settings.events) if settings.events else meeting_file("xylo-power")
        self._lines: Lines = simulator if simulator else EventsFile(path, _NAMED_BY)
        self._clock: CounterClock = simulator.counter if simulator else HostClock()
        where = "the simulator" if simulator else str(path)
        self._events = ChannelEvents(
            self._lines,
            settings.channel,
            settings.power_hz,
            settings.clock_limit_ppm,
            where,
        )
        self._details: dict[str, Any] = {}

    @staticmethod
    def restated(settings: Settings, info: MonitorInfo) -> MonitorInfo:
        """Return rates and limits of error as the settings have them."""
        limits = info.accuracy if settings.calibration else _accuracy(settings)
        rate_hz = settings.power_hz
        return replace(info, sample_hz=rate_hz, edge_hz=rate_hz, accuracy=limits)

    @classmethod
    def rate_hz(cls, settings: Settings) -> int:
        """Return the rate of the ADC."""
        return settings.power_hz

    @classmethod
    def simulates(cls, settings: Settings) -> bool:
        """Check whether the bench file names the simulator, or a worker's simulated
        board."""
        return settings.simulated or settings.events == SIMULATOR

    @classmethod
    def open(cls, settings: Settings, context: BenchContext) -> Self:
        """Do not search yet: the worker opens the board, after the monitors."""
        if not settings.channel:
            raise ConfigError(
                "which supply of the board?",
                path="monitor.xylo_board.channel",
                try_next=(
                    f"one of {', '.join(CHANNELS)}; several as rails:"
                    ' [rail.core.xylo_board] channel = "snn_core"'
                ),
            )
        simulated = settings.events == SIMULATOR
        if not simulated:
            return cls(settings, None)
        context.world.supply_on = True
        return cls(
            settings,
            BoardSimulator(
                settings.simulator, settings.channel, settings.power_hz, context.world
            ),
        )

    @property
    def info(self) -> MonitorInfo:
        """Description of the sensor, and of the board once the clocks are attached."""
        channel = self._settings.channel
        info = self._described(
            f"Xylo board's ADC, {channel}",
            {
                "channel": channel,
                "clock": (
                    "the board's stopwatch, tied to CLOCK_MONOTONIC by what cannot be"
                    " earlier or later; the trace holds start_monotonic_ns"
                ),
                "sensor": (
                    "one value a period, momentary or a mean of it: not documented;"
                    " held since the one before"
                ),
            },
        )
        return replace(info, details=info.details | self._details)

    def record(self, folder: Path) -> XyloRecording:
        """Record into `folder`."""
        settings = self._settings
        period_s = 1 / settings.power_hz
        tie = self._events.tie
        start_s = (0 if tie is not None and tie.settled else SETTLE_S) + 12 * period_s
        lag_s = 2 * period_s + 2 * settings.shift_limit_s
        polling = Polling(
            settings.power_hz,
            _GAP_PERIODS * period_s,
            spread_s=1.0,
            start_s=start_s,
            lag_s=lag_s,
        )
        names = (f"Xylo board, {settings.channel}", "")
        return XyloRecording(
            events=self._events,
            clock=self._clock,
            polling=polling,
            folder=folder,
            names=names,
            about=self._about,
            shift_limit_s=settings.shift_limit_s,
            tied=self._tie,
        )

    def close(self) -> None:
        """Release no resource: the worker holds the board."""

    def _tie(self) -> None:
        """Keep the worker's report of the board, and the accuracy of the clocks'
        attachment."""
        tie, header = self._events.tie, self._events.header
        if tie is None or header is None:
            return
        if header.simulated and not self.simulates(self._settings):
            raise BenchError(
                "the worker's board is a simulated one, and the bench file does not"
                " say so",
                evidence=f"samna {visible(str(header.samna))[:40]}",
                try_next=(
                    "simulated = true in the table of each rail, so that results say so"
                ),
            )
        samna = visible(str(header.samna))[:40]
        tied_within_s = tie.half_width_ns / 1e9 if tie.stamped else None
        self._details = {
            "samna": samna,
            "tied_within_s": tied_within_s,
            "times": (
                "of the stopwatch"
                if tie.stamped
                else (
                    "of reading: the events have no stamps; that delivery takes no"
                    " longer than shift_limit_s is assumed"
                )
            ),
        }


def _accuracy(settings: XyloBoard.Settings) -> Accuracy:
    edge_s = settings.shift_limit_s + 1 / settings.power_hz
    if settings.calibration:
        # A calibration of the ADC does not cover the ends of windows.
        stated = accuracy.load(Path(settings.calibration))
        return replace(stated, edge_s=max(stated.edge_s, edge_s))
    simulated = settings.events == SIMULATOR
    if not settings.gain_limit and not simulated:
        raise ConfigError(
            "how far this ADC may be off is not known",
            path="monitor.xylo_board.gain_limit",
            evidence=(
                "SynSense states no limit of error of the board's power measurement"
            ),
            try_next=(
                "gain_limit = 0.1 where you claim 10 % (say why), or calibration = FILE"
                " from a comparison with a power meter"
            ),
        )
    gain = settings.gain_limit or abs(settings.simulator.gain)
    claim = "the simulator's own error" if simulated else "the limit in the bench file"
    return Accuracy(
        current=(Range(_MOST_W / STAND_IN_V, gain, settings.offset_w / STAND_IN_V),),
        voltage=(Range(STAND_IN_V, 0.0, 0.0),),
        clock_ppm=settings.clock_limit_ppm,
        source=(
            f"gain: {claim} (the maker states none); ends of windows: shift_limit_s and"
            " a period; clock: clock_limit_ppm, assumed; voltage: 1 V by definition"
        ),
        verified=simulated,
        edge_s=edge_s,
    )
