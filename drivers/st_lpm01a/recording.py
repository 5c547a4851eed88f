# SPDX-License-Identifier: Apache-2.0
"""One acquisition of the X-NUCLEO-LPM01A: its stream becomes a trace."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from drivers.st_lpm01a.shell import ANSWER_S, TRY, Shell
from drivers.st_lpm01a.stream import Completed, Edge, End, Item, Lost, Parser, Samples, Stamp, Suspect, Trouble
from rig.errors import BenchError, DeadlineError, RigError
from rig.monitor import MonitorInfo
from rig.recorder import TraceWriter
from rig.trace import Gap, storage_error
from rig.virtual import NS_PER_S

#: With a full buffer the board stops. Two digits are documented, so 100 may not be printable.
_FULL_PERCENT = 99
_END_S, _SILENCE_S = 10.0, 3.0
_LINE_S = 1.0  # an acquisition that has ended says so in words within this
#: What the clocks of board and host may differ.
_CLOCK_SHARE = 1e-3


@dataclass(frozen=True, slots=True)
class How:
    """What a recording needs to know: what makes A of a value, the voltage (V), how to wait (ns) and how long (s) before anything
    else happens, the present time (ns) and by how much (s) it may lag what the board does, and the settings for whoever reads the
    trace."""

    to_a: float
    voltage_v: float
    wait: Callable[[int], None]
    start_s: float
    now_ns: Callable[[], int]
    late_s: float
    settings: dict[str, Any]


class LpmRecording:
    """One acquisition: a thread that takes the stream apart and appends it to the trace.

    `load_percent` is the highest load of the board's buffer so far.
    """

    def __init__(self, shell: Shell, info: MonitorInfo, parser: Parser, folder: Path, how: How) -> None:
        self._shell, self._info, self._parser, self._folder, self._how = shell, info, parser, folder, how
        self.load_percent = 0
        self._began, self._stop = threading.Event(), threading.Event()
        self._begun_ns: int | None = None
        self._stopped_ns = 0
        self._ended = self._completed = False
        self._failure: BaseException | None = None
        self._writer: TraceWriter | None = None
        self._thread = threading.Thread(target=self._work, name="LPM01A")

    def __enter__(self) -> LpmRecording:
        info = self._info
        self._writer = TraceWriter(
            self._folder,
            sample_hz=info.sample_hz,
            edge_hz=info.edge_hz,
            source=info.name,
            serial=info.serial,
            sync_kind=info.sync,
            about={"monitor": info.kind, "simulated": info.simulated, "details": info.details, "settings": self._how.settings},
        )
        try:
            self._shell.command("start")
            self._thread.start()
            if not self._began.wait(ANSWER_S):
                raise DeadlineError("data of the PowerShield after start", ANSWER_S, try_next=TRY)
            self._begun_ns = self._how.now_ns()
            self._how.wait(round(self._how.start_s * NS_PER_S))
            self.check()
        except BaseException:
            self.end()
            raise
        return self

    @property
    def running(self) -> bool:
        """Say whether the trace is still open."""
        return self._writer is not None

    def check(self) -> None:
        """Raise what went wrong in the recording so far."""
        if self._failure is not None:
            raise self._failure

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.end()
        if kind is None:
            self.check()

    def end(self) -> None:
        """Stop the acquisition, take what the board still has, and close the trace; ending twice is allowed."""
        if self._writer is None:
            return
        try:
            self._stopped_ns = self._how.now_ns()
            self._stop.set()
            if self._thread.ident is not None:
                # A port that is gone is what the thread finds, too.
                with suppress(RigError):
                    self._shell.write("stop")
                self._thread.join()
            if not self._completed:
                self._take_back()
        finally:
            writer, self._writer = self._writer, None
            writer.close()

    def _take_back(self) -> None:
        try:
            self._shell.drain()
        except RigError as error:
            self._failure = self._failure or error

    def _work(self) -> None:
        assert self._writer is not None
        writer = self._writer
        try:
            self._follow(writer)
        except OSError as error:
            self._failure = storage_error(error, self._folder)
        except BaseException as error:
            self._failure = error
        self._began.set()
        if self._failure is not None:
            self._give_up(writer)

    def _follow(self, writer: TraceWriter) -> None:
        block, heard_s = self._shell.take(), time.monotonic()
        stopped = False
        while not (self._completed or (self._ended and time.monotonic() - heard_s > _LINE_S)):
            if block:
                self._began.set()
                heard_s = time.monotonic()
                self._append(writer, self._parser.feed(block))
            elif self._stop.is_set() and not stopped:
                stopped, heard_s = True, time.monotonic()
            self._require_data(time.monotonic() - heard_s, stopped)
            block = b"" if self._completed else self._shell.stream()

    def _require_data(self, silent_s: float, stopped: bool) -> None:
        if stopped and silent_s > _END_S:
            raise DeadlineError("end of the acquisition", _END_S, try_next=TRY)
        # The time of a simulated table may stand still, that of a bench does not.
        limit_s = _SILENCE_S + 5 / self._info.sample_hz
        if not stopped and not self._info.simulated and silent_s > limit_s:
            raise DeadlineError("data of the PowerShield", limit_s, try_next=TRY)

    def _append(self, writer: TraceWriter, items: Sequence[Item]) -> None:
        trouble: BenchError | None = None
        for item in items:
            found = self._put(writer, item)
            trouble = trouble or found
        if trouble is not None:
            raise trouble

    def _put(self, writer: TraceWriter, item: Item) -> BenchError | None:
        """Append one item to the trace; return what the board has to say against itself."""
        match item:
            case Samples(values):
                writer.analog(values * self._how.to_a, np.full(len(values), self._how.voltage_v))
            case Lost(samples, cause):
                writer.skip(samples, cause)
            case Suspect(start, stop, cause) if self._info.sync == "stamps":
                writer.gap(Gap(start, stop, cause))
            case Edge(at, _) if self._info.sync == "stamps":
                # Sample `at` is sent at the end of its period, and the event was told after the sample before it: it lies within.
                writer.stamp((at + 0.5) / self._info.sample_hz)
            case Stamp(_, load_percent):
                self.load_percent = max(self.load_percent, load_percent)
                if load_percent >= _FULL_PERCENT:
                    return BenchError(
                        "the PowerShield's buffer is full: this machine reads too slowly",
                        evidence=f"a time stamp tells of a load of {load_percent} %",
                        try_next="a lower sample_hz; end what else keeps this machine busy",
                    )
            case Trouble(text):
                return BenchError(f"the PowerShield reports: {text}", try_next="look at the wiring and the current of the DUT")
            case End() if not self._stop.is_set() or self._short(writer):
                return BenchError(
                    "the PowerShield ended the acquisition by itself",
                    evidence=f"after {writer.samples / self._info.sample_hz:.3f} s",
                    try_next="look at its display: overcurrent, a full buffer, or a button",
                )
            case End():
                self._ended = True
            case Completed():
                self._completed = True
        return None

    def _short(self, writer: TraceWriter) -> bool:
        """Say whether less has come than was sampled until the stop: then the acquisition had ended before."""
        due_s = 0.0 if self._begun_ns is None else (self._stopped_ns - self._begun_ns) / NS_PER_S
        period_s = 1 / self._info.sample_hz
        return writer.samples * period_s < due_s * (1 - _CLOCK_SHARE) - self._how.late_s - 2 * period_s

    def _give_up(self, writer: TraceWriter) -> None:
        """Keep what is certain, then let the stream pass until the end: a board that finds no reader would stop the table."""
        if isinstance(self._failure, BenchError):
            with suppress(RigError, OSError):
                self._append(writer, self._parser.finish())
        with suppress(RigError):
            while not self._stop.is_set():
                self._shell.stream()
