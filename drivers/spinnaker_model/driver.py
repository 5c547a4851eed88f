# SPDX-License-Identifier: Apache-2.0
"""sPyNNaker's energy report as a monitor: the energy that its model states for each
run, which the worker of `[sut.spinnaker]` writes down. Modelled, never measured.

It is the energy that a meter in the machine's supply would show, by that model: an idle
machine's power, and for each run the energy of its execution instead. Where in a run
the execution lies is not reported, so a run's energy is spread evenly over the time
that it took by the host's clock.

Record the energies that sPyNNaker's model states for each run, as samples of mean
power.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, Final, Self

from annotated_types import Interval, Unit, doc

from drivers.host_counters.driver import CounterDriver
from drivers.host_counters.recording import (
    STAND_IN_V,
    CounterClock,
    CounterRecording,
    HostClock,
    NamedChannel,
    Polling,
)
from drivers.worker_lines import EventsFile, Lines
from rig.errors import BenchError, ConfigError, DeviceLost
from rig.files.plain_text import visible
from rig.files.user_folders import meeting_file
from rig.interfaces.context import BenchContext
from rig.interfaces.monitor import MonitorInfo
from rig.model.origin import Origin
from rig.settings.declare import PathText, Ratio, Why
from rig.simulation.world import NS_PER_S
from rig.uncertainty.accuracy import Accuracy, Range

_NAMED_BY: Final = "monitor.spinnaker_model.reports and sut.spinnaker.energy_reports"
#: More than the largest machine of one million cores draws.
_MOST_W = 1e6
#: The largest rate at which NTP slews a clock of Linux.
_CLOCK_PPM = 500.0


class SpinnakerModel(CounterDriver):
    """The energy that sPyNNaker's model states for each run."""

    kind = "spinnaker_model"
    tested = "on a stand-in for sPyNNaker only, never with a machine"

    @dataclass(frozen=True, slots=True)
    class Settings:
        """File of the reports, and the limit of the model's error."""

        reports: Annotated[
            PathText, doc("File that the worker writes; empty: the usual one.")
        ] = ""
        sample_hz: Annotated[
            int,
            Interval(ge=10, le=10_000),
            Unit("Hz"),
            doc("Samples a second of the trace."),
        ] = 1000
        gain_limit: Annotated[
            Ratio,
            Interval(ge=0, lt=1),
            Why("sPyNNaker states no error of its model"),
            doc("Relative limit of error that you claim for the model."),
        ] = 0.0

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._accuracy = _accuracy(settings)
        path = (
            Path(settings.reports)
            if settings.reports
            else meeting_file("spinnaker-energy")
        )
        self._reports = Reports(
            EventsFile(path, _NAMED_BY), str(path), time.monotonic_ns()
        )

    @staticmethod
    def restated(settings: Settings, info: MonitorInfo) -> MonitorInfo:
        """Return rates and limits of error as the settings have them."""
        rate_hz = settings.sample_hz
        return replace(
            info, sample_hz=rate_hz, edge_hz=rate_hz, accuracy=_accuracy(settings)
        )

    @classmethod
    def rate_hz(cls, settings: Settings) -> int:
        """Return the rate of the trace."""
        return settings.sample_hz

    @classmethod
    def simulates(cls, settings: Settings) -> bool:
        """Return False: the runs are those of a machine."""
        return False

    @classmethod
    def origin(cls, settings: Settings) -> Origin:
        """Return that its energies are a model's."""
        return Origin.MODELLED

    @classmethod
    def open(cls, settings: Settings, context: BenchContext) -> Self:
        """Look for no report yet: the worker starts after the monitors. Raises
        ConfigError."""
        return cls(settings)

    @property
    def info(self) -> MonitorInfo:
        """Description of the model."""
        return self._described(
            "sPyNNaker's energy model",
            {
                "model": (
                    "constants times counted time: compute_energy_used of sPyNNaker"
                ),
                "energy": (
                    "exec_energy_j of each run, over exec_time_s; an idle machine's"
                    " power in all other time, mapping and loading included"
                ),
                "clock": "CLOCK_MONOTONIC; the trace holds start_monotonic_ns",
            },
        )

    def record(self, folder: Path) -> ModelRecording:
        """Record into `folder`."""
        polling = Polling(
            self._settings.sample_hz, float("inf"), spread_s=1.0, start_s=0.3, lag_s=0.3
        )
        return ModelRecording(self._reports, HostClock(), polling, folder, self._about)

    def close(self) -> None:
        """Leave the worker's file; closing twice is allowed."""


def _accuracy(settings: SpinnakerModel.Settings) -> Accuracy:
    if not settings.gain_limit:
        raise ConfigError(
            "how far this model may be off is not known",
            path="monitor.spinnaker_model.gain_limit",
            evidence="sPyNNaker states no limit of error of its energy model",
            try_next=(
                "gain_limit = 0.3 where you claim 30 % (say why); the measured way is a"
                " meter in the machine's supply"
            ),
        )
    return Accuracy(
        current=(Range(_MOST_W / STAND_IN_V, settings.gain_limit, 0.0),),
        voltage=(Range(STAND_IN_V, 0.0, 0.0),),
        clock_ppm=_CLOCK_PPM,
        source=(
            "gain: the limit in the bench file (sPyNNaker states none); ends of"
            " windows: a sample; clock: the largest slew of NTP; voltage: 1 V by"
            " definition"
        ),
        verified=False,
        edge_s=1 / settings.sample_hz,
    )


