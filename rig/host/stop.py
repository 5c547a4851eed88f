# SPDX-License-Identifier: Apache-2.0
"""Requests to stop a bench from another thread, and the waits that notice them.

A wait that may be long is `pause`, or calls `look` at least five times a second; both
only wait in a thread without a Stop. They find the Stop by the thread, so that code
deep inside a backend needs no reference to it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager, suppress
from typing import TypeVar

from rig.errors import RigError, Stopped

#: Longest time between two looks of a wait for an event.
LOOK_S = 0.2
_RowT = TypeVar("_RowT")


class _Heard(threading.local):
    """The Stop that this thread hears."""

    stop: Stop | None = None


_heard = _Heard()


class Stop:
    """A request to stop a bench, from any thread; it cannot be withdrawn.

    A wait in the thread of `heard` raises Stopped, once: the code that then closes and
    switches off devices may wait again without being stopped.
    """

    def __init__(self) -> None:
        self._requested = False
        self._raised = False
        # Held until the stop is requested. A signal's handler may release it at any
        # point, which an Event does not allow: its own lock may be held just then.
        self._gate = threading.Lock()
        self._gate.acquire(blocking=False)
        self._guards: list[Callable[[], RigError | None]] = []

    def guard(self, look: Callable[[], RigError | None]) -> None:
        """Stop with the error that `look` returns, as soon as it returns one."""
        self._guards.append(look)

    def unguard(self, look: Callable[[], RigError | None]) -> None:
        """Look no more; without effect where it was not looked at."""
        with suppress(ValueError):
            self._guards.remove(look)

    def request(self) -> None:
        """Request the stop, from any thread or a signal's handler; returns at once."""
        self._requested = True
        self._open()

    @property
    def requested(self) -> bool:
        """Whether a stop was requested."""
        return self._requested

    @property
    def pending(self) -> bool:
        """Whether a stop was requested, and was not raised yet."""
        return self._requested and not self._raised

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Let waits of this thread notice the request until this context is left."""
        before = _heard.stop
        _heard.stop = self
        try:
            yield
        finally:
            _heard.stop = before

    def heard_by(
        self, rows: Generator[_RowT, None, None]
    ) -> Generator[_RowT, None, None]:
        """Yield the rows of a generator that hears the stop while it runs; it is closed
        at the end.
        """
        with closing(rows):
            while True:
                with self.heard():
                    try:
                        row = next(rows)
                    except StopIteration:
                        return
                yield row

    def check(self) -> None:
        """Raise Stopped if a stop was requested, or a guard's error; cheap. Both are
        raised once, in the thread of `heard`.
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
        """Wait; raise Stopped as soon as a stop is requested, in the thread of
        `heard`.
        """
        if _heard.stop is not self:
            time.sleep(max(duration_s, 0.0))
            return
        if self._gate.acquire(timeout=max(duration_s, 0.0)):
            self._open()  # for the next wait
        self.check()

    def _open(self) -> None:
        """Let all waits end, also those that begin later."""
        with suppress(RuntimeError):  # it is open: another wait or request did that
            self._gate.release()


@contextmanager
def heard_again() -> Iterator[None]:
    """Let this thread hear its Stop after this context also where code in it caught
    the error of a wait; after an exception that leaves it, it does not.
    """
    before = _heard.stop
    yield
    _heard.stop = before


def look() -> None:
    """Raise Stopped if this thread was requested to stop."""
    if _heard.stop is not None:
        _heard.stop.check()


def pause(duration_s: float) -> None:
    """Wait; raise Stopped as soon as this thread is requested to stop."""
    if _heard.stop is None:
        time.sleep(max(duration_s, 0.0))
    else:
        _heard.stop.wait(duration_s)
