# SPDX-License-Identifier: Apache-2.0
"""Pictures of a trace: the last one stays until the next is there, and a wider one than
what is shown is asked for, so that most steps of a pan need none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from gui.picture.viewport import Viewport
from rig.api.traces.columns import Columns
from rig.api.traces.trace import SessionTrace

#: Of the span on each side: while the zoom changes, and once it rests.
_NARROW = 0.05
_WIDE = 0.5
#: A picture whose columns are finer or coarser than this serves no longer.
_SAME_ZOOM = 1.02


class Does(Protocol):
    """What does work in the background, as gui.worker.Worker does."""

    def do(
        self,
        function: Callable[[], Any],
        on_done: Callable[[Any], None],
        on_error: Callable[[BaseException], None] | None = None,
        key: str = "",
    ) -> None:
        """Do a function in the background, then hand on its result."""


@dataclass(frozen=True, slots=True)
class Picture:
    """Columns of a stretch; `zoom_s` is the span of the view that they were made
    for."""

    columns: Columns
    start_s: float
    stop_s: float
    zoom_s: float
    pixels: int
    prepared: bool

    def serves(self, view: Viewport, pixels: int) -> bool:
        """Return whether it covers a view at its zoom."""
        same = 1 / _SAME_ZOOM < self.zoom_s / view.span_s < _SAME_ZOOM
        covers = self.start_s <= view.start_s and self.stop_s >= view.stop_s
        return same and covers and self.pixels == pixels


class Pictures:
    """The pictures of one trace; `on_new` is called when there is another."""

    def __init__(
        self,
        worker: Does,
        trace: SessionTrace,
        on_new: Callable[[], None],
        on_error: Callable[[BaseException], None],
        key: str = "trace-picture",
    ) -> None:
        self.trace = trace
        self._key = key
        self.now: Picture | None = None
        self._worker = worker
        self._on_new = on_new
        self._on_error = on_error
        self._asked: tuple[float, float, int, bool] | None = None

    @property
    def pending(self) -> bool:
        """Return whether a picture was asked for that is not there yet."""
        return self._asked is not None

    def want(self, view: Viewport, pixels: int) -> bool:
        """Ask for the picture of a view; return whether the one that is there serves
        already."""
        now = self.now
        if (
            now is not None
            and now.serves(view, pixels)
            and now.prepared == self.trace.prepared
        ):
            return True
        panned = (
            now is not None and 1 / _SAME_ZOOM < now.zoom_s / view.span_s < _SAME_ZOOM
        )
        share = _WIDE if panned else _NARROW
        start_s = max(view.start_s - share * view.span_s, 0.0)
        stop_s = min(view.stop_s + share * view.span_s, view.duration_s)
        asked = (start_s, stop_s, pixels, self.trace.prepared)
        if asked == self._asked:
            return False
        self._asked = asked
        count = max(round(pixels * (stop_s - start_s) / view.span_s), 2)
        trace = self.trace

        def work() -> Picture:
            prepared = trace.prepared
            columns = trace.columns(start_s, stop_s, count)
            return Picture(columns, start_s, stop_s, view.span_s, pixels, prepared)

        self._worker.do(work, self._take, self._failed, key=self._key)
        return False

    def _take(self, picture: Picture) -> None:
        self._asked = None
        self.now = picture
        self._on_new()

    def _failed(self, error: BaseException) -> None:
        self._asked = None
        self._on_error(error)
