# SPDX-License-Identifier: Apache-2.0
"""Work of the engine in a thread of its own. No Qt."""

from __future__ import annotations

import threading
from collections.abc import Callable

from rig.host.stop import Stop


class EngineThread:
    """One piece of work that can be stopped; while it is alive, a supply may be on. It
    ends by itself, by `stop` or by an error, and closes all ports then.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._stop = Stop()
        self._thread: threading.Thread | None = None

    @property
    def alive(self) -> bool:
        """Whether it is at work, and the supply may be on."""
        return self._thread is not None and self._thread.is_alive()

    def stop(self) -> None:
        """Ask for the end; returns at once."""
        self._stop.request()

    def wait(self, limit_s: float) -> bool:
        """Wait for the end; return whether it came."""
        if self._thread is not None:
            self._thread.join(limit_s)
        return not self.alive

    def _begin(
        self, work: Callable[[], None], ended: Callable[[BaseException | None], None]
    ) -> None:
        """Do the work, then call `ended` in the same thread with its error, or None."""

        def run() -> None:
            error: BaseException | None = None
            try:
                work()
            except BaseException as failure:
                error = failure
            ended(error)

        self._thread = threading.Thread(target=run, name=self._name)
        self._thread.start()
