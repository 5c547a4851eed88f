# SPDX-License-Identifier: Apache-2.0
"""Test whether rounded times are those of an even sampling: then steps of 1 and 2 ms
are 700 samples a second. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

#: Among how many blocks rows are spread, of which only the earliest and the latest
#: count.
_BLOCKS = 4096
#: Rounding moves two times apart by its step at most; a little more for what the blocks
#: leave out.
_SLACK = 1.002
_ROUNDS = 80
_GOLDEN = (5**0.5 - 1) / 2


def even_rate(
    pieces: Callable[[], Iterable[NDArray[np.float64]]], resolution_s: float
) -> tuple[int, float] | None:
    """Return the number of rows and the time of the last, in seconds from the first,
    which is at 0, where a line through all is nowhere off by more than rounding to
    `resolution_s` explains; else None. `pieces` is called twice.
    """
    rows = 0
    last_s = -1.0
    for times_s in pieces():
        if not (np.diff(times_s, prepend=last_s) > 0).all():
            return None
        rows = rows + len(times_s)
        last_s = float(times_s[-1])
    if rows < 3:
        return None
    at, low, high = _extremes(pieces(), last_s / (rows - 1), -(-rows // _BLOCKS))
    return (
        (rows, last_s)
        if _width(at, low, high, 2 * resolution_s / (rows - 1)) <= _SLACK * resolution_s
        else None
    )


def _width(
    at: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    lean: float,
) -> float:
    """Return how far from each other the rows are at least, across a line; it may lean
    by two steps of rounding over all rows.
    """

    def width(part: float) -> float:
        return float((high - part * lean * at).max() - (low - part * lean * at).min())

    bracket = (-1.0, 1.0)
    for _ in range(_ROUNDS):
        inner = (
            bracket[1] - _GOLDEN * (bracket[1] - bracket[0]),
            bracket[0] + _GOLDEN * (bracket[1] - bracket[0]),
        )
        bracket = (
            (bracket[0], inner[1])
            if width(inner[0]) <= width(inner[1])
            else (inner[0], bracket[1])
        )
    return width(sum(bracket) / 2)


def _extremes(
    pieces: Iterable[NDArray[np.float64]], period_s: float, block: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the number of the first row of each block, and how far its rows are from
    an even grid at least and at most.
    """
    rows = 0
    at = []
    low = []
    high = []
    for times_s in pieces:
        rest_s = times_s - np.arange(rows, rows + len(times_s)) * period_s
        begins = np.arange(0, len(times_s), block)
        at.append(begins + float(rows))
        low.append(np.minimum.reduceat(rest_s, begins))
        high.append(np.maximum.reduceat(rest_s, begins))
        rows += len(times_s)
    return np.concatenate(at), np.concatenate(low), np.concatenate(high)
