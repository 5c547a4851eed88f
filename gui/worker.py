# SPDX-License-Identifier: Apache-2.0
"""A background thread for slow work: reading files, computing; results come
back to Qt.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QObject, Qt, Signal

#: A job that is not done by then is left to end with the process.
_LEAVE_S = 5.0


@dataclass(frozen=True, slots=True)
class _Job:
    number: int
    key: str
    function: Callable[[], Any]
    on_done: Callable[[Any], None]
    on_error: Callable[[BaseException], None] | None


class BackgroundWorker(QObject):
    """One background thread that does one job after another. A newer job replaces a
    waiting one of the same key, and the result of a running one is dropped; the key ""
    replaces none. `failed` is emitted with an error that has no handler.
    """

    failed = Signal(object)
    _finished = Signal(object, object, object)

    def __init__(
        self, parent: QObject | None = None, name: str = "rig-gui-worker"
    ) -> None:
        super().__init__(parent)
        self._jobs: deque[_Job] = deque()
        self._newest: dict[str, int] = {}
        self._count = 0
        self._ready = threading.Condition()
        self._ending = False
        self._busy = False
        self._finished.connect(self._hand_back, Qt.ConnectionType.QueuedConnection)
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    @property
    def busy(self) -> bool:
        """Whether a job is being done or waits."""
        with self._ready:
            return self._busy or bool(self._jobs)

    def do(
        self,
        function: Callable[[], Any],
        on_done: Callable[[Any], None],
        on_error: Callable[[BaseException], None] | None = None,
        key: str = "",
    ) -> None:
        """Do a function in the background, then call `on_done` with its result in Qt's
        thread."""
        with self._ready:
            self._count += 1
            if key:
                self._newest[key] = self._count
                kept = [job for job in self._jobs if job.key != key]
                self._jobs = deque(kept)
            self._jobs.append(_Job(self._count, key, function, on_done, on_error))
            self._ready.notify()

    def close_down(self) -> None:
        """End the thread after its current job; results no longer arrive."""
        with self._ready:
            self._ending = True
            self._jobs.clear()
            self._ready.notify()
        self._thread.join(_LEAVE_S)

    def _work(self) -> None:
        while True:
            with self._ready:
                self._busy = False
                while not self._jobs and not self._ending:
                    self._ready.wait()
                if self._ending:
                    return
                job = self._jobs.popleft()
                self._busy = True
            result = None
            failure: BaseException | None = None
            try:
                result = job.function()
            except BaseException as error:
                failure = error
            # What ended meanwhile has no window to show it in.
            if self._ends():
                return
            self._finished.emit(job, result, failure)

    def _ends(self) -> bool:
        with self._ready:
            return self._ending

    def _hand_back(self, job: _Job, result: Any, error: BaseException | None) -> None:
        if self._ending or (job.key and self._newest.get(job.key) != job.number):
            return
        if error is None:
            job.on_done(result)
        elif job.on_error is not None:
            job.on_error(error)
        else:
            self.failed.emit(error)
