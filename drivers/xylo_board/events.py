# SPDX-License-Identifier: Apache-2.0
"""The power events of one channel of a Xylo board, as the worker that holds the board
writes them to a file (sut_backends/xylo/power_events.py says how).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final

from drivers.worker_lines import Lines
from drivers.xylo_board.clock_tie import ClockTie
from rig.errors import BenchError, DeviceLost
from rig.files.plain_text import visible

VERSION: Final = 1
CHANNELS: Final = ("io", "afe_core", "afe_ldo", "snn_core", "analog", "digital")


@dataclass(frozen=True, slots=True)
class EventHeader:
    """The first line: the form's version, the board's chip, its channels by number, how
    often it measures, the driver that holds it, and when that began.
    """

    xylo_power: int = 0
    chip: str = ""
    channels: Mapping[str, int] = field(default_factory=dict)
    hz: float = 0.0
    samna: str = ""
    simulated: bool = False
    stopwatch: bool = True
    started_ns: int = 0


@dataclass(frozen=True, slots=True)
class Events:
    """Events of one reading: its time, and (stamp in us or None, channel, W) of each
    event."""

    read_ns: int
    events: Sequence[tuple[int | None, int, float]]


@dataclass(frozen=True, slots=True)
class EventsEnded:
    """The last line: when and why."""

    ended_ns: int
    why: str


Line = EventHeader | Events | EventsEnded


def line_of(content: Mapping[str, Any]) -> Line:
    """Return a line; additional keys are ignored."""
    kinds: dict[str, type[Line]] = {"xylo_power": EventHeader, "ended_ns": EventsEnded}
    kind = next((kind for name, kind in kinds.items() if name in content), Events)
    known = {}
    for part in fields(kind):
        if part.name in content:
            known[part.name] = content[part.name]
    return kind(**known)


class ChannelEvents:
    """The events of one channel, each with its time by CLOCK_MONOTONIC."""

    def __init__(
        self, lines: Lines, channel: str, hz: float, limit_ppm: float, where: str
    ) -> None:
        self._lines, self._where = lines, where
        self._channel, self._hz, self._limit_ppm = channel, hz, limit_ppm
        self._number = -1
        self._waiting: list[tuple[int | None, int, float]] = []
        self.tie: ClockTie | None = None
        self.header: EventHeader | None = None
        self._stopwatch = True
        self.others = 0
        self.count = 0
        self.alive_ns = 0

    def new(self) -> list[tuple[int, float]]:
        """Return (time in ns, W) of the events that have come since, from where the
        clocks are tied; raises BenchError.
        """
        for line in self._lines.new():
            match line_of(line):
                case EventHeader() as header:
                    self._begin(header)
                case EventsEnded(why=why) if why != "closed":
                    raise DeviceLost(
                        "the board's power events have ended",
                        evidence=visible(str(why))[:300],
                        try_next=(
                            "is the board still plugged in? the worker's log says more"
                        ),
                    )
                case Events() as events if self.tie is not None:
                    self._take(events, self.tie)
        if self.tie is None or not self.tie.settled:
            return []
        tied = [
            (self.tie.host_ns(stamp_ns, read_ns), watts)
            for stamp_ns, read_ns, watts in self._waiting
        ]
        self._waiting = []
        return tied

    def _begin(self, header: EventHeader) -> None:
        channels = header.channels
        if header.xylo_power != VERSION or not isinstance(channels, dict):
            raise BenchError(
                f"power events of another form: {visible(str(header.xylo_power))[:40]}",
                evidence=f"wanted {VERSION}, in {self._where}",
                try_next="worker and driver are of different versions of the rig",
            )
        if self._channel not in channels:
            raise BenchError(
                f"the board has no channel {self._channel}",
                evidence=f"{visible(str(header.chip))[:40]} has {', '.join(channels)}",
                try_next=(
                    f"channel = one of {', '.join(channels)}; or sut.xylo.chip, if the"
                    " other board is meant"
                ),
            )
        if header.hz != self._hz:
            raise BenchError(
                f"the board measures {header.hz} times a second, not {self._hz:g}",
                evidence=self._where,
                try_next="power_hz of [sut.xylo] and of each rail are to be the same",
            )
        self.header = header
        self._number = int(channels[self._channel])
        self._waiting = []
        self.tie = ClockTie(int(header.started_ns), self._limit_ppm)
        self._stopwatch = header.stopwatch

    def _take(self, line: Events, tie: ClockTie) -> None:
        read_ns = int(line.read_ns)
        self.alive_ns = read_ns
        for stamp_us, channel, watts in line.events:
            if channel != self._number:
                self.others += 1
                continue
            stamp_ns = None
            if stamp_us is not None and self._stopwatch:
                stamp_ns = 1000 * int(stamp_us)
            tie.hear(stamp_ns, read_ns)
            self.count += 1
            self._waiting.append((stamp_ns, read_ns, float(watts)))
