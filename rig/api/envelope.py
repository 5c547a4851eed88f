# SPDX-License-Identifier: Apache-2.0
"""Least, mean and most of a long trace in few columns, through the index of its JLS file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rig.trace.gaps import Gap, joined
from rig.trace.reduce import Table
from rig.trace.trace import CURRENT, VOLTAGE, Trace, reading

Array = NDArray[np.float64]

#: So many samples are read rather than looked up: a few milliseconds.
_READ = 1 << 20
#: Of so many columns in which samples are lost the rest is looked up, where time is short.
_QUICK = 50
_SIGNALS = {"current": (CURRENT, "a"), "voltage": (VOLTAGE, "v")}
#: Columns of pyjls's statistics.
_MEAN = 0
_LEAST = 2
_MOST = 3


def samples(reader: Any, trace: Trace, signal: int, first: int, last: int) -> Array:
    """Return samples first <= k < last of a signal; those that are lost are NaN."""
    values = np.asarray(reader.fsr(signal, first, last - first), dtype=np.float64)
    for gap in trace.gaps:
        if gap.start < last and gap.stop > first:
            values[max(gap.start - first, 0) : max(gap.stop - first, 0)] = np.nan
    return values


def summary(trace: Trace, first: int, last: int, columns: int, power: bool) -> dict[str, Array]:
    """Return the columns of a summary of samples first <= k < last, by name."""
    with reading(trace.path) as reader:
        if last - first <= _READ:
            bounds = _divided(first, last, columns)
            table = _exact(reader, trace, bounds)
        else:
            bounds = _aligned(reader, trace, first, last, columns)
            table = _indexed(reader, trace, bounds)
        if power:
            table |= _named("power", "w", _power(reader, trace, bounds))
    times = {"start_s": bounds[:-1] / trace.sample_hz, "stop_s": bounds[1:] / trace.sample_hz}
    return times | table


def _divided(first: int, last: int, columns: int) -> NDArray[np.int64]:
    """Return the borders of columns of about equal width, at least a sample each."""
    count = min(columns, last - first)
    return np.linspace(first, last, count + 1).round().astype(np.int64)


def of_table(times_s: Array, table: Table, power: bool) -> dict[str, Array]:
    """Return the columns of a table with borders at these times, by name."""
    found = {"start_s": times_s[:-1], "stop_s": times_s[1:]}
    units = {"current": "a", "voltage": "v"} | ({"power": "w"} if power else {})
    for place, (name, unit) in enumerate(units.items()):
        found |= _named(name, unit, table.rows[3 * place : 3 * place + 3].T)
    return found


def indexed(
    trace: Trace, first: int, last: int, columns: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return borders of columns, and least, mean and most of current and of voltage, six rows, as
    the file's index has them; columns of which the index knows no number are NaN.
    """
    with reading(trace.path) as reader:
        bounds = _aligned(reader, trace, first, last, columns)
        rows = _indexed(reader, trace, bounds, _QUICK)
    return bounds, np.array(list(rows.values()))


