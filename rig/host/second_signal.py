# SPDX-License-Identifier: Apache-2.0
"""The second Ctrl-C: it ends this process at once, also where it is inside a library that never
comes back to Python.
"""

from __future__ import annotations

import ctypes
import signal
from collections.abc import Callable
from types import FrameType

_Handler = Callable[[int, FrameType | None], object]
#: Of these the second ends the process. A terminal that is closed may well send two HUPs.
_ONCE = ("SIGINT", "SIGTERM")
_ALWAYS = ("SIGHUP",)


def handle_once(handler: _Handler = signal.default_int_handler) -> None:
    """Call `handler` at a HUP and at the first Ctrl-C or TERM; the next of the same kind ends the
    process, whatever that is at. Signals that are ignored, as under nohup, stay so.

    Python calls handlers between two of its instructions. A signal that comes while a library
    works waits for its end; so the system itself has to forget the handler at the first signal.
    """
    for number in _heeded(_ONCE + _ALWAYS):
        signal.signal(number, handler)
    try:
        library = ctypes.CDLL(None)
        once = library.sysv_signal  # of glibc: as `signal`, for one signal only
    except (AttributeError, OSError, TypeError):
        for number in _heeded(_ONCE):
            signal.signal(number, _forgetting(handler))
        return
    library.signal.restype = once.restype = ctypes.c_void_p
    for number in _heeded(_ONCE):
        # What Python has set, put back for once.
        once(int(number), ctypes.c_void_p(library.signal(int(number), None)))


def _heeded(names: tuple[str, ...]) -> list[signal.Signals]:
    there = [signal.Signals[name] for name in names if hasattr(signal, name)]
    return [number for number in there if signal.getsignal(number) is not signal.SIG_IGN]


def _forgetting(handler: _Handler) -> _Handler:
    """Return a handler that takes itself away first: the next best, of no use within a library."""

    def called(number: int, frame: FrameType | None) -> object:
        signal.signal(number, signal.SIG_DFL)
        return handler(number, frame)

    return called
