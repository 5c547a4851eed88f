# SPDX-License-Identifier: Apache-2.0
"""Least, mean and most of current and voltage out of the index of a JLS file, without
reading the samples; pyjls's statistics are exact only for whole entries of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rig.arrays import Int64s
from rig.importers.tables.numeral import without_no_readings
from rig.trace.gaps import Gap, joined
from rig.trace.levels import borders
from rig.trace.reduced import CURRENT_MEAN, VOLTAGE_MEAN, Reduced
from rig.trace.trace import Trace, reading

Array = NDArray[np.float64]
#: Borders of columns, and rows of values of the columns.
_PlacedColumns = tuple[Int64s, Array]

#: Of so many columns with lost samples the rest is looked up, where time is
#: short.
_QUICK = 50
#: So many entries of the first level are looked up in a file that does not list its
#: gaps.
_ENTRIES = 100_000
#: Columns of pyjls's statistics.
_MEAN = 0
_LEAST = 2
_MOST = 3
_ROW = [_LEAST, _MEAN, _MOST]


def quick(
    trace: Trace, first: int, last: int, count: int, most: int = _QUICK
) -> _PlacedColumns:
    """Return borders of columns, and least, mean and most of current and of voltage,
    six rows, as the file's index has them. Of columns with lost samples at most `most`
    are looked up. Of a trace with reduced spans, least and most are those of its means.
    """
    with reading(trace.path) as reader:
        if trace.layout.reduced is not None:
            return _of_means(
                reader,
                trace.layout.reduced,
                trace.length,
                first=first,
                last=last,
                count=count,
            )
        bounds = aligned(reader, trace, first, last, count)
        return bounds, columns(reader, trace, bounds, most)


def _of_means(
    reader: Any, reduced: Reduced, length: int, first: int, last: int, count: int
) -> _PlacedColumns:
    every = reduced.thinning.every
    bounds = borders(first, last, count, every)
    begin = int(bounds[0]) // every
    end = min(int(bounds[-1]) // every, reduced.means)
    starts = np.minimum(bounds[:-1] // every - begin, max(end - begin - 1, 0))
    rows = []
    for signal in (CURRENT_MEAN, VOLTAGE_MEAN):
        if end <= begin:
            means = np.full(1, np.nan)
        else:
            means = reader.fsr(signal, begin, end - begin)
        known = np.isfinite(means)
        weights = np.add.reduceat(known.astype(np.int64), starts)
        total = np.add.reduceat(np.where(known, means, 0.0), starts)
        out = np.full(len(starts), np.nan)
        mean = np.divide(total, weights, out=out, where=weights > 0)
        rows += [np.fmin.reduceat(means, starts), mean, np.fmax.reduceat(means, starts)]
    return np.minimum(bounds, length), np.array(rows, dtype=np.float64)


def aligned(reader: Any, trace: Trace, first: int, last: int, count: int) -> Int64s:
    """Return the borders of at most `count` columns that are whole entries of the
    current's index, aligned to absolute multiples.
    """
    layout = _signal(reader, trace.layout.current)
    at = trace.layout.current_at
    width = -(-(last - first) // count)
    entry = int(layout.sample_decimate_factor)
    while entry * layout.summary_decimate_factor <= width:
        entry *= int(layout.summary_decimate_factor)
    while True:
        step = -(-width // entry) * entry
        begin = (first + at) // step
        end = -(-(last + at) // step)
        if end - begin <= count:
            bounds = np.arange(begin, end + 1, dtype=np.int64) * step - at
            return np.clip(bounds, 0, trace.length)
        width = step + 1


def columns(reader: Any, trace: Trace, bounds: Int64s, most: int) -> Array:
    """Return six rows with the index's values of each column; of `most` columns in
    which samples are lost, or that are no whole entries, the values of the parts on
    both sides.
    """
    layout = trace.layout
    current = _track(
        reader, trace, bounds, signal=layout.current, at=layout.current_at, most=most
    )
    if layout.voltage is None:
        voltage = np.where(np.isnan(current), np.nan, layout.fixed_v)
    elif layout.times == 1 and layout.voltage_at == layout.current_at:
        voltage = _track(
            reader,
            trace,
            bounds,
            signal=layout.voltage,
            at=layout.voltage_at,
            most=most,
        )
    else:
        places = (bounds + layout.voltage_at) / layout.times
        voltage = _overlapping(reader, layout.voltage, places)
    rows: Array = np.concatenate([current.T, voltage.T])
    return (
        rows if layout.cleaned is None else without_no_readings(rows).astype(np.float64)
    )


def _track(
    reader: Any,
    trace: Trace,
    bounds: Int64s,
    signal: int,
    at: int,
    most: int,
) -> Array:
    """Return least, mean and most of a signal whose sample `at` is the first of the
    trace, a row for each column.
    """
    widths = np.diff(bounds)
    step = int(widths.max())
    # The first and the last may be cut off by the ends of the trace.
    whole = np.flatnonzero(widths == step)
    found = np.full((len(widths), 3), np.nan)
    units = _units(reader, signal)
    first, last = int(whole[0]), int(whole[-1]) + 1
    if (int(bounds[first]) + at) % units[0] == 0 and step % units[0] == 0:
        begin = int(bounds[first]) + at
        width = step // units[0]
        if trace.layout.cleaned is not None and (last - first) * width <= _ENTRIES:
            # Where samples are no numbers, only the first level says all of the others.
            rows = reader.fsr_statistics(
                signal, begin, units[0], (last - first) * width
            )[:, _ROW]
            found[first:last] = _of_entries(rows.reshape(last - first, width, 3))
        else:
            found[first:last] = reader.fsr_statistics(
                signal, begin, step, last - first
            )[:, _ROW]
    else:
        last = first
    gaps = joined(trace.gaps)
    lost = _lost(gaps, bounds)
    found[lost == widths] = np.nan
    partly = np.flatnonzero((lost > 0) & (lost < widths)).tolist()
    doubtful = dict.fromkeys([*range(first), *range(last, len(widths)), *partly])
    gaps = [Gap(gap.start + at, gap.stop + at, gap.cause) for gap in gaps]
    for place in list(doubtful)[:most]:
        ends = int(bounds[place]) + at, int(bounds[place + 1]) + at
        found[place] = _column(reader, signal, units, *ends, gaps)
    return found


def _of_entries(rows: Array) -> Array:
    """Return least, mean and most of columns of entries; those without a number do not
    count."""
    known = np.isfinite(rows).all(axis=2)
    count = np.count_nonzero(known, axis=1)
    total = np.where(known, rows[:, :, 1], 0.0).sum(axis=1)
    out = np.full(len(rows), np.nan)
    mean = np.divide(total, count, out=out, where=count > 0)
    least = np.fmin.reduce(rows[:, :, 0], axis=1)
    most = np.fmax.reduce(rows[:, :, 2], axis=1)
    return np.column_stack([least, mean, most])


def _lost(gaps: Sequence[Gap], bounds: Int64s) -> Int64s:
    """Return how many samples of each column lie in gaps, which are in order and do not
    touch."""
    starts = np.array([gap.start for gap in gaps], dtype=np.int64)
    lengths = np.array([gap.stop - gap.start for gap in gaps], dtype=np.int64)
    before = np.concatenate([[0], np.cumsum(lengths)])
    place = np.searchsorted(starts, bounds, side="right")
    # Of the last gap that begins before a border, what of it lies before the border.
    last = np.maximum(place - 1, 0)
    until = before[place]
    if len(gaps):
        until = until - np.maximum(starts[last] + lengths[last] - bounds, 0) * (
            place > 0
        )
    lost: Int64s = np.diff(until)
    return lost


def _overlapping(reader: Any, signal: int, places: Array) -> Array:
    """Return the index's values of columns between places that are at no border of its
    entries: of all entries that a column touches, so that it misses no extreme.
    """
    length = int(_signal(reader, signal).length)
    width = float(np.diff(places).min())
    fitting = [unit for unit in _units(reader, signal) if unit <= max(width, 1.0)]
    unit = fitting[-1] if fitting else _units(reader, signal)[0]
    most = length // unit
    begin = min(int(places[0] // unit), most - 1)
    end = min(int(-(-places[-1] // unit)), most)
    if begin < 0 or end <= begin:
        return np.full((len(places) - 1, 3), np.nan)
    rows = reader.fsr_statistics(signal, begin * unit, unit, end - begin)[:, _ROW]
    starts = np.floor(places[:-1] / unit).astype(np.int64) - begin
    starts = np.clip(starts, 0, len(rows) - 1)
    stops = np.ceil(places[1:] / unit).astype(np.int64) - begin
    stops = np.clip(stops, starts + 1, len(rows))
    # Of each two borders the first stretch counts, and the one between two columns does
    # not.
    pairs = np.column_stack([starts, stops]).reshape(-1)
    rows = np.concatenate([rows, rows[-1:]])
    counts = (stops - starts).astype(np.float64)
    least = np.fmin.reduceat(rows[:, 0], pairs)[::2]
    mean = np.add.reduceat(rows[:, 1], pairs)[::2] / counts
    greatest = np.fmax.reduceat(rows[:, 2], pairs)[::2]
    return np.column_stack([least, mean, greatest])


def _signal(reader: Any, signal: int) -> Any:
    return next(row for row in reader.signals.values() if row.signal_id == signal)


def _units(reader: Any, signal: int) -> list[int]:
    """Return how many samples an entry of each level of a signal's index stands for."""
    layout = _signal(reader, signal)
    units = [int(layout.sample_decimate_factor)]
    while units[-1] * int(layout.summary_decimate_factor) <= int(layout.length):
        units.append(units[-1] * int(layout.summary_decimate_factor))
    return units


