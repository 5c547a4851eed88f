# SPDX-License-Identifier: Apache-2.0
"""The cells of a campaign in processes of this computer."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, Queue

from rig.api.backends.rows import Failure
from rig.api.campaign.cell_process import CellNews, CellOrder, CellRun
from rig.api.campaign.grid import GridCell
from rig.errors import RigError
from rig.host.stop import LOOK_S, Stop

#: Time for all cells to end when asked; then they are killed.
_LEAVE_S = 60.0


@dataclass(frozen=True, slots=True)
class CellEvent:
    """Something that happened to a cell, at a host that is named where there are
    several; without news it was started.
    """

    cell: GridCell
    news: CellNews | None = None
    host: str = ""


Hear = Callable[[CellEvent], None]
#: Makes the order of a cell just before it runs.
Ordered = Callable[[GridCell], CellOrder]


def unanswered(cell: GridCell) -> CellNews:
    """Return the last news of a cell that was asked to end, and did not say that it
    ended."""
    note = f"{cell.name} did not answer: the supply may still be on"
    return CellNews(ended=True, stopped=True, notes=(note,))


class _Job:
    """A cell in a thread that listens to its process."""

    def __init__(self, cell: GridCell, order: CellOrder, heard: Queue[CellEvent]):
        self.cell = cell
        self._order = order
        self._heard = heard
        self._stopping = self._killed = False
        self._run: CellRun | None = None
        self._thread = threading.Thread(target=self._listen, name=cell.name)
        self._thread.start()

    def _listen(self) -> None:
        try:
            self._run = CellRun(self._order)
            if self._stopping:
                self._run.stop()
            if self._killed:
                self._run.kill()
            for news in self._run.news():
                if news.ended and self._killed:
                    news = unanswered(self.cell)
                self._heard.put(CellEvent(self.cell, news))
        except RigError as error:
            self._fail(Failure.of(error))
        except Exception as error:
            self._fail(Failure(f"a fault of the rig itself: {error!r}"))

    def _fail(self, failure: Failure) -> None:
        news = CellNews(ended=True, failure=failure)
        self._heard.put(CellEvent(self.cell, news))

    def stop(self) -> None:
        self._stopping = True
        if self._run is not None:
            self._run.stop()

    def kill(self) -> None:
        self._killed = True
        if self._run is not None:
            self._run.kill()

    def join(self, limit_s: float) -> None:
        self._thread.join(limit_s)


def run(
    cells: Sequence[GridCell], ordered: Ordered, jobs: int, hear: Hear, stop: Stop
) -> None:
    """Run the cells in their order, `jobs` of them at a time; two that hold the same
    device run one after the other. Raises Stopped where that was requested, once all
    have ended.
    """
    pending = list(cells)
    running: dict[str, _Job] = {}
    heard: Queue[CellEvent] = Queue()
    try:
        with stop.heard():
            while pending or running:
                stop.check()
                while (cell := _next(pending, running, jobs)) is not None:
                    pending.remove(cell)
                    hear(CellEvent(cell))
                    running[cell.name] = _Job(cell, ordered(cell), heard)
                _hear(heard, running, hear)
    finally:
        for job in running.values():
            job.stop()
        _leave(running, heard, hear)


def _next(
    pending: Sequence[GridCell], running: dict[str, _Job], jobs: int
) -> GridCell | None:
    """Return the next cell that can run beside the others. None overtakes a cell that
    wants the computer for itself, which would else wait for the end of all.
    """
    if len(running) >= jobs:
        return None
    for cell in pending:
        busy = [job.cell.held for job in running.values()]
        if not any(cell.held.excludes(other) for other in busy):
            return cell
        if cell.held.alone:
            return None
    return None


def _hear(heard: Queue[CellEvent], running: dict[str, _Job], hear: Hear) -> None:
    """Pass on one event, if one comes in a moment."""
    with suppress(Empty):
        event = heard.get(timeout=LOOK_S)
        if event.news is not None and event.news.ended:
            running.pop(event.cell.name).join(_LEAVE_S)
        hear(event)


def _leave(running: dict[str, _Job], heard: Queue[CellEvent], hear: Hear) -> None:
    """Wait for the cells that were asked to end; kill those that do not."""
    end_s = time.monotonic() + _LEAVE_S
    while running:
        if time.monotonic() > end_s:
            end_s = math.inf
            for job in running.values():
                job.kill()
        _hear(heard, running, hear)
