# SPDX-License-Identifier: Apache-2.0
"""A run of the engine in a thread of its own, with all that the window shows of it; no
Qt.

Its memory is bounded: the newest seconds of each rail, the newest lines of the console,
one row for each trial. Events do not queue up: they change the record, and one message
says that it has changed, until `seen` is called.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gui.engine_thread import EngineThread
from gui.run.console_log import ConsoleLog
from gui.run.frame import LiveFrame, newest
from gui.run.phases import PhaseTrack
from gui.run.record import RunRecord
from rig.bench import config
from rig.bench.console import console
from rig.interfaces.context import Wire
from rig.live.block import LiveBlock
from rig.live.recent import Recent
from rig.session import session
from rig.store.events import Event, StepDone, TrialResumed, TrialStarted
from rig.store.session_folder import BENCH, refuse_unwritable

#: So much of each rail can be looked back at.
KEPT_S = 60.0


@dataclass(frozen=True, slots=True)
class FlightChanged:
    """There is something new to see of a flight."""

    flight: Flight


@dataclass(frozen=True, slots=True)
class FlightEnded:
    """A flight is over: the supply is off, every port closed."""

    flight: Flight


class Flight(EngineThread):
    """One run or resumption of a session; `post` is called from other threads, with
    FlightChanged and FlightEnded."""

    def __init__(self, post: Callable[[FlightChanged | FlightEnded], None]) -> None:
        super().__init__("rig-engine")
        self.record = RunRecord(time.monotonic)
        self.recent = Recent(KEPT_S)
        self.phases = PhaseTrack()
        self.console = ConsoleLog(time.monotonic)
        self._post = post
        self._told = threading.Event()
        self._lost: Counter[str] = Counter()
        self._first_rail: str | None = None

    def run(
        self, bench: Path, overrides: Sequence[str], trials: int | None, root: Path
    ) -> None:
        """Begin a new session."""

        def work() -> None:
            refuse_unwritable(root)
            with session.open_bench(
                bench,
                overrides,
                (self._take,),
                self._stop,
                observers=(self._see,),
                listeners=(self._console(bench, overrides),),
            ) as opened:
                opened.run(trials, root)

        self._begin(work, self._ended)

    def resume(self, folder: Path) -> None:
        """Go on with a session that was cut off."""

        def work() -> None:
            observers = (self._see,)
            listeners = (self._console(folder / BENCH, ()),)
            session.resume(
                folder,
                (self._take,),
                self._stop,
                observers=observers,
                listeners=listeners,
            )

        self._begin(work, self._ended)

    def stop(self) -> None:
        """Ask for the end; the session is kept, and can be resumed."""
        self.record.stopping()
        super().stop()
        self._tell()

    def seen(self) -> None:
        """Note that the record was read: the next change posts a message again."""
        self._told.clear()

    @property
    def lost(self) -> int:
        """Number of samples lost so far, of all rails."""
        return sum(self._lost.values())

    def frame(self, rail: str, span_s: float, columns: int) -> LiveFrame | None:
        """Return the newest seconds of a rail; None before its first samples."""
        return newest(
            self.recent,
            span_s,
            columns,
            rail=rail,
            is_alive=self.alive,
            strip=self.phases.strip(),
            lost=self.lost,
        )

    def _console(self, bench: Path, overrides: Sequence[str]) -> Wire:
        """Return what hears the line to the device, as the device's kind puts it in
        words."""
        kind = config.load(bench, overrides).sut.kind
        return console(kind, self.console.add)

    def _ended(self, error: BaseException | None) -> None:
        self.record.ended(error)
        self._post(FlightEnded(self))

    def _take(self, event: Event) -> None:
        self.record.take(event)
        match event:
            case TrialStarted(recorded=False) | TrialResumed():
                self.phases.begin(self.record.phases)
            case StepDone():
                self.phases.done(event.done.completion)
            case _:
                pass
        self._tell()

    def _see(self, block: LiveBlock) -> None:
        self.recent.add(block)
        if block.lost:
            self._lost[block.rail] += block.lost
        if self._first_rail is None:
            self._first_rail = block.rail
        if block.rail == self._first_rail:
            self.phases.saw(block.falls_s.tolist(), block.trace)

    def _tell(self) -> None:
        if not self._told.is_set():
            self._told.set()
            self._post(FlightChanged(self))
