# SPDX-License-Identifier: Apache-2.0
"""A process that runs one cell: its session in a folder of sessions, by the ordinary
runner.

It reads its order as a line, and tells of the session in lines of JSON. When its input
is closed, also because the process that started it was killed, it stops as at Ctrl-C:
the supply goes off, and the session can go on later.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from rig.api.backends import runs
from rig.api.backends.rows import Failure
from rig.api.backends.runs import Planned
from rig.errors import RigError
from rig.files import typed
from rig.host.python_child import READY, PythonChild
from rig.host.second_signal import stopped_by_signals
from rig.host.stop import Stop
from rig.live.running import RunningSession
from rig.store.events import Event, SessionResumed, SessionStarted, StepBegun

#: Time for a session to end when asked: the step at hand, and the traces.
_LEAVE_S = 60.0
#: Shares of a session are reported in steps of this.
_STEP = 0.01


@dataclass(frozen=True, slots=True)
class CellOrder:
    """The order of a cell: its name, the text of its bench, its trials, the folder of
    sessions, and the facts that its task has now.
    """

    name: str
    text: str
    trials: int
    root: str
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CellNews:
    """News of a cell: the folder of its session, which share of it is done, and at last
    how it ended. `stopped` where it was asked to.
    """

    session: str = ""
    share: float = 0.0
    ended: bool = False
    stopped: bool = False
    notes: tuple[str, ...] = ()
    failure: Failure | None = None


class CellRun:
    """A running cell; `stop` may be called from any thread."""

    def __init__(self, order: CellOrder) -> None:
        first = json.dumps(typed.to_json(order)) + "\n"
        what = f"the process of {order.name}"
        self._child = PythonChild(__name__, (), what, first=first)

    def news(self) -> Iterator[CellNews]:
        """Yield the news of the cell, at last how it ended; a process that ends
        without is a failure.
        """
        assert self._child.process.stdout is not None
        try:
            for line in self._child.process.stdout:
                message = typed.from_json(CellNews, json.loads(line), "a cell's news")
                yield message
                if message.ended:
                    return
            error = self._child.ended()
            failure = Failure("its process closed its output")
            if error is not None:
                failure = Failure.of(error)
            yield CellNews(ended=True, failure=failure)
        finally:
            self._child.close(_LEAVE_S)

    def stop(self) -> None:
        """Ask for the end; returns at once."""
        with suppress(OSError):
            assert self._child.process.stdin is not None
            self._child.process.stdin.close()

    def kill(self) -> None:
        """End it at once; a process of its own then switches a supply off."""
        self._child.process.kill()


class _Teller:
    """A subscriber of a session that tells of it."""

    def __init__(self, tell: Callable[[CellNews], None]) -> None:
        self._tell = tell
        self._running = RunningSession()
        self._folder = ""
        self._told = 0.0

    def __call__(self, event: Event) -> None:
        """Hear one event."""
        self._running(event)
        if isinstance(event, SessionStarted | SessionResumed):
            self._folder = str(event.folder)
            self._tell(CellNews(self._folder))
        share = self._running.state.share
        if isinstance(event, StepBegun) and share >= self._told + _STEP:
            self._told = share
            self._tell(CellNews(self._folder, share))


def run(order: CellOrder, tell: Callable[[CellNews], None], stop: Stop) -> None:
    """Run the session of an order, or the rest of the one that is there, and tell of
    it."""
    planned = Planned(order.name, order.text, order.trials)
    teller = _Teller(tell)
    try:
        with stopped_by_signals(stop):
            root = Path(order.root)
            backend = runs.run(planned, root, order.facts, (teller,), stop)
    except KeyboardInterrupt as error:
        notes = tuple(getattr(error, "__notes__", ()))
        tell(CellNews(ended=True, stopped=True, notes=notes))
        return
    session = "" if backend.session is None else str(backend.session.path)
    tell(CellNews(session, ended=True, failure=backend.failure))


def main() -> None:
    """Run the cell that the first line of the input orders, until its end or that of
    the input.
    """
    # Libraries print, and programs that are started read: neither on these two.
    orders = os.fdopen(os.dup(0), encoding="utf-8")
    news = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)

    def tell(message: CellNews) -> None:
        with suppress(OSError):
            news.write(json.dumps(typed.to_json(message)) + "\n")
            news.flush()

    line = orders.readline()
    news.write(f"{READY}\n")
    news.flush()
    stop = Stop()
    threading.Thread(target=_until_closed, args=(orders, stop), daemon=True).start()
    try:
        order = typed.from_json(CellOrder, json.loads(line), "the order of a cell")
        run(order, tell, stop)
    except RigError as error:
        tell(CellNews(ended=True, failure=Failure.of(error)))
    except Exception as error:
        failure = Failure(f"a fault of the rig itself: {error!r}")
        tell(CellNews(ended=True, failure=failure))
        raise
    news.close()
    sys.stdout.flush()


def _until_closed(orders: TextIO, stop: Stop) -> None:
    with suppress(OSError, ValueError):
        while orders.readline():
            pass
    stop.request()


if __name__ == "__main__":
    main()
