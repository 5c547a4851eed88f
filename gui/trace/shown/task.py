# SPDX-License-Identifier: Apache-2.0
"""One thing at a time that is computed in the background: a newer request gives up the
older."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import Generic, TypeVar

from gui.trace.shown.pictures import Does
from rig.api.traces.statistics import Cancelled, Stopped

Result = TypeVar("Result")


class Task(Generic[Result]):
    """What is being computed for one place of the screen."""

    def __init__(self, worker: Does, key: str) -> None:
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
        """Compute a function, which is told when it is no longer wanted."""
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
        """Give up what is being computed."""
        self._stop.set()
        self._number += 1
        self.pending = False
