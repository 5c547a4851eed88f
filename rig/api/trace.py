# SPDX-License-Identifier: Apache-2.0
"""A trace as numpy arrays, in SI units and seconds from its first sample, and a quick summary."""

from __future__ import annotations

import math
import shutil
import tempfile
import weakref
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rig.api import envelope
from rig.errors import DataError
from rig.importers.open import open_any
from rig.importers.opened import Opened, Options
from rig.trace.trace import CURRENT, SYNC, VOLTAGE, Gap, reading
from rig.units import quantity

if TYPE_CHECKING:
    import pandas

Array = NDArray[np.float64]

#: Columns of a summary that is as wide as a screen.
_COLUMNS = 1000


class SessionTrace:
    """A trace of the rig, or of another program's file.

    Times are seconds from the first sample; `start` and `stop` left out mean the ends of the
    trace. Sample k is the mean over [k, k + 1) / `sample_hz`. Lost samples are NaN.
    """

    def __init__(self, path: Path, opened: Opened) -> None:
        self.path = path
        self.origin = opened.origin
        self.notes = opened.notes
        self.has_current = opened.has_current
        self._trace = opened.trace

    @property
    def sample_hz(self) -> float:
        """Return the sampling rate of current, voltage and power."""
        return self._trace.sample_hz

    @property
    def sync_hz(self) -> float:
        """Return the sampling rate of `sync`."""
        return self._trace.edge_hz if self._trace.sync == "digital" else self._trace.sample_hz

    @property
    def duration_s(self) -> float:
        """Return the length of the trace."""
        return self._trace.duration_s

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """Return where samples are lost, or not to be trusted, and why."""
        return self._trace.gaps

    def times(self, start: float = 0.0, stop: float = math.inf) -> Array:
        """Return the times of the samples of `current`, `voltage` and `power`: of their middles."""
        first, last = self._places(start, stop, self.sample_hz)
        return (np.arange(first, last, dtype=np.float64) + 0.5) / self.sample_hz

    def current(self, start: float = 0.0, stop: float = math.inf) -> Array:
        """Return the current in amperes."""
        if not self.has_current:
            raise DataError(f"{self.path} has power alone, no current")
        return self._samples(CURRENT, start, stop)

    def voltage(self, start: float = 0.0, stop: float = math.inf) -> Array:
        """Return the voltage in volts."""
        if not self.has_current:
            raise DataError(f"{self.path} has power alone, no voltage")
        return self._samples(VOLTAGE, start, stop)

    def power(self, start: float = 0.0, stop: float = math.inf) -> Array:
        """Return the power in watts."""
        return self._samples(CURRENT, start, stop) * self._samples(VOLTAGE, start, stop)

    def sync(self, start: float = 0.0, stop: float = math.inf) -> NDArray[np.uint8]:
        """Return the level of SYNC, 0 or 1, at `sync_hz`; where it was not recorded as levels, it
        is made of the edges.
        """
        self._require_sync()
        first, last = self._places(start, stop, self.sync_hz)
        if self._trace.sync != "digital":
            return _levels(self._trace.falls_s, self._trace.rises_s, self.sync_times(start, stop))
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
        """Return the energy between two times, in joules, the end samples by their fraction."""
        return self._trace.energy_j(max(start, 0.0), min(stop, self.duration_s))

    def summary(
        self,
        start: float = 0.0,
        stop: float = math.inf,
        columns: int = _COLUMNS,
        power: bool = False,
    ) -> pandas.DataFrame:
        """Return least, mean and most of current and voltage in at most `columns` stretches of time
        that cover [start, stop).

        Long stretches come from the file's index and are whole entries of it, so that they are
        exact, and reach a little over both ends. Lost samples do not count; a stretch that has
        no other is NaN. `power` has no index: every sample is read.
        """
        import pandas

        if columns < 1:
            raise ValueError(f"{columns} columns: 1 or more")
        first, last = self._places(start, stop, self.sample_hz)
        return pandas.DataFrame(envelope.summary(self._trace, first, last, columns, power))

    def close(self) -> None:
        """Remove what was converted of another program's file; closing twice is allowed."""
        self._remove()

    def __enter__(self) -> SessionTrace:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        lost = f", {len(self.gaps)} gaps" if self.gaps else ""
        return (
            f"<Trace {self.path.name}: {quantity(self.duration_s, 's')} at "
            f"{quantity(self.sample_hz, 'Hz')}, SYNC {self._trace.sync or 'none'}{lost}>"
        )

    def _keep(self, scratch: Path) -> None:
        """Remove the folder of converted files when this trace is no longer used."""
        self._remove = weakref.finalize(self, shutil.rmtree, scratch, True)

    def _places(self, start: float, stop: float, rate_hz: float) -> tuple[int, int]:
        """Return the first sample that touches a window, and the first behind it."""
        if math.isnan(start) or math.isnan(stop):
            raise ValueError(f"a window from {start} to {stop}")
        end = round(self.duration_s * rate_hz)
        first = max(_rounded(start * rate_hz, math.floor), 0)
        last = end if stop >= self.duration_s else _rounded(stop * rate_hz, math.ceil)
        return min(first, end), max(min(last, end), min(first, end))

    def _samples(self, signal: int, start: float, stop: float) -> Array:
        first, last = self._places(start, stop, self.sample_hz)
        if last <= first:
            return np.zeros(0)
        with reading(self._trace.path) as reader:
            return envelope.samples(reader, self._trace, signal, first, last)

    def _require_sync(self) -> None:
        if self._trace.sync in ("", "none", "clock"):
            raise DataError(f"{self.path} has no SYNC")


def open_trace(path: Path | str, **options: Any) -> SessionTrace:
    """Open a trace of the rig, or a file of another program: JLS 1 and 2, Power Profiler, tables.

    `options` say what a foreign file does not: `source`, `current`, `voltage`, `power`, `sync`,
    `time`, `supply_v`, `rate_hz`, as the options of `rig measure` do.
    """
    scratch = Path(tempfile.mkdtemp(prefix="rig-trace-"))
    try:
        opened = open_any(Path(path), scratch, Options(**options))
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    trace = SessionTrace(Path(path), opened)
    trace._keep(scratch)
    return trace


def _rounded(place: float, how: Any) -> int:
    """Return a whole number of samples; what is off by rounding alone lies on the border."""
    if math.isinf(place):
        return 0 if place < 0 else 1 << 62
    near = round(place)
    return near if abs(place - near) < 1e-5 else int(how(place))


def _between(times_s: Array, start: float, stop: float) -> Array:
    return times_s[(times_s >= start) & (times_s < stop)]


def _levels(falls_s: Array, rises_s: Array, times_s: Array) -> NDArray[np.uint8]:
    """Return the level at each time: as the last edge left it; before the first, the opposite."""
    edges = np.concatenate([falls_s, rises_s])
    levels = np.repeat(np.array([0, 1], dtype=np.uint8), [len(falls_s), len(rises_s)])
    order = np.argsort(edges, kind="stable")
    levels = levels[order]
    # The line idles high.
    before = 1 - levels[:1] if len(levels) else np.ones(1, dtype=np.uint8)
    known = np.concatenate([before, levels])
    return known[np.searchsorted(edges[order], times_s, side="right")]
