# SPDX-License-Identifier: Apache-2.0
"""One acquisition of the X-NUCLEO-LPM01A: its stream becomes a trace."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from drivers.st_lpm01a.settings import Lpm01aSettings
from drivers.st_lpm01a.shell import ANSWER_S, TRY, ShellClient
from drivers.st_lpm01a.stream import STAMP_SAMPLES
from drivers.st_lpm01a.stream_items import (
    AcquisitionEnd,
    Completed,
    Item,
    Lost,
    Parser,
    SampleBlock,
    StreamEdge,
    Suspect,
    Tail,
    TimeStamp,
    Trouble,
)
from drivers.stream_recording import CLOCK_SHARE, RecordingClock, StreamRecording
from rig.errors import BenchError, DeadlineError, RigError
from rig.interfaces.monitor import MonitorInfo
from rig.simulation.world import NS_PER_S
from rig.trace.trace import Gap

#: With a full buffer the board stops. Two digits are documented, so 100 may not be
#: printable.
_FULL_PERCENT = 99
_END_S = 10.0
_SILENCE_S = 3.0
_LINE_S = 1.0  # an acquisition that has ended says so in words within this
#: The time stamp that is waited for may be damaged; the one after it is not for the
#: same reason.
_STAMPS = 2
#: Limit that the board promises (UM2243). Above it the board goes on for a while, and
#: sends numbers.
MOST_A = 0.05
BEYOND = "beyond the measuring range"


@dataclass(frozen=True, slots=True)
class LpmRecordingContext:
    """The context of a recording: the scale from a value to amperes, the voltage (V),
    and the function that reads the supply back (it raises for a state other than
    commanded).
    """

    to_a: float
    voltage_v: float
    require_supply: Callable[[str], None]


class LpmRecording(StreamRecording):
    """One acquisition: a thread that takes the stream apart and appends it to the
    trace.

    Samples and edges count once a time stamp has confirmed their places. So a recording
    that is left in peace waits for the next one, 0.2 s at 5 kHz; one that is ended by
    an error does not, and ends with a gap. `load_percent` is the highest load of the
    board's buffer so far.
    """

    def __init__(
        self,
        shell: ShellClient,
        info: MonitorInfo,
        folder: Path,
        *,
        clock: RecordingClock,
        settings: Lpm01aSettings,
        context: LpmRecordingContext,
        parser: Parser,
    ) -> None:
        super().__init__(shell, info, folder, clock, settings)
        self._shell = shell
        self._parser = parser
        self._context = context
        self.load_percent = 0
        self._news = threading.Condition()
        self._wanted = math.inf
        self._confirmed = 0  # samples
        self._tail: Tail | None = None
        self._ended = self._completed = False

    def _begin(self) -> None:
        self._context.require_supply("before the recording")
        self._begun_ns = self._clock.now_ns()
        self._shell.command("start")
        self._thread.start()
        if not self._began.wait(ANSWER_S):
            raise DeadlineError(
                "data of the PowerShield after start", ANSWER_S, try_next=TRY
            )

    def _await_all(self) -> None:
        """Wait for a time stamp after all samples up to now; raise DeadlineError if
        none comes."""
        hz = self._info.sample_hz
        # The first sample was taken after the command: rather too many are wanted than
        # too few.
        self._wanted = math.ceil(self._passed_s() * (1 + CLOCK_SHARE) * hz)
        first = math.ceil(self._wanted / STAMP_SAMPLES) * STAMP_SAMPLES
        for stamp in range(first, first + _STAMPS * STAMP_SAMPLES, STAMP_SAMPLES):
            due_s = stamp / hz * (1 + CLOCK_SHARE)
            self._clock.wait(max(round((due_s - self._passed_s()) * NS_PER_S), 0))
            with self._news:
                if self._news.wait_for(
                    lambda: (
                        self._failure is not None or self._confirmed >= self._wanted
                    ),
                    _SILENCE_S,
                ):
                    return
        raise DeadlineError(
            "time stamp of the PowerShield behind the last sample",
            _STAMPS * _SILENCE_S,
            try_next=TRY,
        )

    def _passed_s(self) -> float:
        return (self._clock.now_ns() - self._begun_ns) / NS_PER_S

    @property
    def _complete(self) -> bool:
        # A board that had ended by itself acknowledges the command, too.
        return self._completed

    def _request_end(self) -> None:
        # The thread finds the lost port as well.
        with suppress(RigError):
            self._shell.write("stop")

    def _findings(self) -> dict[str, Any]:
        return {
            "buffer_load_most_percent": self.load_percent,
            "end_told": self._completed,
        }

    def _verify(self) -> None:
        """Read the supply back. The time at which it left the commanded state is
        unknown, so that the whole recording is a gap then."""
        if self._failure is not None or not self._started:
            return
        try:
            self._context.require_supply("after the recording")
        except RigError as error:
            self._failure = error
            self._writer.gap(
                Gap(0, self._writer.samples, f"{error.cause}: since when is not known")
            )

    def _record(self) -> None:
        self._follow()
        self._note_tail()

    def _fail(self, error: BaseException) -> None:
        with self._news:
            super()._fail(error)
            self._news.notify_all()

    def _follow(self) -> None:
        block = self._shell.take()
        heard_s = time.monotonic()
        stopped = False
        while not (
            self._completed or (self._ended and time.monotonic() - heard_s > _LINE_S)
        ):
            if block:
                self._began.set()
                heard_s = time.monotonic()
                self._append(self._parser.feed(block))
            elif self._stop.is_set() and not stopped:
                stopped = True
                heard_s = time.monotonic()
            self._require_data(time.monotonic() - heard_s, stopped)
            block = b"" if self._completed else self._shell.stream()

    def _require_data(self, silent_s: float, stopped: bool) -> None:
        if stopped and silent_s > _END_S:
            raise DeadlineError("end of the acquisition", _END_S, try_next=TRY)
        # The time of a simulated table may stand still, that of a bench does not.
        limit_s = _SILENCE_S + 5 / self._info.sample_hz
        if not stopped and not self._info.simulated and silent_s > limit_s:
            raise DeadlineError("data of the PowerShield", limit_s, try_next=TRY)

    def _append(self, items: Sequence[Item]) -> None:
        trouble: BenchError | None = None
        for item in items:
            written = self._put(item)
            trouble = trouble or written
        with self._news:
            self._news.notify_all()
        if trouble is not None:
            raise trouble

    def _put(self, item: Item) -> BenchError | None:
        """Append one item to the trace; return the board's report of an error."""
        match item:
            case SampleBlock(values):
                current_a = values * self._context.to_a
                current_a[current_a > MOST_A] = np.nan
                self._writer.analog(
                    current_a,
                    np.full(len(values), self._context.voltage_v),
                    unreadable=BEYOND,
                )
            case Lost(samples, cause):
                self._writer.skip(samples, cause)
            case Tail():
                self._tail = item
            case Suspect(start, stop, cause):
                self._writer.gap(Gap(start, stop, cause))
            case StreamEdge(at, _) if self._info.sync == "stamps":
                # Sample `at` is sent at the end of its period, and the event was
                # reported after the sample before it: it lies within.
                self._writer.stamp((at + 0.5) / self._info.sample_hz)
            case TimeStamp(_, load_percent):
                self._confirmed = self._writer.samples
                self.load_percent = max(self.load_percent, load_percent)
                if load_percent >= _FULL_PERCENT:
                    return BenchError(
                        "the PowerShield's buffer is full: this machine reads too"
                        " slowly",
                        evidence=f"a time stamp tells of a load of {load_percent} %",
                        try_next=(
                            "a lower sample_hz; end what else keeps this machine busy"
                        ),
                    )
            case Trouble(text):
                return BenchError(
                    f"the PowerShield reports: {text}",
                    try_next="look at the wiring and the current of the DUT",
                )
            case AcquisitionEnd() if not self._stop.is_set():
                measured_s = self._writer.samples / self._info.sample_hz
                return BenchError(
                    "the PowerShield ended the acquisition by itself",
                    evidence=f"after {measured_s:.3f} s",
                    try_next=(
                        "look at its display: overcurrent, a full buffer, or a button"
                    ),
                )
            case AcquisitionEnd():
                self._ended = True
            case Completed():
                self._completed = True
        return None

    def _note_tail(self) -> None:
        """Note what no time stamp has confirmed as lost, unless it was not wanted and
        the board says that all is well.
        """
        tail = self._tail
        self._tail = None
        if tail is None or (self._completed and self._confirmed >= self._wanted):
            return
        unsaid = (
            ", and the board did not say that the acquisition was complete"
            if self._ended and not self._completed
            else ""
        )
        self._writer.skip(tail.samples, tail.cause + unsaid)

    def _discard(self) -> None:
        """Keep the confirmed samples, then read the stream to its end."""
        with suppress(RigError, OSError):
            self._append(self._parser.finish())
            self._note_tail()
        super()._discard()
