# SPDX-License-Identifier: Apache-2.0
"""Samples of a stretch of a trace as numpy arrays: current, voltage, and levels of
SYNC."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from rig.arrays import Float32s, Uint8s
from rig.errors import DataError
from rig.trace.levels import Hidden, Stopped
from rig.trace.trace import SYNC, Trace, reading

Array = NDArray[np.float64]

#: An instant this close to the border of two samples, in samples, lies on it.
_ON_BORDER = 1e-5


class Cancelled(Exception):
    """The request was cancelled."""


def blocks(
    trace: Trace,
    first: int,
    last: int,
    size: int,
    stopped: Stopped | None = None,
    hidden: Hidden | None = None,
) -> Iterator[tuple[int, Float32s, Float32s]]:
    """Yield number, current and voltage of samples first <= k < last, at most `size` at
    once; lost ones, or those that are `hidden`, are NaN. Raises Cancelled.
    """
    hidden = Hidden(trace.gaps) if hidden is None else hidden
    with reading(trace.path) as reader:
        for at in range(first, last, size):
            if stopped is not None and stopped():
                raise Cancelled
            current, voltage = trace.samples(reader, at, min(size, last - at))
            hidden.hide(at, current, voltage)
            yield at, current, voltage


def stretch(
    start_s: float, stop_s: float, duration_s: float, sample_hz: float
) -> tuple[float, float]:
    """Return the ends of a stretch of a trace; a stop that is infinite, and an end that
    lies less than a sample outside, is that of the trace. Raises DataError for other
    stretches that are not inside it.
    """
    period_s = 1 / sample_hz
    inside_s = max(start_s, 0.0), min(stop_s, duration_s)
    is_late = duration_s + period_s <= stop_s < math.inf
    if start_s <= -period_s or is_late or not inside_s[0] <= inside_s[1]:
        raise DataError(
            f"{start_s:.9g} s to {stop_s:.9g} s is no stretch of the trace",
            evidence=f"it is {duration_s:.9g} s long",
            try_next="a start before the stop, both inside the trace",
        )
    return inside_s


def places(
    start: float, stop: float, duration_s: float, rate_hz: float
) -> tuple[int, int]:
    """Return the first sample that touches a window, and the first after it."""
    if math.isnan(start) or math.isnan(stop):
        raise ValueError(f"a window from {start} to {stop}")
    end = round(duration_s * rate_hz)
    first = max(_rounded(start * rate_hz, math.floor), 0)
    last = end if stop >= duration_s else _rounded(stop * rate_hz, math.ceil)
    return min(first, end), max(min(last, end), min(first, end))


def signals(trace: Trace, hidden: Hidden, first: int, last: int) -> tuple[Array, Array]:
    """Return current and voltage of samples first <= k < last; lost ones are NaN."""
    if last <= first:
        return np.zeros(0), np.zeros(0)
    with reading(trace.path) as reader:
        stored = trace.samples(reader, first, last - first)
    current, voltage = (signal.astype(np.float64) for signal in stored)
    hidden.hide(first, current, voltage)
    return current, voltage


def sync_levels(trace: Trace, first: int, last: int, rate_hz: float) -> Uint8s:
    """Return the levels of SYNC, 0 or 1, of samples first <= k < last at this rate;
    where they were not recorded, they are made of the edges.
    """
    if trace.sync != "digital":
        times_s = np.arange(first, last, dtype=np.float64) / rate_hz
        return levels_at(trace.falls_s, trace.rises_s, times_s)
    if last <= first:
        return np.zeros(0, dtype=np.uint8)
    # JLS stores eight levels to a byte.
    begin = first // 8 * 8
    with reading(trace.path) as reader:
        packed = reader.fsr(SYNC, begin, last - begin)
    levels = np.unpackbits(np.asarray(packed, dtype=np.uint8), bitorder="little")
    return levels[first - begin : last - begin]


def between(times_s: Array, start: float, stop: float) -> Array:
    """Return the times from `start` on and before `stop`."""
    return times_s[(times_s >= start) & (times_s < stop)]


def levels_at(falls_s: Array, rises_s: Array, times_s: Array) -> Uint8s:
    """Return the level at each time: as the last edge left it; before the first, the
    opposite."""
    edges = np.concatenate([falls_s, rises_s])
    both = np.array([0, 1], dtype=np.uint8)
    levels = np.repeat(both, [len(falls_s), len(rises_s)])
    order = np.argsort(edges, kind="stable")
    levels = levels[order]
    # The line idles high.
    before = 1 - levels[:1] if len(levels) else np.ones(1, dtype=np.uint8)
    known = np.concatenate([before, levels])
    return known[np.searchsorted(edges[order], times_s, side="right")]


def _rounded(place: float, how: Callable[[float], int]) -> int:
    """Return a whole number of samples; rounding errors do not move an instant from
    the border of two.
    """
    if math.isinf(place):
        return 0 if place < 0 else 1 << 62
    near = round(place)
    return near if abs(place - near) < _ON_BORDER else int(how(place))
