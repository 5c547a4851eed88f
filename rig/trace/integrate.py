# SPDX-License-Identifier: Apache-2.0
"""Sums of power, current and voltage over samples, by range of the current. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rig.arrays import Float32s, Float64s

#: Samples that are summed at once: of those whose current lies within one range none is
#: looked at on its own.
_CELL = 512


class Sums:
    """Sums over samples in each range of the current, and the extremes of the power.

    `ends_a` are the ranges' upper ends, ascending; a sample belongs to the first range
    whose end its current, of either sign, does not exceed, and one beyond them all, or
    without a number, to a last column of its own. At most `most` samples are added at
    once. Samples are in single precision, products and sums in double.
    """

    def __init__(self, ends_a: Sequence[float], most: int) -> None:
        # Samples are in single precision: one that reads 0.05 A is 0.050000000745.
        self._ends = [max(end, float(np.float32(end))) for end in ends_a]
        self._ends_a = np.array(self._ends, dtype=np.float64)
        # Kept: to give memory of this size back after each block, and take it again,
        # costs more than the arithmetic.
        self._rows = np.empty((3, most))
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
        count = len(current_a)
        if not count:
            return
        rows = self._rows[:, :count]
        power, current, voltage = rows
        current[:] = current_a
        voltage[:] = voltage_v
        np.multiply(current, voltage, out=power)
        self.least_w = min(self.least_w, float(power.min()))
        self.most_w = max(self.most_w, float(power.max()))
        if not self._ends:
            self.sums[:, 0] += rows.sum(axis=1)
            return
        whole = count - count % _CELL
        cells = rows[:, :whole].reshape(3, -1, _CELL)
        place = self._place(float(current_a.min()), float(current_a.max()))
        if place is not None:
            for values in (cells.sum(axis=2), rows[:, whole:]):
                if values.shape[1]:
                    # One by one from the first on, as they are put into ranges below.
                    self.sums[:, place] += np.cumsum(values, axis=1)[:, -1]
            return
        apart = rows[:, whole:]
        if whole:
            mixed = self._add_pure(cells)
            apart = np.append(apart, cells[:, mixed].reshape(3, -1), axis=1)
        self._put(np.searchsorted(self._ends_a, np.abs(apart[1])), apart)

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

    def _add_pure(self, cells: Float64s) -> NDArray[np.intp]:
        """Add those cells whose current lies within one range; return the others."""
        least = cells[1].min(axis=1)
        most = cells[1].max(axis=1)
        low, high = np.searchsorted(self._ends_a, np.abs([least, most]))
        pure = (low == high) & ((least >= 0) | (most <= 0) | (low == 0))
        # This place is beyond all ranges, and dropped by the sum.
        self._put(np.where(pure, low, len(self._ends) + 1), cells.sum(axis=2))
        return np.flatnonzero(~pure)

    def _put(self, places: NDArray[np.intp], rows: Float64s) -> None:
        width = len(self._ends) + 1
        for sums, values in zip(self.sums, rows, strict=True):
            sums += np.bincount(places, values, minlength=width)[:width]
