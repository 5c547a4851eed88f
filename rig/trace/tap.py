# SPDX-License-Identifier: Apache-2.0
"""Taps: what looks at a trace while it is written, and changes nothing of it.

A trace that is being written must not be opened (rig/trace/writer.py). Whoever wants to see it
offers a tap for its folder before the recording begins; drivers know nothing of that.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class TraceForm:
    """The form of a trace that begins, as its writer was told."""

    sample_hz: float
    edge_hz: float
    sync_kind: str


class Tap(Protocol):
    """What a writer calls with all that it has written, in the writer's thread: it must be quick.

    An error that it raises ends it, and never reaches the writer. Arrays belong to the writer:
    what is kept of them is copied.
    """

    def analog(self, current_a: NDArray[np.float32], voltage_v: NDArray[np.float32]) -> None:
        """Take the next samples; lost ones are not finite."""

    def levels(self, at: int, packed: NDArray[np.uint8]) -> None:
        """Take samples of SYNC from number `at` on, eight to a byte, the first in the lowest
        bit.
        """

    def sync_voltage(self, at: int, voltage_v: NDArray[np.float32]) -> None:
        """Take samples of the voltage of SYNC from number `at` on."""

    def stamp(self, at_s: float, fall: bool) -> None:
        """Take an edge that the instrument stamped."""

    def skip(self, samples: int) -> None:
        """Take note that so many samples were lost; the next ones follow behind them."""

    def end(self) -> None:
        """Take note that the trace is complete."""

    def failed(self, error: Exception) -> None:
        """Take note that this tap raised an error, and is not called again."""


MakeTap = Callable[[TraceForm], Tap]

_offered: dict[str, MakeTap] = {}
_lock = threading.Lock()


@contextmanager
def tapped(folder: Path, make: MakeTap) -> Iterator[None]:
    """Let a trace that is begun in `folder` have a tap, until this context is left."""
    place = _place(folder)
    with _lock:
        _offered[place] = make
    try:
        yield
    finally:
        with _lock:
            _offered.pop(place, None)


class Tapped:
    """What a writer has for the tap of its folder; does nothing where none is offered."""

    def __init__(self, folder: Path, form: TraceForm) -> None:
        with _lock:
            make = _offered.get(_place(folder))
        self._tap: Tap | None = None
        if make is not None:
            with suppress(Exception):  # who cannot even begin to look does not
                self._tap = make(form)

    def __call__(self, what: str, *block: Any) -> None:
        """Call a method of the tap with what was written."""
        tap = self._tap
        if tap is None:
            return
        try:
            getattr(tap, what)(*block)
        except Exception as error:
            self._tap = None
            tap.failed(error)


def _place(folder: Path) -> str:
    return str(folder.absolute())
