# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C: the first one ends a command in order, the second one ends this process at
once, also inside a library that never returns to Python.
"""

from __future__ import annotations

import _thread
import ctypes
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from rig.errors import Stopped
from rig.host.stop import Stop

_Handler = Callable[[int, FrameType | None], object]
#: The second one of these ends the process. A closing terminal may send two HUPs.
_ONCE = ("SIGINT", "SIGTERM")
_ALWAYS = ("SIGHUP",)
#: How long a signal in an import waits until it is sent again.
_IMPORT_POLL_S = 0.02


def handle_once(handler: _Handler = signal.default_int_handler) -> None:
    """Call `handler` at a HUP and at the first Ctrl-C or TERM; the next one of the same
    kind ends the process at any point. Signals that are ignored, as under nohup, stay
    so. While a module is being imported, the first signal waits for its end.
    """
    after = _after_imports(handler)
    for number in _heeded(_ALWAYS):
        signal.signal(number, after)
    for number in _heeded(_ONCE):
        _set_once(number, after)


@contextmanager
def stopped_by_signals(stop: Stop) -> Iterator[None]:
    """Let signals request `stop` while a device is held, as `handle_once` handles them;
    raise Stopped on leaving if a stop was requested and no wait has raised it.

    An exception that a handler raises appears in the frame that runs: in a callback of
    a library or a finaliser it would be printed and dropped, and the command would go
    on.
    """
    before = {number: signal.getsignal(number) for number in _heeded(_ONCE + _ALWAYS)}
    handle_once(lambda number, frame: stop.request())
    try:
        yield
        if stop.pending:
            raise Stopped
    finally:
        # After a signal the next one must end the process: the handlers stay.
        if not stop.requested:
            for number, handler in before.items():
                if callable(handler) and number.name in _ONCE:
                    _set_once(number, handler)
                else:
                    signal.signal(number, handler)


def _set_once(number: signal.Signals, handler: _Handler) -> None:
    """Set the handler of the first signal of a kind.

    Python calls handlers between two of its instructions, so a signal that comes while
    a library works waits for its return. Therefore the system itself must drop the
    handler at the first signal.
    """
    signal.signal(number, handler)
    try:
        library = ctypes.CDLL(None)
        once = library.sysv_signal  # of glibc: as `signal`, for one signal only
    except (AttributeError, OSError, TypeError):
        signal.signal(number, _forgetting(handler))
        return
    library.signal.restype = once.restype = ctypes.c_void_p
    # Set Python's own handler again, for one signal only.
    once(int(number), ctypes.c_void_p(library.signal(int(number), None)))


def _heeded(names: tuple[str, ...]) -> list[signal.Signals]:
    there = [signal.Signals[name] for name in names if hasattr(signal, name)]
    return [
        number for number in there if signal.getsignal(number) is not signal.SIG_IGN
    ]


def _after_imports(handler: _Handler) -> _Handler:
    """Return a handler that is called again until no import is under way: modules in C
    may drop an exception that is raised while they are initialised. A second Ctrl-C or
    TERM ends the process then too, as an import may never end.
    """
    waiting: set[int] = set()
    sent_again: set[int] = set()

    def send_again(number: int) -> None:
        sent_again.add(number)
        _send(number)

    def called(number: int, frame: FrameType | None) -> object:
        is_once = signal.Signals(number).name in _ONCE
        if is_once and number in waiting and number not in sent_again:
            signal.signal(number, signal.SIG_DFL)
            _send(number)
            return None
        sent_again.discard(number)
        if not _is_importing(frame):
            waiting.discard(number)
            return handler(number, frame)
        waiting.add(number)
        if is_once:
            _set_once(signal.Signals(number), called)
        timer = threading.Timer(_IMPORT_POLL_S, send_again, (number,))
        timer.daemon = True
        timer.start()
        return None

    return called


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _send(number: int) -> None:
    if sys.platform == "win32":  # os.kill would end the process there
        _thread.interrupt_main(signal.Signals(number))
    else:
        os.kill(os.getpid(), number)


def _forgetting(handler: _Handler) -> _Handler:
    """Return a handler that removes itself first: the fallback, without effect inside a
    library.
    """

    def called(number: int, frame: FrameType | None) -> object:
        signal.signal(number, signal.SIG_DFL)
        return handler(number, frame)

    return called