def _aligned(reader: Any, trace: Trace, first: int, last: int, columns: int) -> NDArray[np.int64]:
    """Return the borders of columns that are whole entries of the index, aligned to absolute
    multiples: only for these pyjls's statistics are exact.
    """
    layout = next(s for s in reader.signals.values() if s.signal_id == CURRENT)
    width = -(-(last - first) // columns)
    entry = int(layout.sample_decimate_factor)
    while entry * layout.summary_decimate_factor <= width:
        entry *= int(layout.summary_decimate_factor)
    while True:
        step = -(-width // entry) * entry
        begin = first // step * step
        bounds = np.arange(begin, last + step, step, dtype=np.int64)
        if len(bounds) - 1 <= columns:
            return np.minimum(bounds, trace.length)
        width = step + 1


def _exact(reader: Any, trace: Trace, bounds: NDArray[np.int64]) -> dict[str, Array]:
    table: dict[str, Array] = {}
    for name, (signal, unit) in _SIGNALS.items():
        if len(bounds) < 2:
            values = np.zeros(0)
        else:
            values = samples(reader, trace, signal, int(bounds[0]), int(bounds[-1]))
        table |= _named(name, unit, _reduced(values, bounds))
    return table


def _indexed(
    reader: Any, trace: Trace, bounds: NDArray[np.int64], most: int = 1 << 62
) -> dict[str, Array]:
    """Return what the index says; of `most` columns in which samples are lost, or where it may not
    reach, what it says of the parts beside them.
    """
    step = int(bounds[1] - bounds[0])
    whole = len(bounds) - 1 - (int(bounds[-1] - bounds[-2]) < step)
    doubtful = dict.fromkeys(range(whole, len(bounds) - 1))
    for gap in trace.gaps:
        low = max(int(np.searchsorted(bounds, gap.start, side="right")) - 1, 0)
        high = int(np.searchsorted(bounds, gap.stop, side="left"))
        doubtful |= dict.fromkeys(range(low, min(high, len(bounds) - 1)))
    gaps = joined(trace.gaps)
    table: dict[str, Array] = {}
    for name, (signal, unit) in _SIGNALS.items():
        found = np.full((len(bounds) - 1, 3), np.nan)
        if whole:
            statistics = reader.fsr_statistics(signal, int(bounds[0]), step, whole)
            found[:whole] = statistics[:, [_LEAST, _MEAN, _MOST]]
        for place in list(doubtful)[:most]:
            start, stop = int(bounds[place]), int(bounds[place + 1])
            found[place] = _column(reader, signal, _units(reader, signal), start, stop, gaps)
        table |= _named(name, unit, found)
    return table


def _units(reader: Any, signal: int) -> list[int]:
    """Return how many samples an entry of each level of a signal's index stands for."""
    layout = next(row for row in reader.signals.values() if row.signal_id == signal)
    units = [int(layout.sample_decimate_factor)]
    while units[-1] * int(layout.summary_decimate_factor) <= int(layout.length):
        units.append(units[-1] * int(layout.summary_decimate_factor))
    return units


def _column(
    reader: Any, signal: int, units: list[int], start: int, stop: int, gaps: Sequence[Gap]
) -> Array:
    """Return least, mean and most of the samples of one column that are not lost: from the index
    where whole entries of it are known, and from the samples beside them.
    """
    parts: list[Array] = []
    at = start
    for gap in (
        *(gap for gap in gaps if gap.stop > start and gap.start < stop),
        Gap(stop, stop, ""),
    ):
        while at < gap.start:
            found, at = _part(reader, signal, units, at, gap.start)
            parts.append(found)
        at = max(at, gap.stop)
    rows = np.concatenate(parts) if parts else np.zeros((0, 4))
    rows = rows[rows[:, 3] > 0]
    if not len(rows):
        return np.full(3, np.nan)
    mean = float(np.average(rows[:, 1], weights=rows[:, 3]))
    return np.array([rows[:, 0].min(), mean, rows[:, 2].max()])


def _part(reader: Any, signal: int, units: list[int], at: int, stop: int) -> tuple[Array, int]:
    """Return rows of least, mean, most and count from a sample on, as far as one look reaches, and
    the sample behind them.
    """
    fitting = [unit for unit in units if at % unit == 0 and at + unit <= stop]
    if fitting:
        unit = fitting[-1]
        larger = next((above for above in units if above > unit), 1 << 62)
        count = (min(stop, at - at % larger + larger) - at) // unit
        found = reader.fsr_statistics(signal, at, unit, count)
        rows = found[:, [_LEAST, _MEAN, _MOST]]
        return np.column_stack([rows, np.full(count, float(unit))]), at + count * unit
    until = min(stop, at - at % units[0] + units[0])
    values = np.asarray(reader.fsr(signal, at, until - at), dtype=np.float64)
    values = values[np.isfinite(values)]
    if not len(values):
        return np.zeros((1, 4)), until
    return np.array([[values.min(), values.mean(), values.max(), len(values)]]), until


def _power(reader: Any, trace: Trace, bounds: NDArray[np.int64]) -> Array:
    """Return least, mean and most of the power, read in pieces of whole columns."""
    found = []
    at = 0
    while at < len(bounds) - 1:
        enough = int(np.searchsorted(bounds, bounds[at] + _READ, side="right")) - 1
        until = max(enough, at + 1)
        piece = bounds[at : until + 1]
        ends = (int(piece[0]), int(piece[-1]))
        power_w = samples(reader, trace, CURRENT, *ends) * samples(reader, trace, VOLTAGE, *ends)
        found.append(_reduced(power_w, piece))
        at = until
    return np.concatenate(found) if found else np.zeros((0, 3))


def _reduced(values: Array, bounds: NDArray[np.int64]) -> Array:
    """Return least, mean and most of the finite values between borders; NaN where there are
    none.
    """
    if not len(values):
        return np.zeros((max(len(bounds) - 1, 0), 3))
    known = np.isfinite(values)
    starts = bounds[:-1] - bounds[0]
    counts = np.add.reduceat(known.astype(np.int64), starts)
    sums = np.add.reduceat(np.where(known, values, 0.0), starts)
    least = np.minimum.reduceat(np.where(known, values, np.inf), starts)
    most = np.maximum.reduceat(np.where(known, values, -np.inf), starts)
    mean = np.divide(sums, counts, out=np.full(len(starts), np.nan), where=counts > 0)
    none = counts == 0
    return np.column_stack([np.where(none, np.nan, least), mean, np.where(none, np.nan, most)])


def _named(name: str, unit: str, found: NDArray[np.floating[Any]]) -> dict[str, Any]:
    return {f"{name}_{what}_{unit}": found[:, at] for at, what in enumerate(("min", "mean", "max"))}
