# SPDX-License-Identifier: Apache-2.0
"""The samples of a trace as numpy arrays, in SI units and seconds from its first
sample."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rig.errors import DataError
from rig.importers.opened import Opened
from rig.trace.levels import Hidden
from rig.trace.reduced import Span
from rig.trace.trace import SYNC, Gap, Trace, reading

Array = NDArray[np.float64]


class TraceSamples:
    """A trace as arrays.

    Times are seconds from the first sample; `start` and `stop` left out mean the ends
    of the trace. Sample k is the mean over [k, k + 1) / `sample_hz`. Lost samples are
    NaN.
    """

    def __init__(self, path: Path, opened: Opened) -> None:
        self.path = path
        self.origin = opened.origin
        self.notes = opened.notes
        self.has_current = opened.has_current
        self._labels = opened.labels
        self._trace: Trace = opened.trace
        self._hidden = Hidden(opened.trace.gaps)

    @property
    def labels(self) -> tuple[str, ...]:
        """Return what must stand beside its numbers, as the file says it: SIMULATED,
        ..."""
        return self._labels

    @property
    def sample_hz(self) -> float:
        """Return the sampling rate of current, voltage and power."""
        return self._trace.sample_hz

    @property
    def has_sync(self) -> bool:
        """Return whether there is a SYNC line, recorded as levels or as edges."""
        return self._trace.sync not in ("", "none", "clock")

    @property
    def sync_hz(self) -> float:
        """Return the sampling rate of `sync`."""
        return (
            self._trace.edge_hz
            if self._trace.sync == "digital"
            else self._trace.sample_hz
        )

    @property
    def duration_s(self) -> float:
        """Return the length of the trace."""
        return self._trace.duration_s

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """Return where samples are lost, or not to be trusted, and why."""
        return self._trace.gaps

    @property
    def reduced(self) -> tuple[Span, ...]:
        """Return where means of samples stand in their place: between windows of a
        session with `between_windows = "reduced"`.
        """
        return self._trace.reduced

    def times(self, start: float = 0.0, stop: float = math.inf) -> Array:
        """Return the times of the samples of `current`, `voltage` and `power`: of their
        middles."""
        first, last = self._places(start, stop, self.sample_hz)
        return (np.arange(first, last, dtype=np.float64) + 0.5) / self.sample_hz

    def current(self, start: float = 0.0, stop: float = math.inf) -> Array:
        """Return the current in amperes."""
        self._require_signal("current")
        return self._samples(start, stop)[0]

    def voltage(self, start: float = 0.0, stop: float = math.inf) -> Array:
        """Return the voltage in volts."""
        self._require_signal("voltage")
        return self._samples(start, stop)[1]

    def power(self, start: float = 0.0, stop: float = math.inf) -> Array:
        """Return the power in watts."""
        current, voltage = self._samples(start, stop)
        return current * voltage

    def sync(self, start: float = 0.0, stop: float = math.inf) -> NDArray[np.uint8]:
        """Return the level of SYNC, 0 or 1, at `sync_hz`; where it was not recorded as
        levels, it is made of the edges.
        """
        self._require_sync()
        first, last = self._places(start, stop, self.sync_hz)
        if self._trace.sync != "digital":
            return levels_at(
                self._trace.falls_s, self._trace.rises_s, self.sync_times(start, stop)
            )
        if last <= first:
            return np.zeros(0, dtype=np.uint8)
        with reading(self._trace.path) as reader:
            begin = first // 8 * 8
            packed = reader.fsr(SYNC, begin, last - begin)
        levels = np.unpackbits(np.asarray(packed, dtype=np.uint8), bitorder="little")
        return levels[first - begin : last - begin]

    def sync_times(self, start: float = 0.0, stop: float = math.inf) -> Array:
        """Return the times of the samples of `sync`."""
        first, last = self._places(start, stop, self.sync_hz)
        return np.arange(first, last, dtype=np.float64) / self.sync_hz

    def falls(self, start: float = 0.0, stop: float = math.inf) -> Array:
        """Return the times of SYNC's falling edges."""
        self._require_sync()
        return _between(self._trace.falls_s, start, stop)

    def rises(self, start: float = 0.0, stop: float = math.inf) -> Array:
        """Return the times of SYNC's rising edges."""
        self._require_sync()
        return _between(self._trace.rises_s, start, stop)

    def energy(self, start: float = 0.0, stop: float = math.inf) -> float:
        """Return the energy between two times, in joules, the end samples by their
        fraction; where spans are `reduced`, of means of current times means of voltage.
        """
        return self._trace.energy_j(max(start, 0.0), min(stop, self.duration_s))

    def _places(self, start: float, stop: float, rate_hz: float) -> tuple[int, int]:
        """Return the first sample that touches a window, and the first behind it."""
        if math.isnan(start) or math.isnan(stop):
            raise ValueError(f"a window from {start} to {stop}")
        end = round(self.duration_s * rate_hz)
        first = max(_rounded(start * rate_hz, math.floor), 0)
        last = end if stop >= self.duration_s else _rounded(stop * rate_hz, math.ceil)
        return min(first, end), max(min(last, end), min(first, end))

    def _samples(self, start: float, stop: float) -> tuple[Array, Array]:
        """Return current and voltage; samples that are lost are NaN."""
        first, last = self._places(start, stop, self.sample_hz)
        if last <= first:
            return np.zeros(0), np.zeros(0)
        with reading(self._trace.path) as reader:
            signals = self._trace.samples(reader, first, last - first)
        current, voltage = (signal.astype(np.float64) for signal in signals)
        self._hidden.hide(first, current, voltage)
        return current, voltage

    def _require_signal(self, signal: str) -> None:
        if signal != "power" and not self.has_current:
            raise DataError(f"{self.path} has power alone, no {signal}")

    def _require_sync(self) -> None:
        if not self.has_sync:
            raise DataError(f"{self.path} has no SYNC")


def _rounded(place: float, how: Any) -> int:
    """Return a whole number of samples; what is off by rounding alone lies on the
    border."""
    if math.isinf(place):
        return 0 if place < 0 else 1 << 62
    near = round(place)
    return near if abs(place - near) < 1e-5 else int(how(place))


def _between(times_s: Array, start: float, stop: float) -> Array:
    return times_s[(times_s >= start) & (times_s < stop)]


def levels_at(falls_s: Array, rises_s: Array, times_s: Array) -> NDArray[np.uint8]:
    """Return the level at each time: as the last edge left it; before the first, the
    opposite."""
    edges = np.concatenate([falls_s, rises_s])
    levels = np.repeat(np.array([0, 1], dtype=np.uint8), [len(falls_s), len(rises_s)])
    order = np.argsort(edges, kind="stable")
    levels = levels[order]
    # The line idles high.
    before = 1 - levels[:1] if len(levels) else np.ones(1, dtype=np.uint8)
    known = np.concatenate([before, levels])
    return known[np.searchsorted(edges[order], times_s, side="right")]
