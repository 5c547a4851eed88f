# SPDX-License-Identifier: Apache-2.0
"""Sums of power, current and voltage over samples, by range of the current. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from rig.arrays import Array, Float32s

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
        self._power = np.empty(most)
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
        power = np.multiply(
            current_a, voltage_v, out=self._power[:count], dtype=np.float64
        )
        self.least_w, self.most_w = (
            min(self.least_w, float(power.min())),
            max(self.most_w, float(power.max())),
        )
        rows: tuple[Array, ...] = power, current_a, voltage_v
        if not self._ends:
            self.sums[:, 0] += [row.sum(dtype=np.float64) for row in rows]
            return
        whole = count - count % _CELL
        apart = [row[whole:] for row in rows]
        if whole:
            cells = [row[:whole].reshape(-1, _CELL) for row in rows]
            mixed = self._add_pure(cells)
            apart = [
                np.append(values, row[mixed])
                for values, row in zip(apart, cells, strict=True)
            ]
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

    def _add_pure(self, cells: Sequence[Array]) -> NDArray[np.intp]:
        """Add those cells whose current lies within one range; return the others."""
        least = cells[1].min(axis=1)
        most = cells[1].max(axis=1)
        low, high = np.searchsorted(self._ends_a, np.abs([least, most]))
        pure = (low == high) & ((least >= 0) | (most <= 0) | (low == 0))
        # This place is beyond all ranges, and dropped by the sum.
        self._put(
            np.where(pure, low, len(self._ends) + 1),
            [cell.sum(axis=1, dtype=np.float64) for cell in cells],
        )
        return np.flatnonzero(~pure)

    def _put(self, places: NDArray[np.intp], rows: Iterable[Array]) -> None:
        width = len(self._ends) + 1
        for sums, values in zip(self.sums, rows, strict=True):
            sums += np.bincount(places, values, minlength=width)[:width]
