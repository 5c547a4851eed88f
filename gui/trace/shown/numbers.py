# SPDX-License-Identifier: Apache-2.0
"""Exact numbers of the view and of the selection: computed in the background from the
samples, and given up as soon as another stretch is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from threading import Event

from gui.trace.shown.pictures import Does
from rig.api.traces.statistics import Cancelled, TraceStatistics
from rig.api.traces.trace import SessionTrace


class Numbers:
    """The statistics of one stretch at a time; `now` is None while they are computed.

    `on_change` is called when they are there, or fail: then `error` says why.
    """

    def __init__(
        self, worker: Does, trace: SessionTrace, key: str, on_change: Callable[[], None]
    ) -> None:
        self.now: TraceStatistics | None = None
        self.error: BaseException | None = None
        self.stretch: tuple[float, float] | None = None
        self._worker = worker
        self._trace = trace
        self._key = key
        self._on_change = on_change
        self._stop = Event()
        self._numbers = count()
        self._number = -1

    @property
    def pending(self) -> bool:
        """Return whether numbers are still being computed."""
        return self.stretch is not None and self.now is None and self.error is None

    def want(self, stretch: tuple[float, float] | None) -> None:
        """Ask for the numbers of a stretch, or of none."""
        if stretch == self.stretch and self.error is None:
            return
        self.cancel()
        self.stretch = stretch
        self.now = None
        self.error = None
        if stretch is None:
            self._on_change()
            return
        stop = self._stop = Event()
        number = self._number = next(self._numbers)
        start_s, stop_s = stretch

        def work() -> TraceStatistics | None:
            try:
                return self._trace.statistics(start_s, stop_s, stopped=stop.is_set)
            except Cancelled:
                return None

        def take(found: TraceStatistics | None) -> None:
            if number == self._number and found is not None:
                self.now = found
                self._on_change()

        def failed(error: BaseException) -> None:
            if number == self._number:
                self.error = error
                self._on_change()

        self._worker.do(work, take, failed, key=self._key)
        self._on_change()

    def cancel(self) -> None:
        """Give up what is being computed."""
        self._stop.set()
