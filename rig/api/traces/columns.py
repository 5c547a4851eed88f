# SPDX-License-Identifier: Apache-2.0
"""Columns of a picture of a trace: least, mean and most as plain arrays, quick at every
zoom.

They are for display only: numbers come from `SessionTrace.statistics`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rig.api.traces import file_index
from rig.api.traces.samples import signals
from rig.arrays import Int64s, Reals
from rig.trace import reduce
from rig.trace.levels import ENTRY, Hidden, Levels, borders
from rig.trace.reduce import CURRENT_ROW, POWER_ROW, VOLTAGE_ROW, Table
from rig.trace.trace import Trace, reading

Array = NDArray[np.float64]

#: The signals of a trace, and the unit of each.
UNITS = {"current": "A", "voltage": "V", "power": "W"}
#: So many samples are read rather than looked up where the levels are not there yet.
READ = 1 << 19


@dataclass(frozen=True, slots=True)
class Band:
    """Least, mean and most of a signal in each column; NaN where no sample is known."""

    least: Array
    mean: Array
    most: Array


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns that cover a stretch of time, from `start_s` to `stop_s` each.

    They begin at whole multiples of their width, so that they stay where they are while
    the stretch moves, and reach a little over both ends. A signal is None where it is
    not known (yet): power before the trace is prepared, current and voltage of a file
    of power alone. `known` is the share of each column's samples that are known; None
    where the file's own index does not say. `labels` must stand beside the drawing;
    the units are those of UNITS.

    Until a file of another program is prepared, columns beside samples that are no
    numbers may lack an extreme in very long stretches: its index loses it there.
    """

    start_s: Array
    stop_s: Array
    current: Band | None
    voltage: Band | None
    power: Band | None
    known: Array | None
    labels: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.start_s)

    @property
    def middle_s(self) -> Array:
        """Middles of the columns."""
        return (self.start_s + self.stop_s) / 2


def columns(
    trace: Trace,
    levels: Levels | None,
    hidden: Hidden,
    first: int,
    last: int,
    count: int,
    has_current: bool,
) -> Columns:
    """Return at most `count` columns of samples first <= k < last."""
    if last <= first:
        return _named(trace, np.zeros(1, dtype=np.int64), reduce.empty(), has_current)
    # A few columns less cost less than to read so many samples.
    few = ENTRY * count * 3 // 4 if levels is not None else READ
    if last - first <= few:
        return _named(trace, *_read(trace, hidden, first, last, count), has_current)
    if levels is not None:
        return _named(trace, *levels.columns(first, last, count), has_current)
    bounds, rows = file_index.quick(trace, first, last, count)
    return _named(trace, bounds, _of_index(bounds, rows), has_current, whole=False)


def summary(
    trace: Trace,
    levels: Levels | None,
    hidden: Hidden,
    first: int,
    last: int,
    count: int,
) -> dict[str, Array]:
    """Return at most `count` columns that cover samples first <= k < last, by name.
    Few samples are read and covered exactly. Of others power is NaN without the levels.
    """
    if last - first <= READ:
        edges = np.linspace(first, last, min(count, last - first) + 1)
        bounds = edges.round().astype(np.int64)
        every = reduce.of_samples(*signals(trace, hidden, first, last), 0, 1)
        table = reduce.coarser(every, bounds[:-1] - first)
    elif levels is not None:
        bounds, table = levels.columns(first, last, count)
    else:
        bounds, rows = file_index.quick(trace, first, last, count, most=count)
        table = _of_index(bounds, rows)
    borders_s = bounds / trace.sample_hz
    content = {"start_s": borders_s[:-1], "stop_s": borders_s[1:]}
    for place, (name, unit) in enumerate(UNITS.items()):
        for part, word in enumerate(("min", "mean", "max")):
            content[f"{name}_{word}_{unit.lower()}"] = table.rows[3 * place + part]
    return content


def _of_index(bounds: Int64s, known: Array) -> Table:
    rows = np.full((9, len(bounds) - 1), np.nan)
    rows[:POWER_ROW] = known
    return Table(rows, np.diff(bounds))


def _read(
    trace: Trace, hidden: Hidden, first: int, last: int, count: int
) -> tuple[Int64s, Table]:
    bounds = borders(first, last, count, 1)
    width = int(bounds[1] - bounds[0])
    end = min(int(bounds[-1]), trace.length)
    begin = int(bounds[0])
    with reading(trace.path) as reader:
        current, voltage = trace.samples(reader, begin, end - begin)
    hidden.hide(begin, current, voltage)
    return np.minimum(bounds, trace.length), reduce.of_samples(
        current, voltage, begin, width
    )


def _named(
    trace: Trace,
    bounds: Int64s,
    table: Table,
    has_current: bool,
    whole: bool = True,
) -> Columns:
    times_s = bounds / trace.sample_hz
    wide = np.maximum(np.diff(bounds), 1)
    power = _band(table.rows, POWER_ROW) if whole else None
    if not has_current and not whole:
        # Of power alone the file has the power in the place of the current.
        power = _band(table.rows, CURRENT_ROW)
    start_s, stop_s = times_s[:-1], times_s[1:]
    current = _band(table.rows, CURRENT_ROW) if has_current else None
    voltage = _band(table.rows, VOLTAGE_ROW) if has_current else None
    known = table.known / wide if whole else None
    return Columns(
        start_s=start_s,
        stop_s=stop_s,
        current=current,
        voltage=voltage,
        power=power,
        known=known,
    )


def _band(rows: Reals, row: int) -> Band:
    least, mean, most = rows[row : row + 3].astype(np.float64, copy=False)
    return Band(least, mean, most)
