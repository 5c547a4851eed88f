# SPDX-License-Identifier: Apache-2.0
"""The observers of an open bench: who gets the live blocks of its monitors."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Sequence
from functools import partial

from rig.interfaces.context import name_of
from rig.live.block import LiveBlock, Observer
from rig.live.reducer import Reducer
from rig.trace.tap import Tap, TraceForm

#: Blocks that wait for an observer that is slow, before the oldest are left out: half a
#: minute.
_WAITING_MAX = 1024
#: An observer that does not return is not waited for longer than this when a bench is
#: closed.
_END_S = 1.0


class Observers:
    """Callables that get every LiveBlock, one after another, in a thread of this class.

    A driver's thread reduces its samples and goes on: it waits for no observer. Where
    an observer is slow, the oldest blocks are left out, and counted. One that raises is
    dropped, and named in `dropped`.
    """

    def __init__(self, observers: Sequence[Observer] = ()) -> None:
        self._observers: tuple[Observer, ...] = tuple(observers)
        self._changed = threading.Condition()
        self._waiting: deque[LiveBlock] = deque(maxlen=_WAITING_MAX)
        self._traces: Counter[str] = Counter()
        self._thread: threading.Thread | None = None
        self._closed = False
        self.dropped: tuple[str, ...] = ()
        self.left_out = 0

    def add(self, observer: Observer) -> Callable[[], None]:
        """Give every block from now on to `observer`; return what ends that, also when
        called twice.
        """
        with self._changed:
            self._observers = (*self._observers, observer)
        return partial(self._remove, observer)

    def tap(self, rail: str, form: TraceForm) -> Tap:
        """Return the tap of a trace that begins."""
        with self._changed:
            self._traces[rail] += 1
            number = self._traces[rail]
        failed = partial(self._note, f"picture of {rail}")
        return Reducer(
            rail,
            number,
            form,
            self._put,
            failed,
            is_wanted=lambda: bool(self._observers),
        )

    def close(self) -> None:
        """Hand over what waits, and end; closing twice is allowed."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(_END_S)

    def _remove(self, observer: Observer) -> None:
        with self._changed:
            self._observers = tuple(
                one for one in self._observers if one is not observer
            )

    def _note(self, who: str, error: Exception) -> None:
        with self._changed:
            self.dropped = (*self.dropped, f"{who}: {error!r}")

    def _put(self, block: LiveBlock) -> None:
        with self._changed:
            if self._closed or not self._observers:
                return
            if len(self._waiting) == _WAITING_MAX:
                self.left_out += 1
            self._waiting.append(block)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._work, name="live", daemon=True
                )
                self._thread.start()
            self._changed.notify_all()

    def _work(self) -> None:
        while True:
            with self._changed:
                while not (self._waiting or self._closed):
                    self._changed.wait()
                if not self._waiting:
                    return
                block = self._waiting.popleft()
                observers = self._observers
            for observer in observers:
                try:
                    observer(block)
                except Exception as error:
                    self._remove(observer)
                    self._note(name_of(observer), error)
