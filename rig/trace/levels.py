# SPDX-License-Identifier: Apache-2.0
"""Levels of a trace: least, mean and most of current, voltage and power over many
samples each, so that a picture of any stretch costs the same. No number is ever taken
from them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rig.arrays import Int64s, Reals
from rig.trace import reduce
from rig.trace.gaps import Gap, joined, unreadable
from rig.trace.reduce import Table
from rig.trace.reduced import ReducedSpan
from rig.trace.trace import Trace, reading

#: Samples of an entry of the first level, and entries that make one of the next.
ENTRY = 256
_NEXT = 16
#: A column has at least so many entries where a finer level is there: its width is then
#: a multiple of them near the requested number.
_FINE = 4
_BLOCK = ENTRY << 12
#: Most gaps that are kept of a trace whose file lists none.
_MOST_GAPS = 100_000

Progress = Callable[[float], None]
Stopped = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Levels:
    """The levels of a trace, the finest first, and the samples that are no numbers."""

    length: int
    tables: tuple[Table, ...]
    unknown: tuple[Gap, ...] = ()

    @classmethod
    def of(cls, length: int, finest: Table, unknown: tuple[Gap, ...] = ()) -> Levels:
        """Return all levels above the finest."""
        tables = [finest]
        while len(tables[-1]) > _NEXT:
            below = tables[-1]
            tables.append(
                _single(reduce.coarser(below, np.arange(0, len(below), _NEXT)))
            )
        return cls(length, tuple(tables), unknown)

    def columns(self, first: int, last: int, columns: int) -> tuple[Int64s, Table]:
        """Return the borders of at most `columns` columns that cover samples first <= k
        < last, and their table; they begin at whole multiples of their width and reach
        a little over both ends.
        """
        width = -(-(last - first) // columns)
        level = 0
        while (
            level + 1 < len(self.tables)
            and ENTRY * _NEXT ** (level + 1) * _FINE <= width
        ):
            level += 1
        entry = ENTRY * _NEXT**level
        bounds = borders(first, last, columns, entry)
        entries = bounds[:-1] // entry
        begin = int(entries[0]) if len(entries) else 0
        end = -(-int(bounds[-1]) // entry)
        whole = self.tables[level]
        part = Table(whole.rows[:, begin:end], whole.known[begin:end])
        return np.minimum(bounds, self.length), reduce.coarser(part, entries - begin)


def borders(first: int, last: int, columns: int, entry: int) -> Int64s:
    """Return the borders of at most `columns` columns that begin at whole multiples of
    their width, itself a multiple of `entry`.
    """
    if last <= first:
        return np.zeros(1, dtype=np.int64)
    # Of columns that begin where they do anyway, one more may be needed than their
    # width says.
    for parts in (columns, columns - 1):
        width = -(-last // entry) * entry
        if parts:
            width = -(-(last - first) // (parts * entry)) * entry
        begin = first // width
        end = -(-last // width)
        if end - begin <= columns:
            break
    return np.arange(begin, end + 1, dtype=np.int64) * width


def build(
    trace: Trace, progress: Progress | None = None, stopped: Stopped | None = None
) -> Levels | None:
    """Read a whole trace and return its levels; None where `stopped` returns True.
    `progress` is called with the share that is done."""
    tables = []
    unknown: list[Gap] = []
    hidden = Hidden(trace.gaps)
    with reading(trace.path) as reader:
        for first in range(0, trace.length, _BLOCK):
            if stopped is not None and stopped():
                return None
            count = min(_BLOCK, trace.length - first)
            current, voltage = trace.samples(reader, first, count)
            for start, stop in unreadable(current, voltage).tolist():
                unknown.append(
                    Gap(first + start, first + stop, "samples are no numbers")
                )
            hidden.hide(first, current, voltage)
            tables.append(_single(reduce.of_samples(current, voltage, first, ENTRY)))
            if progress is not None:
                progress((first + count) / trace.length)
    known_gaps = tuple(joined(unknown)[:_MOST_GAPS])
    return Levels.of(trace.length, reduce.joined(tables), known_gaps)


class Hidden:
    """The samples in gaps, or of other stretches, of a block at a time."""

    def __init__(self, gaps: Sequence[Gap | ReducedSpan]) -> None:
        self._starts = np.array([gap.start for gap in gaps], dtype=np.int64)
        self._stops = np.array([gap.stop for gap in gaps], dtype=np.int64)

    def touch(self, first: int, last: int) -> NDArray[np.intp]:
        """Return which gaps touch samples first <= k < last."""
        return np.flatnonzero((self._starts < last) & (self._stops > first))

    def hide(self, first: int, *signals: Reals) -> None:
        """Make the samples of a block no numbers that lie in gaps; its first has number
        `first`."""
        for place in self.touch(first, first + len(signals[0])):
            start = max(int(self._starts[place]) - first, 0)
            for signal in signals:
                signal[start : int(self._stops[place]) - first] = np.nan


def _single(table: Table) -> Table:
    # In single precision, and counts in 32 bits: 1e9 samples take 160 MB.
    return Table(table.rows.astype(np.float32), table.known.astype(np.int32))
