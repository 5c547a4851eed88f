# SPDX-License-Identifier: Apache-2.0
"""Stop: the wish of another thread that a bench ends what it does, and the waits that hear it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rig.errors import Stopped


class Stop:
    """A request to end what a bench does, from any thread; once made, it stands.

    Everything in the engine that waits asks `check`, or waits by `wait`. Both raise Stopped, once,
    and only in the thread and for the time of `heard`: what is then closed and switched off may
    wait again, and is not stopped in turn.
    """

    def __init__(self) -> None:
        self._requested = threading.Event()
        self._hearing: int | None = None

    def request(self) -> None:
        """Ask for the end; returns at once."""
        self._requested.set()

    @property
    def requested(self) -> bool:
        """Return whether the end was asked for."""
        return self._requested.is_set()

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Hear a request in this thread until this context is left."""
        before = self._hearing
        self._hearing = threading.get_ident()
        try:
            yield
        finally:
            self._hearing = before

    def check(self) -> None:
        """Raise Stopped where the end was asked for; cheap."""
        if self._requested.is_set() and self._hears:
            self._hearing = None
            raise Stopped

    def wait(self, duration_s: float) -> None:
        """Wait; raise Stopped as soon as the end is asked for."""
        if not self._hears:
            time.sleep(max(duration_s, 0.0))
        elif self._requested.wait(max(duration_s, 0.0)):
            self.check()

    @property
    def _hears(self) -> bool:
        return self._hearing == threading.get_ident()