def _column(
    reader: Any,
    signal: int,
    units: list[int],
    start: int,
    stop: int,
    gaps: Sequence[Gap],
) -> Array:
    """Return least, mean and most of the samples of one column that are not lost: from
    the index where whole entries of it are known, and from the samples beside them.
    """
    parts: list[Array] = []
    at = start
    inside = [gap for gap in gaps if gap.stop > start and gap.start < stop]
    for gap in (*inside, Gap(stop, stop, "")):
        while at < gap.start:
            found, at = _part(reader, signal, units, at, gap.start)
            parts.append(found)
        at = max(at, gap.stop)
    rows = np.concatenate(parts) if parts else np.zeros((0, 4))
    rows = rows[rows[:, 3] > 0]
    if not len(rows):
        return np.full(3, np.nan)
    mean = float(np.average(rows[:, 1], weights=rows[:, 3]))
    least, most = rows[:, 0].min(), rows[:, 2].max()
    return np.array([least, mean, most])


def _part(
    reader: Any, signal: int, units: list[int], at: int, stop: int
) -> tuple[Array, int]:
    """Return rows of least, mean, most and count from a sample on, as far as one read
    reaches, and the sample after them.
    """
    fitting = [unit for unit in units if at % unit == 0 and at + unit <= stop]
    if fitting:
        unit = fitting[-1]
        larger = next((above for above in units if above > unit), 1 << 62)
        count = (min(stop, at - at % larger + larger) - at) // unit
        found = reader.fsr_statistics(signal, at, unit, count)
        rows = found[:, _ROW]
        return np.column_stack([rows, np.full(count, float(unit))]), at + count * unit
    until = min(stop, at - at % units[0] + units[0])
    values = np.asarray(reader.fsr(signal, at, until - at), dtype=np.float64)
    values = values[np.isfinite(values)]
    if not len(values):
        return np.zeros((1, 4)), until
    row = [values.min(), values.mean(), values.max(), len(values)]
    return np.array([row]), until
