# SPDX-License-Identifier: Apache-2.0
"""Taps: observers of a trace while it is written, which do not change it.

A trace that is being written must not be opened (rig/trace/writer.py). An observer
offers a tap for its folder before the recording begins; drivers do not know of it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from rig.arrays import Float32s, Uint8s

if TYPE_CHECKING:
    from rig.trace.gaps import Gap


@dataclass(frozen=True, slots=True)
class TraceForm:
    """Form of a trace that begins, as given to its writer."""

    sample_hz: float
    edge_hz: float
    sync_kind: str
    source: str = ""
    serial: str = ""
    about: dict[str, Any] = field(default_factory=dict)


class Tap(Protocol):
    """Interface that a writer calls with all that it has written, in the writer's
    thread: it must be quick.

    An error that it raises ends it, and never reaches the writer. Arrays belong to the
    writer: a tap copies the ones it keeps.
    """

    def analog(self, current_a: Float32s, voltage_v: Float32s) -> None:
        """Take the next samples; lost ones are not finite."""

    def levels(self, at: int, packed: Uint8s) -> None:
        """Take samples of SYNC from number `at` on, eight to a byte, the first in the
        lowest bit.
        """

    def sync_voltage(self, at: int, voltage_v: Float32s) -> None:
        """Take samples of the voltage of SYNC from number `at` on."""

    def stamp(self, at_s: float, fall: bool) -> None:
        """Take an edge that the instrument stamped."""

    def skip(self, samples: int, cause: str) -> None:
        """Note that so many samples were lost; the next ones follow after them."""

    def gap(self, gap: Gap) -> None:
        """Take note that samples that came are not to be trusted."""

    def end(self) -> None:
        """Take note that the trace is complete."""

    def failed(self, error: Exception) -> None:
        """Take note that this tap raised an error, and is not called again."""


MakeTap = Callable[[TraceForm], Tap]

_offered: dict[str, tuple[MakeTap, bool]] = {}
_lock = threading.Lock()


@contextmanager
def tapped(folder: Path, make: MakeTap, kept: bool = True) -> Iterator[None]:
    """Let a trace that is begun in `folder` have a tap, until this context is left;
    where it is not `kept`, the tap alone has the samples, and no file of them is left.
    """
    place = _place(folder)
    with _lock:
        _offered[place] = make, kept
    try:
        yield
    finally:
        with _lock:
            _offered.pop(place, None)


class Tapped:
    """Tap of a writer's folder; calls are ignored where none is offered."""

    def __init__(self, folder: Path, form: TraceForm) -> None:
        with _lock:
            make, _ = _offered.get(_place(folder), (None, True))
        self._tap: Tap | None = None
        if make is not None:
            with suppress(Exception):  # who cannot even begin to look does not
                self._tap = make(form)

    def __call__(self, what: str, *block: Any) -> None:
        """Call a method of the tap with a written block."""
        tap = self._tap
        if tap is None:
            return
        try:
            getattr(tap, what)(*block)
        except Exception as error:
            self._tap = None
            tap.failed(error)


class Fork:
    """Several taps as one."""

    def __init__(self, taps: tuple[Tap, ...]) -> None:
        self._taps = taps

    @classmethod
    def of(cls, *taps: Tap) -> Tap:
        """Return a tap that hands all that it is called with to each of these."""
        return cast(Tap, cls(taps))

    def __getattr__(self, name: str) -> Callable[..., None]:
        """Return what calls a method of each tap."""

        def call(*block: Any) -> None:
            for tap in self._taps:
                getattr(tap, name)(*block)

        return call


def is_kept(folder: Path) -> bool:
    """Check whether a trace that is begun in a folder is to be kept as a file."""
    with _lock:
        _, kept = _offered.get(_place(folder), (None, True))
    return kept


class Nowhere:
    """A file of the trace library that takes everything and keeps none of it."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        """Return what does as little for every call of a writer."""
        return _ignored


def _ignored(*args: object, **named: object) -> None:
    return


def _place(folder: Path) -> str:
    return str(folder.absolute())
