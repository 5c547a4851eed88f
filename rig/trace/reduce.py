# SPDX-License-Identifier: Apache-2.0
"""Least, mean and most of samples in columns of equal width. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rig.arrays import Int64s, Reals

Counts = NDArray[np.integer[Any]]

#: Rows of a table: least, mean and most of current, voltage and power.
CURRENT_ROW = 0
VOLTAGE_ROW = 3
POWER_ROW = 6
_ROWS = 9
_MEANS = (1, 4, 7)


@dataclass(frozen=True, slots=True)
class Table:
    """Least, mean and most of current, voltage and power, nine rows, and how many
    samples of each column are known; a column without any is NaN.
    """

    rows: Reals
    known: Counts

    def __len__(self) -> int:
        return len(self.known)


def empty() -> Table:
    """Return a table without a column."""
    return Table(np.zeros((_ROWS, 0)), np.zeros(0, dtype=np.int64))


def joined(tables: list[Table]) -> Table:
    """Return tables one after the other as one."""
    if not tables:
        return empty()
    known = np.concatenate([table.known for table in tables])
    return Table(
        np.concatenate([table.rows for table in tables], axis=1),
        known,
    )


def of_samples(current: Reals, voltage: Reals, first: int, width: int) -> Table:
    """Return the columns of samples; the first sample has number `first`. Columns begin
    at whole multiples of `width`, so that the first and the last may be shorter.

    A sample counts where both its current and its voltage are numbers.
    """
    count = len(current)
    head = min(-first % width, count)
    rest = head + (count - head) // width * width
    parts = [(0, head, head), (head, rest, width), (rest, count, 0)]
    reduced = []
    for start, stop, wide in parts:
        if stop > start:
            rows = current[start:stop], voltage[start:stop]
            reduced.append(
                _of_rows(*(row.reshape(-1, wide or stop - start) for row in rows))
            )
    return joined(reduced)


def coarser(table: Table, starts: Int64s) -> Table:
    """Return columns made of several each, which begin at `starts`."""
    if not len(starts):
        return empty()
    rows = np.empty((_ROWS, len(starts)))
    known = np.add.reduceat(table.known, starts, dtype=np.int64)
    for mean in _MEANS:
        rows[mean - 1] = np.fmin.reduceat(table.rows[mean - 1], starts)
        rows[mean + 1] = np.fmax.reduceat(table.rows[mean + 1], starts)
        # A column without a known sample has no mean, and no weight.
        weighed = np.where(table.known > 0, table.rows[mean], 0.0) * table.known
        total = np.add.reduceat(weighed.astype(np.float64), starts)
        out = np.full(len(starts), np.nan)
        rows[mean] = np.divide(total, known, out=out, where=known > 0)
    return Table(rows, known)


def _of_rows(current: Reals, voltage: Reals) -> Table:
    width = current.shape[1]
    rows = np.empty((_ROWS, len(current)))
    # One value that is not finite makes the sum of its column so: only then are there
    # any to look for, and no cause to warn.
    with np.errstate(invalid="ignore"):
        power = np.multiply(current, voltage)
        signals = current, voltage, power
        totals = [signal.sum(axis=1, dtype=np.float64) for signal in signals]
    if all(np.isfinite(total).all() for total in totals):
        for place, (signal, total) in enumerate(zip(signals, totals, strict=True)):
            rows[3 * place] = signal.min(axis=1)
            rows[3 * place + 1] = total / width
            rows[3 * place + 2] = signal.max(axis=1)
        return Table(rows, np.full(len(current), width, dtype=np.int64))
    finite = np.isfinite(current) & np.isfinite(voltage)
    known = np.count_nonzero(finite, axis=1)
    none = known == 0
    for place, signal in enumerate(signals):
        rows[3 * place] = np.where(finite, signal, np.inf).min(axis=1)
        total = np.where(finite, signal, 0.0).sum(axis=1, dtype=np.float64)
        rows[3 * place + 1] = total / np.maximum(known, 1)
        rows[3 * place + 2] = np.where(finite, signal, -np.inf).max(axis=1)
    rows[:, none] = np.nan
    return Table(rows, known.astype(np.int64))
