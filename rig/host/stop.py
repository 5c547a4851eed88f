# SPDX-License-Identifier: Apache-2.0
"""Stop: the wish of another thread that a bench ends what it does, and the waits that
hear it.

A wait that may be long is `pause`, or calls `look` at least five times a second; both
do nothing but wait where nobody can ask. They know by the thread whom to ask: what
waits deep inside a backend need not be handed anything.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue

from rig.errors import RigError, Stopped

#: What waits for something else looks so often.
LOOK_S = 0.2


class _Heard(threading.local):
    """The Stop that this thread hears."""

    stop: Stop | None = None


_heard = _Heard()


class Stop:
    """A request to end what a bench does, from any thread; once made, it stands.

    Whatever waits in the thread of `heard` raises Stopped, once: what is then closed
    and switched off may wait again, and is not stopped in turn.
    """

    def __init__(self) -> None:
        self._requested = False
        self._raised = False
        # Unlike an Event's lock, this may be put into by a signal's handler, whatever
        # was in the midst of it. One that waits takes what it holds, and puts it back
        # for the next.
        self._wake: SimpleQueue[None] = SimpleQueue()
        self._guards: list[Callable[[], RigError | None]] = []

    def guard(self, look: Callable[[], RigError | None]) -> None:
        """End what is done, with the error that `look` returns, as soon as it returns
        one."""
        self._guards.append(look)

    def request(self) -> None:
        """Ask for the end, from any thread or a signal's handler; returns at once."""
        self._requested = True
        self._wake.put(None)

    @property
    def requested(self) -> bool:
        """Return whether the end was asked for."""
        return self._requested

    @property
    def pending(self) -> bool:
        """Return whether the end was asked for, and was not raised yet."""
        return self._requested and not self._raised

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Hear a request in this thread until this context is left."""
        before = _heard.stop
        _heard.stop = self
        try:
            yield
        finally:
            _heard.stop = before

    def check(self) -> None:
        """Raise Stopped where the end was asked for, or a guard's error; cheap. Both
        are raised in the thread that hears it, once.
        """
        if _heard.stop is not self:
            return
        if self._requested:
            _heard.stop = None
            self._raised = True
            raise Stopped
        for look in self._guards:
            error = look()
            if error is not None:
                _heard.stop = None
                raise error

    def wait(self, duration_s: float) -> None:
        """Wait; raise Stopped as soon as the end is asked for, where this thread hears
        it."""
        if _heard.stop is not self:
            time.sleep(max(duration_s, 0.0))
            return
        with suppress(Empty):
            self._wake.put(self._wake.get(timeout=max(duration_s, 0.0)))
        self.check()


def look() -> None:
    """Raise Stopped where the end of what this thread does was asked for."""
    if _heard.stop is not None:
        _heard.stop.check()


def pause(duration_s: float) -> None:
    """Wait; raise Stopped as soon as the end of what this thread does is asked for."""
    if _heard.stop is None:
        time.sleep(max(duration_s, 0.0))
    else:
        _heard.stop.wait(duration_s)
