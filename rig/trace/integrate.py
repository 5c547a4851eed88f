# SPDX-License-Identifier: Apache-2.0
"""Sums of power, current and voltage over samples, by range of the current. Pure."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rig.arrays import Bools, Float32s, Float64s, Reals

#: Samples that are summed at once: of those whose current lies within one range none is
#: looked at on its own.
_CELL = 512
#: Samples that are converted to double precision at once: a processor's second cache
#: holds them and their products. Whole cells.
_CACHED = 1 << 15


class BlockSums(NamedTuple):
    """Sums over a block of samples, and the extremes of its power in watts, which are
    NaN where a product of current and voltage is none.

    Each of `terms` has rows for power (W), current (A) and voltage (V), and a column
    for each range. They are added one after the other: the last digit depends on it.
    """

    terms: tuple[Float64s, ...]
    least_w: float
    most_w: float

    @property
    def has_numbers_alone(self) -> bool:
        """Whether each current and each voltage is a finite number."""
        return math.isfinite(self.least_w) and math.isfinite(self.most_w)


class Sums:
    """Sums over samples in each range of the current, and the extremes of the power.

    `ranges_a` are upper ends of ranges, ascending; a sample belongs to the first range
    whose end its current, of either sign, does not exceed, and one beyond them all, or
    without a number, to a last column of its own. Samples are in single precision,
    products and sums in double.
    """

    def __init__(self, ranges_a: Sequence[float] = ()) -> None:
        self.ranges_a = tuple(ranges_a)
        # Samples are in single precision: one that reads 0.05 A is 0.050000000745.
        self._ends = [max(end, float(np.float32(end))) for end in ranges_a]
        self._ends_a = np.array(self._ends, dtype=np.float64)
        # Kept: to give memory of this size back after each block, and take it again,
        # costs more than the arithmetic.
        self._rows = np.empty((3, _CACHED))
        self.clear()

    def clear(self) -> None:
        """Begin again: `sums` of power (W), current (A), voltage (V), a row each, a
        column for each range and one for beyond; `least_w`, `most_w`.
        """
        self.sums = np.zeros((3, len(self._ends) + 1))
        self.least_w = np.inf
        self.most_w = -np.inf

    def add(self, current_a: Float32s, voltage_v: Float32s) -> None:
        """Add samples."""
        if len(current_a):
            self.add_block(self.of_block(current_a, voltage_v))

    def add_block(self, block: BlockSums) -> None:
        """Add a block of samples by its sums."""
        for term in block.terms:
            self.sums += term
        self.least_w = min(self.least_w, block.least_w)
        self.most_w = max(self.most_w, block.most_w)

    def of_block(self, current_a: Float32s, voltage_v: Float32s) -> BlockSums:
        """Return the sums over at least one sample, and do not add them."""
        self._least_w, self._most_w = np.inf, -np.inf
        terms = (
            self._by_range(current_a, voltage_v)
            if self._ends
            else (self._pairwise(current_a, voltage_v),)
        )
        return BlockSums(terms, float(self._least_w), float(self._most_w))

    def _in_double(self, current_a: Float32s, voltage_v: Float32s) -> Float64s:
        """Return power, current and voltage of a few samples, a row each, which hold
        until the next call; note the extremes of the power.
        """
        rows = self._rows[:, : len(current_a)]
        power, current, voltage = rows
        current[:] = current_a
        voltage[:] = voltage_v
        np.multiply(current, voltage, out=power)
        self._least_w = np.minimum.reduce(power, initial=self._least_w)
        self._most_w = np.maximum.reduce(power, initial=self._most_w)
        return rows

    def _pairwise(self, current_a: Float32s, voltage_v: Float32s) -> Float64s:
        """Return the sums over all samples, added in NumPy's order of a row: it halves
        a long one, at a multiple of eight.
        """
        count = len(current_a)
        if count <= _CACHED:
            rows = self._in_double(current_a, voltage_v)
            return np.add.reduce(rows, axis=1, keepdims=True)
        half = count // 2 // 8 * 8
        before = self._pairwise(current_a[:half], voltage_v[:half])
        return before + self._pairwise(current_a[half:], voltage_v[half:])

    def _by_range(
        self, current_a: Float32s, voltage_v: Float32s
    ) -> tuple[Float64s, ...]:
        """Return the sums in each range: over cells, and over the samples apart."""
        count = len(current_a)
        whole = count - count % _CELL
        cells = np.empty((3, whole // _CELL))
        for first in range(0, count, _CACHED):
            part = slice(first, first + _CACHED)
            rows = self._in_double(current_a[part], voltage_v[part])
            full = rows.shape[1] // _CELL
            of_part = cells[:, first // _CELL : first // _CELL + full]
            in_cells = rows[:, : full * _CELL].reshape(3, full, _CELL)
            np.add.reduce(in_cells, axis=2, out=of_part)
            rest = rows[:, full * _CELL :]
        place = self._place(float(current_a.min()), float(current_a.max()))
        if place is not None:
            return tuple(self._at(place, each) for each in (cells, rest) if each.size)
        if not whole:
            return (self._put(self._places(rest[1]), rest),)
        places = self._places_of_cells(current_a[:whole].reshape(-1, _CELL))
        is_mixed = places > len(self._ends)
        apart_a = _apart(current_a, whole, is_mixed)
        apart_v = _apart(voltage_v, whole, is_mixed)
        apart_w = np.multiply(apart_a, apart_v, dtype=np.float64)
        of_apart = self._put(self._places(apart_a), (apart_w, apart_a, apart_v))
        return self._put(places, cells), of_apart

    def take(self, current_a: float, voltage_v: float, share: float) -> None:
        """Add a share of one sample, which may be negative."""
        place = (
            bisect_left(self._ends, abs(current_a))
            if current_a == current_a
            else len(self._ends)
        )
        for row, value in enumerate((current_a * voltage_v, current_a, voltage_v)):
            self.sums[row, place] += share * value

    def _place(self, least_a: float, most_a: float) -> int | None:
        """Return the range of all currents between two; None where it is not one, or
        where one is no number.
        """
        if least_a != least_a:
            return None
        low, high = (bisect_left(self._ends, abs(end_a)) for end_a in (least_a, most_a))
        is_one = low == high and (least_a >= 0 or most_a <= 0 or low == 0)
        return low if is_one else None

    def _at(self, place: int, rows: Float64s) -> Float64s:
        """Return the sums of rows in one range."""
        result = np.zeros((3, len(self._ends) + 1))
        # One by one from the first on, as they are put into ranges below.
        result[:, place] = np.cumsum(rows, axis=1)[:, -1]
        return result

    def _places(self, current_a: Reals) -> NDArray[np.intp]:
        """Return the range of each current."""
        return np.searchsorted(self._ends_a, np.abs(current_a))

    def _places_of_cells(self, current_a: Float32s) -> NDArray[np.intp]:
        """Return the range of each row of currents; one more than there are for rows
        that do not lie within one range.
        """
        least_a = current_a.min(axis=1)
        most_a = current_a.max(axis=1)
        low, high = self._places(np.array([least_a, most_a]))
        is_one = (low == high) & ((least_a >= 0) | (most_a <= 0) | (low == 0))
        return np.where(is_one, low, len(self._ends) + 1)

    def _put(self, places: NDArray[np.intp], rows: Iterable[Reals]) -> Float64s:
        """Return the sums of rows in each range; a place beyond all is left out."""
        width = len(self._ends) + 1
        sums = [np.bincount(places, values, minlength=width) for values in rows]
        return np.array(sums, dtype=np.float64)[:, :width]


def _apart(values: Float32s, whole: int, is_mixed: Bools) -> Float32s:
    """Return the samples after the last cell, and those of mixed cells."""
    cells = values[:whole].reshape(-1, _CELL)
    return np.append(values[whole:], cells[is_mixed])
