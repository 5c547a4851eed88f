# SPDX-License-Identifier: Apache-2.0
"""Record the energies that sPyNNaker's model states for each run, as samples of mean
power."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

from drivers.host_counters.recording import (
    CounterClock,
    CounterRecording,
    NamedChannel,
    Polling,
)
from drivers.worker_lines import Lines
from rig.errors import BenchError, DeviceLost
from rig.files.plain_text import visible
from rig.simulation.world import NS_PER_S

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
