# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C: the first ends a command in order, the second ends this process at once, also
where it is inside a library that never comes back to Python.
"""

from __future__ import annotations

import ctypes
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from rig.errors import Stopped
from rig.host.stop import Stop

_Handler = Callable[[int, FrameType | None], object]
#: Of these the second ends the process. A terminal that is closed may well send two
#: HUPs.
_ONCE = ("SIGINT", "SIGTERM")
_ALWAYS = ("SIGHUP",)


def handle_once(handler: _Handler = signal.default_int_handler) -> None:
    """Call `handler` at a HUP and at the first Ctrl-C or TERM; the next of the same
    kind ends the process, whatever that is at. Signals that are ignored, as under
    nohup, stay so.
    """
    for number in _heeded(_ALWAYS):
        signal.signal(number, handler)
    for number in _heeded(_ONCE):
        _set_once(number, handler)


@contextmanager
def stopped_by_signals(stop: Stop) -> Iterator[None]:
    """Let signals ask `stop` for the end while a device is held, as `handle_once`
    handles them; raise Stopped on leaving where the end was asked for, and no wait has
    heard it.

    An exception that a handler raises appears in whatever frame runs: in a callback of
    a library or a finaliser it is printed and dropped, and the command would go on.
    """
    before = {number: signal.getsignal(number) for number in _heeded(_ONCE + _ALWAYS)}
    handle_once(lambda number, frame: stop.request())
    try:
        yield
        if stop.pending:
            raise Stopped
    finally:
        # Of a signal that came, the next one is to end the process.
        if not stop.requested:
            for number, handler in before.items():
                if callable(handler) and number.name in _ONCE:
                    _set_once(number, handler)
                else:
                    signal.signal(number, handler)


def _set_once(number: signal.Signals, handler: _Handler) -> None:
    """Set the handler of the first signal of a kind.

    Python calls handlers between two of its instructions. A signal that comes while a
    library works waits for its end; so the system itself has to forget the handler at
    the first signal.
    """
    signal.signal(number, handler)
    try:
        library = ctypes.CDLL(None)
        once = library.sysv_signal  # of glibc: as `signal`, for one signal only
    except (AttributeError, OSError, TypeError):
        signal.signal(number, _forgetting(handler))
        return
    library.signal.restype = once.restype = ctypes.c_void_p
    # What Python has set, put back for once.
    once(int(number), ctypes.c_void_p(library.signal(int(number), None)))


def _heeded(names: tuple[str, ...]) -> list[signal.Signals]:
    there = [signal.Signals[name] for name in names if hasattr(signal, name)]
    return [
        number for number in there if signal.getsignal(number) is not signal.SIG_IGN
    ]


def _forgetting(handler: _Handler) -> _Handler:
    """Return a handler that takes itself away first: the next best, of no use within a
    library."""

    def called(number: int, frame: FrameType | None) -> object:
        signal.signal(number, signal.SIG_DFL)
        return handler(number, frame)

    return called