VERSION: Final = 1
#: A line is read this long after its time at the latest: it is written at once.
_WRITTEN_NS = NS_PER_S // 10
_CHANNEL = "sPyNNaker's energy model"


@dataclass(frozen=True, slots=True)
class ReportHeader:
    """The first line: the form's version, when the worker began, and an idle machine's
    power."""

    spinnaker_model: int
    opened_ns: int
    idle_w: float


@dataclass(frozen=True, slots=True)
class Began:
    """A run began."""

    began_ns: int

    @property
    def time_ns(self) -> int:
        """When."""
        return self.began_ns


@dataclass(frozen=True, slots=True)
class RunEnded:
    """A run ended; of its time the machine executed `exec_time_s`, with `exec_energy_j`
    by the model. Both are 0 where it failed.
    """

    ended_ns: int
    exec_time_s: float
    exec_energy_j: float

    @property
    def time_ns(self) -> int:
        """When."""
        return self.ended_ns


@dataclass(frozen=True, slots=True)
class Failed:
    """A run failed, and has no report."""

    failed_ns: int


@dataclass(frozen=True, slots=True)
class Closed:
    """The worker has closed its file."""

    closed_ns: int


Line = ReportHeader | Began | RunEnded | Failed | Closed
_KINDS: Final[dict[str, type[Line]]] = {
    "spinnaker_model": ReportHeader,
    "began_ns": Began,
    "ended_ns": RunEnded,
    "failed_ns": Failed,
    "closed_ns": Closed,
}


def line_of(content: Mapping[str, Any]) -> Line:
    """Return a line; additional keys are ignored. Raises ValueError for another one."""
    for name, kind in _KINDS.items():
        if name in content:
            names = [part.name for part in fields(kind)]
            values: list[Any] = [content.get(each) for each in names]
            if not all(isinstance(value, int | float) for value in values):
                raise ValueError(f"{', '.join(names)} are numbers")
            return kind(*values)
    raise ValueError("another line")


class Reports:
    """The worker's lines, read as beginnings and ends of runs; those of a worker that
    began before `since_ns` are another session's.
    """

    def __init__(self, lines: Lines, where: str, since_ns: int) -> None:
        self._lines = lines
        self._since_ns = since_ns
        self.where = where
        self.worker_there = False
        self.idle_w = 0.0

    def new(self) -> Iterator[Began | RunEnded]:
        """Yield those that have come since; raises BenchError for a file of another
        form."""
        for content in self._lines.new():
            try:
                line = line_of(content)
            except ValueError as error:
                raise self._foreign(content) from error
            match line:
                case ReportHeader(spinnaker_model=version) if version != VERSION:
                    raise self._foreign(content)
                case ReportHeader():
                    self.worker_there = line.opened_ns >= self._since_ns
                    self.idle_w = line.idle_w
                case Closed():
                    self.worker_there = False
                case Failed(failed_ns=failed_ns):
                    yield RunEnded(failed_ns, 0.0, 0.0)
                case Began() | RunEnded():
                    yield line

    def _foreign(self, content: Mapping[str, Any]) -> BenchError:
        return BenchError(
            "an energy report cannot be read",
            evidence=f"{self.where}: {visible(str(content))[:100]}",
            try_next="worker and driver are of different versions of the rig",
        )


class ModelRecording(CounterRecording):
    """One recording: a thread that takes the reports as they come. The energy of a run
    flows evenly from its beginning to its end; time that a run may still claim is not
    yet written.
    """

    def __init__(
        self,
        reports: Reports,
        clock: CounterClock,
        polling: Polling,
        folder: Path,
        about: dict[str, Any],
    ) -> None:
        super().__init__(
            counter=NamedChannel(_CHANNEL),
            clock=clock,
            polling=polling,
            folder=folder,
            source=_CHANNEL,
            serial="",
            about=about,
        )
        self._reports = reports
        self._running = False
        self._at_ns = 0

    def _poll(self) -> None:
        settled_ns = self._clock.read_ns() - _WRITTEN_NS
        for report in self._reports.new():
            if self._writer is not None:
                self._take(report)
            self._running = isinstance(report, Began)
        if not self._reports.worker_there:
            raise _no_worker(self._reports.where)
        if not self._running:
            self._write_until(settled_ns)

    def _take(self, report: Began | RunEnded) -> None:
        if isinstance(report, RunEnded):
            idle_s = -min(report.exec_time_s, (report.time_ns - self._at_ns) / NS_PER_S)
            self._energy_j += report.exec_energy_j + self._reports.idle_w * idle_s
        self._write_until(report.time_ns)

    def _write_until(self, time_ns: int) -> None:
        if time_ns <= self._at_ns:
            return
        if self._writer is not None:
            self._energy_j += self._reports.idle_w * (time_ns - self._at_ns) / NS_PER_S
        self._at_ns = time_ns
        self._put(time_ns)


def _no_worker(where: str) -> DeviceLost:
    return DeviceLost(
        "no worker writes energy reports",
        evidence=f"none since the monitor was opened, in {where}",
        try_next=(
            "[sut.spinnaker] with generation = 1, and sut.spinnaker.energy_reports and "
            "monitor.spinnaker_model.reports naming one file"
        ),
    )
