# SPDX-License-Identifier: Apache-2.0
"""Columns and numbers of a trace, computed in the background."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from threading import Event
from typing import Generic, TypeVar

from gui.picture.viewport import Viewport
from gui.worker import BackgroundWorker
from rig.api.traces.columns import Columns
from rig.api.traces.samples import Cancelled
from rig.api.traces.statistics import TraceStatistics
from rig.api.traces.trace import SessionTrace
from rig.trace.levels import Stopped

Result = TypeVar("Result")

#: Share of the span that is computed on each side of a view: while the zoom changes,
#: and once it rests.
_NARROW = 0.05
_WIDE = 0.5
#: Columns that are finer or coarser than those of a view by this are not shown in it.
_SAME_ZOOM = 1.02


class BackgroundTask(Generic[Result]):
    """A computation in the background; a newer one cancels the one before."""

    def __init__(self, worker: BackgroundWorker, key: str) -> None:
        self._worker = worker
        self._key = key
        self._stop = Event()
        self._number = 0
        self.pending = False

    def start(
        self,
        function: Callable[[Stopped], Result],
        on_done: Callable[[Result], None],
        on_error: Callable[[BaseException], None],
    ) -> None:
        """Compute a function, which can ask whether its result is still wanted."""
        self.cancel()
        stop = self._stop = Event()
        self._number += 1
        number = self._number
        self.pending = True

        def done(result: Result) -> None:
            if number == self._number:
                self.pending = False
                on_done(result)

        def failed(error: BaseException) -> None:
            if number == self._number:
                self.pending = False
                if not isinstance(error, Cancelled):
                    on_error(error)

        self._worker.do(lambda: function(stop.is_set), done, failed, key=self._key)

    def cancel(self) -> None:
        """Give up the computation."""
        self._stop.set()
        self._number += 1
        self.pending = False


class Numbers:
    """The exact statistics of one stretch at a time; `now` is None while they are
    computed.

    `on_change` is called when they are there, or fail: then `error` holds the reason.
    """

    def __init__(
        self,
        worker: BackgroundWorker,
        trace: SessionTrace,
        key: str,
        on_change: Callable[[], None],
    ) -> None:
        self.now: TraceStatistics | None = None
        self.error: BaseException | None = None
        self.stretch: tuple[float, float] | None = None
        self._task: BackgroundTask[TraceStatistics] = BackgroundTask(worker, key)
        self._trace = trace
        self._on_change = on_change

    @property
    def pending(self) -> bool:
        """Whether numbers are still being computed."""
        return self.stretch is not None and self.now is None and self.error is None

    def want(self, stretch: tuple[float, float] | None) -> None:
        """Ask for the numbers of a stretch, or of none."""
        if stretch == self.stretch and self.error is None:
            return
        self.cancel()
        self.stretch = stretch
        self.now = None
        self.error = None
        if stretch is not None:
            start_s, stop_s = stretch
            statistics = partial(self._trace.statistics, start_s, stop_s)
            self._task.start(
                lambda stopped: statistics(stopped=stopped), self._take, self._failed
            )
        self._on_change()

    def cancel(self) -> None:
        """Give up the computation."""
        self._task.cancel()

    def _take(self, numbers: TraceStatistics) -> None:
        self.now = numbers
        self._on_change()

    def _failed(self, error: BaseException) -> None:
        self.error = error
        self._on_change()


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewColumns:
    """Columns of a stretch; `zoom_s` is the span of the view that they were made
    for."""

    columns: Columns
    start_s: float
    stop_s: float
    zoom_s: float
    pixels: int
    prepared: bool

    def has_zoom_of(self, view: Viewport) -> bool:
        """Whether the columns are as wide as those of a view."""
        return 1 / _SAME_ZOOM < self.zoom_s / view.span_s < _SAME_ZOOM

    def serves(self, view: Viewport, pixels: int) -> bool:
        """Whether they cover a view at its zoom."""
        covers = self.start_s <= view.start_s and self.stop_s >= view.stop_s
        return self.has_zoom_of(view) and covers and self.pixels == pixels


class Pictures:
    """The columns of one trace, computed in the background. The last ones stay until
    the next are there, and reach beyond the view, so that most steps of a pan need no
    others. `on_new` is called when there are others.
    """

    def __init__(
        self,
        worker: BackgroundWorker,
        trace: SessionTrace,
        on_new: Callable[[], None],
        on_error: Callable[[BaseException], None],
        key: str = "trace-picture",
    ) -> None:
        self.trace = trace
        self._key = key
        self.now: ViewColumns | None = None
        self._worker = worker
        self._on_new = on_new
        self._on_error = on_error
        self._asked: tuple[float, float, int, bool] | None = None

    @property
    def pending(self) -> bool:
        """Whether columns were asked for that are not there yet."""
        return self._asked is not None

    def want(self, view: Viewport, pixels: int) -> bool:
        """Ask for the columns of a view; return whether those at hand serve already."""
        now = self.now
        prepared = self.trace.prepared
        if now is not None and now.serves(view, pixels) and now.prepared == prepared:
            return True
        is_panned = now is not None and now.has_zoom_of(view)
        beside_s = (_WIDE if is_panned else _NARROW) * view.span_s
        start_s = max(view.start_s - beside_s, 0.0)
        stop_s = min(view.stop_s + beside_s, view.duration_s)
        asked = (start_s, stop_s, pixels, prepared)
        if asked == self._asked:
            return False
        self._asked = asked
        count = max(round(pixels * (stop_s - start_s) / view.span_s), 2)
        trace = self.trace

        def work() -> ViewColumns:
            prepared = trace.prepared
            columns = trace.columns(start_s, stop_s, count)
            return ViewColumns(
                columns=columns,
                start_s=start_s,
                stop_s=stop_s,
                zoom_s=view.span_s,
                pixels=pixels,
                prepared=prepared,
            )

        self._worker.do(work, self._take, self._failed, key=self._key)
        return False

    def _take(self, columns: ViewColumns) -> None:
        self._asked = None
        self.now = columns
        self._on_new()

    def _failed(self, error: BaseException) -> None:
        self._asked = None
        self._on_error(error)
