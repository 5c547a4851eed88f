# SPDX-License-Identifier: Apache-2.0
"""The range of sampling rates that the time stamps of rows leave open, where each row
is one sample. Pure.

A line through the stamps may be off by no more than they are rounded to: the range
is that of its slopes. Where no line fits so well, stamps scatter by more than rounding,
and may be off by twice the residual of the best line.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from rig.arrays import Float64s

#: Number of blocks of rows; in each only the earliest and the latest count.
_BLOCKS = 4096
#: Rounding moves two stamps apart by its step at most; a little more for the rows
#: that the blocks leave out.
_SLACK = 1.002
#: Steps that differ by less than this part of the stamps' last digit are equal: then
#: the stamps are true.
_EQUAL = 0.1
#: Rates nearer to each other than this are the same: the clock of an instrument is
#: known to it.
_SAME = 50e-6
_ROUNDS = 80
_GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True, slots=True)
class RateRange:
    """The least and the highest rate, in Hz, that stamps leave open; `high_hz` is
    infinite where they do not bound it. Stamps whose steps are all equal say `even_hz`;
    0 where they are not.
    """

    low_hz: float
    high_hz: float
    even_hz: float = 0.0

    def contains(self, rate_hz: float, beside: float = 0.0) -> bool:
        """Check whether a rate lies in it, or outside by no more than a part `beside`
        of it."""
        return self.low_hz * (1 - beside) <= rate_hz <= self.high_hz * (1 + beside)

    def off_ppm(self, rate_hz: float) -> float:
        """Return by how much energies that take this rate may be off, in ppm; 0 where
        the stamps say just this rate.
        """
        if self.even_hz and abs(rate_hz / self.even_hz - 1) <= _SAME:
            return 0.0
        return max(rate_hz / self.low_hz - 1, 1 - rate_hz / self.high_hz, 0.0) * 1e6

    @property
    def text(self) -> str:
        """Return it in words, rounded outwards."""
        low = outwards(self.low_hz, math.floor)
        if math.isinf(self.high_hz):
            return f"at {low} Hz or more"
        return f"between {low} and {outwards(self.high_hz, math.ceil)} Hz"


def of_length(rows: int, length_s: float, resolution_s: float) -> RateRange:
    """Return the rates at which so many rows take a length that is known to
    `resolution_s`."""
    least_s = length_s - resolution_s
    high_hz = (rows - 1) / least_s if least_s > 0 else math.inf
    return RateRange((rows - 1) / (length_s + resolution_s), high_hz)


def of_stamps(
    pieces: Callable[[], Iterable[Float64s]], resolution_s: float
) -> RateRange | None:
    """Return the rates that stamps in seconds leave open, which are rounded to
    `resolution_s`; None where fewer than two rows have one, or all have the same.

    Rows without a time are counted as samples. `pieces` is called twice.
    """
    rows, first, last = _ends(pieces())
    if first is None or last is None or last[1] <= first[1]:
        return None
    period_s = (last[1] - first[1]) / (last[0] - first[0])
    at, low, high = _extremes(pieces(), first[1], period_s, -(-rows // _BLOCKS))

    def width(lean_s: float) -> float:
        """Return how far apart the rows are at least, across a line of another
        period."""
        return float((high - lean_s * at).max() - (low - lean_s * at).min())

    reach_s = 2 * (width(0.0) + resolution_s) / (last[0] - first[0])
    best_s = _least(width, reach_s)
    is_even = rows > 2 and width(best_s) <= _EQUAL * resolution_s
    rounded_s = _SLACK * resolution_s
    most_s = rounded_s if width(best_s) <= rounded_s else 2 * width(best_s)
    longer_s = period_s + _crossing(width, best_s, 2 * reach_s + best_s, most_s)
    shorter_s = period_s + _crossing(width, best_s, best_s - 2 * reach_s, most_s)
    high_hz = 1 / shorter_s if shorter_s > 0 else math.inf
    return RateRange(
        1 / longer_s,
        high_hz,
        1 / (period_s + best_s) if is_even else 0.0,
    )


def outwards(value: float, to: Callable[[float], int]) -> str:
    """Return a number with four digits, rounded by `to`, which is floor or ceil."""
    step = 10.0 ** (math.floor(math.log10(value)) - 3)
    # Rounding errors of the division do not add a digit.
    return f"{to(round(value / step, 6)) * step:.4g}"


def _ends(
    pieces: Iterable[Float64s],
) -> tuple[int, tuple[int, float] | None, tuple[int, float] | None]:
    """Return the number of rows, and the number and time of the first and the last that
    has one."""
    rows = 0
    first = last = None
    for times_s in pieces:
        known = np.flatnonzero(np.isfinite(times_s))
        if len(known):
            last = rows + int(known[-1]), float(times_s[known[-1]])
            if first is None:
                first = rows + int(known[0]), float(times_s[known[0]])
        rows += len(times_s)
    return rows, first, last


def _extremes(
    pieces: Iterable[Float64s], first_s: float, period_s: float, block: int
) -> tuple[Float64s, Float64s, Float64s]:
    """Return the number of the first row of each block, and how far its rows are from
    an even grid at least and at most; without blocks that have no time.
    """
    rows = 0
    ends = []
    for times_s in pieces:
        rest_s = times_s - first_s - np.arange(rows, rows + len(times_s)) * period_s
        begins = np.arange(0, len(times_s), block)
        extremes = (np.fmin.reduceat(rest_s, begins), np.fmax.reduceat(rest_s, begins))
        ends.append(np.array([begins + float(rows), *extremes]))
        rows += len(times_s)
    at, low, high = np.concatenate(ends, axis=1)
    known = np.isfinite(low)
    return at[known], low[known], high[known]


def _least(width: Callable[[float], float], reach_s: float) -> float:
    """Return where a convex function is least, between both ends of a reach."""
    begin, end = -reach_s, reach_s
    for _ in range(_ROUNDS):
        inner = end - _GOLDEN * (end - begin), begin + _GOLDEN * (end - begin)
        if width(inner[0]) <= width(inner[1]):
            end = inner[1]
        else:
            begin = inner[0]
    return (begin + end) / 2


def _crossing(
    width: Callable[[float], float], inside_s: float, outside_s: float, most_s: float
) -> float:
    """Return where a convex function that is at most `most_s` at the one rises above it
    towards the other.
    """
    for _ in range(_ROUNDS):
        middle_s = (inside_s + outside_s) / 2
        if width(middle_s) <= most_s:
            inside_s = middle_s
        else:
            outside_s = middle_s
    return outside_s
