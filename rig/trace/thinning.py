# SPDX-License-Identifier: Apache-2.0
"""Thin a trace while it is written: in stretches of data transfer between windows, keep
means in place of samples (rig/trace/reduced.py).

Such stretches are found by counting. The host states after which of its marks the
device only receives data; the stretch begins at this edge of SYNC and ends at the next
one, in the monitor's own time. No clocks are compared, and a monitor may hand over
samples late: samples that come before the statement are written in full. A stretch is
also kept whole where the last two edges are not as far apart as the last two marks:
edges and marks may then be counted differently, and everything that follows is kept.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import IO

import numpy as np

from rig.arrays import Float32s, Float64s
from rig.errors import storage_error
from rig.files import typed
from rig.trace.reduced import REDUCED, ReducedSpan, Thinning

#: Edges and marks agree to this share, of a clock without a crystal, and to this time,
#: in which a mark may have waited for the pulse before it.
_SHARE = 0.05
_WAIT_S = 0.001
#: Samples without a decision until then are written as they are.
_HELD_S = 2.0

Put = Callable[[int, Float32s, Float32s], None]


@dataclass(frozen=True, slots=True)
class Quiet:
    """The device only receives data after so many marks; the last two were `apart_s`
    apart."""

    marks: int
    apart_s: float


@dataclass(frozen=True, slots=True)
class Thinned:
    """How much of a recording was left out, in recording.json; where edges and marks
    were no longer counted alike, and so everything was kept, `kept_on` says why.
    """

    spans: int
    left_out_s: float
    kept_on: str = ""


class QuietTimes:
    """Statements on quiet stretches during one recording; for several threads."""

    def __init__(self) -> None:
        self._said: tuple[Quiet, ...] = ()

    def add(self, quiet: Quiet) -> None:
        """Say that the device is only given data from now on until its next mark."""
        if not self._said or self._said[-1].marks < quiet.marks:
            self._said = (*self._said[-1000:], quiet)

    def after(self, marks: int) -> Quiet | None:
        """Return the statement on the stretch after so many marks."""
        return next(
            (quiet for quiet in reversed(self._said) if quiet.marks == marks), None
        )


_offered: dict[str, QuietTimes] = {}
_lock = threading.Lock()


@contextmanager
def thinned(folder: Path, times: QuietTimes) -> Iterator[None]:
    """Let a trace that is begun in `folder` be thinned, until this context is left."""
    place = str(folder.absolute())
    with _lock:
        _offered[place] = times
    try:
        yield
    finally:
        with _lock:
            _offered.pop(place, None)


def offered(folder: Path) -> QuietTimes | None:
    """Return the statements on quiet stretches for a trace in `folder`; None where all
    of it is to be kept."""
    with _lock:
        return _offered.get(str(folder.absolute()))


class _State(Enum):
    """State of the samples after the last edge."""

    #: Within the margin of an edge: kept.
    NEAR_EDGE = "near an edge"
    #: The device is only given data: means stand for the samples.
    QUIET = "quiet"
    #: Anything else: kept.
    MEASURED = "measured"


class Thinner:
    """Holds samples back until SYNC shows whether an edge is near, and writes them or
    leaves them out; the means of all of them go to `put_means` (current, voltage,
    power).
    """

    def __init__(
        self,
        folder: Path,
        sample_hz: float,
        times: QuietTimes,
        put: Put,
        put_means: Callable[[Float32s, Float32s, Float32s], None],
    ) -> None:
        self.thinning = Thinning.at(sample_hz)
        self._lost_count = ""
        self._spans = 0
        self._left_out = 0
        self._folder = folder
        self._hz = sample_hz
        self._times = times
        self._put = put
        self._put_means = put_means
        self._rest: tuple[Float32s, Float32s] = (
            np.zeros(0, np.float32),
            np.zeros(0, np.float32),
        )
        self._held: deque[tuple[Float32s, Float32s]] = deque()
        self._at = 0
        self._end = 0
        self._sync_known = 0
        self._falls = 0
        self._last_two_s = (-np.inf, -np.inf)
        #: First sample after the last edge and its margin.
        self._clear_from = 0
        #: Edges that are known, and not passed yet: when, and whether they are falls.
        self._edges: deque[tuple[float, bool]] = deque()
        self._open: ReducedSpan | None = None
        self._lines: IO[str] = (folder / REDUCED).open("w", encoding="utf-8")

    def analog(self, current: Float32s, voltage: Float32s) -> None:
        """Take samples."""
        joined = [
            np.concatenate(pair)
            for pair in zip(self._rest, (current, voltage), strict=True)
        ]
        whole = len(joined[0]) // self.thinning.every * self.thinning.every
        self._mean(joined[0][:whole], joined[1][:whole], self.thinning.every)
        self._rest = joined[0][whole:], joined[1][whole:]
        # The caller may write into its arrays again.
        self._held.append((current.copy(), voltage.copy()))
        self._end += len(current)
        self._advance()

    def sync(self, falls_s: Float64s, rises_s: Float64s, to_s: float) -> None:
        """Take edges of SYNC, and how far the line is known."""
        edges = [(at_s, True) for at_s in falls_s.tolist()]
        edges += [(at_s, False) for at_s in rises_s.tolist()]
        self._edges.extend(sorted(edges))
        # An edge lies before the sample that shows it.
        self._sync_known = int(to_s * self._hz) - 1
        self._advance()

    def close(self) -> None:
        """Write the samples that are still held."""
        self._keep(self._end)
        self._mean(*self._rest, max(len(self._rest[0]), 1))
        self._finish()
        self._lines.close()

    def said(self) -> Thinned:
        """Return what recording.json says."""
        return Thinned(self._spans, self._left_out / self._hz, self._lost_count)

    def leave(self) -> None:
        """Let go of the file; called twice is allowed."""
        self._lines.close()

    def _advance(self) -> None:
        """Decide on all samples beside which every edge is known."""
        while self._at < self._end and self._step():
            pass
        if self._end - self._at > _HELD_S * self._hz:
            self._keep(self._end - round(_HELD_S * self._hz))

    def _step(self) -> bool:
        """Pass an edge, or decide on the samples up to the next border; return whether
        there may be more to decide.
        """
        margin = self.thinning.margin
        stop = min(self._end, self._sync_known - margin)
        if self._edges:
            near = int(self._edges[0][0] * self._hz) - margin
            if near <= self._at:
                self._pass_edge(*self._edges.popleft())
                return True
            stop = min(stop, near)
        before = self._at
        if stop <= before:
            return False
        state = self._state()
        if state is _State.NEAR_EDGE:
            self._keep(min(stop, self._clear_from))
        elif state is _State.MEASURED:
            self._keep(stop)
        else:
            self._leave_out_means(stop)
            if self._edges:
                self._keep(stop)
        return self._at > before

    def _state(self) -> _State:
        if self._at < self._clear_from:
            return _State.NEAR_EDGE
        return _State.QUIET if self._is_quiet() else _State.MEASURED

    def _leave_out_means(self, stop: int) -> None:
        """Leave out the samples up to `stop` that whole means stand for."""
        every = self.thinning.every
        begin = -(-self._at // every) * every
        end = stop // every * every
        if end > begin:
            self._keep(begin)
            self._leave_out(end)

    def _pass_edge(self, at_s: float, is_fall: bool) -> None:
        self._clear_from = int(at_s * self._hz) + 1 + self.thinning.margin
        if is_fall:
            self._falls += 1
            self._last_two_s = (self._last_two_s[1], at_s)

    def _is_quiet(self) -> bool:
        """Check whether the stretch after the last edge is free of measurements."""
        quiet = None if self._lost_count else self._times.after(self._falls)
        if quiet is None:
            return False
        apart_s = self._last_two_s[1] - self._last_two_s[0]
        if abs(apart_s - quiet.apart_s) <= _SHARE * quiet.apart_s + _WAIT_S:
            return True
        self._lost_count = (
            f"edge {self._falls} came {apart_s:.6f} s after the one before, mark"
            f" {self._falls} {quiet.apart_s:.6f} s"
        )
        return False

    def _keep(self, stop: int) -> None:
        """Write samples up to number `stop`."""
        if stop > self._at:
            # The span before them is written first: a reader of a file that was
            # cut off here knows where they belong.
            self._finish()
        while self._at < stop:
            self._put(self._at, *self._next(stop))

    def _leave_out(self, stop: int) -> None:
        start = self._at if self._open is None else self._open.start
        while self._at < stop:
            self._next(stop)
        self._open = ReducedSpan(start, stop)

    def _next(self, stop: int) -> tuple[Float32s, Float32s]:
        """Take the next block of held samples, up to number `stop`."""
        current, voltage = self._held.popleft()
        count = min(len(current), stop - self._at)
        if count < len(current):
            self._held.appendleft((current[count:], voltage[count:]))
        self._at += count
        return current[:count], voltage[:count]

    def _finish(self) -> None:
        if self._open is None:
            return
        try:
            self._lines.write(json.dumps(typed.to_json(self._open)) + "\n")
            self._lines.flush()
        except OSError as error:
            raise storage_error(error, self._folder) from error
        self._spans += 1
        self._left_out += self._open.stop - self._open.start
        self._open = None

    def _mean(self, current: Float32s, voltage: Float32s, every: int) -> None:
        if len(current):
            with np.errstate(invalid="ignore"):  # infinite values have no mean
                power = np.multiply(current, voltage, dtype=np.float64)
            means = []
            for row in (current, voltage, power):
                mean = row.reshape(-1, every).mean(axis=1, dtype=np.float64)
                means.append(mean.astype(np.float32))
            self._put_means(*means)
