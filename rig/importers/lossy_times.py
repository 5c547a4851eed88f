# SPDX-License-Identifier: Apache-2.0
"""Which samples rows are whose times were rounded, and of which some are missing: the longest
period that explains all of them, as then the fewest are missing. Pure.

Times that were rounded to a step all lie within one step behind the beginning of their period,
wherever that is. So a period is possible where the remainders of all times leave an arc free that
is as long as the period less the step. Periods are tried from wide cells of them on few rows to
narrow ones on all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, pairwise

import numpy as np
from numpy.typing import NDArray

from rig.importers.rounded_times import is_line

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

#: The search begins with so many rows, and takes twice as many each time.
_FIRST_ROWS = 16
#: Within a cell of periods no row moves by more than this part of a step, nor of what a period is
#: longer than a step.
_MOVES = 0.125
#: A period that is a little longer than a step leaves out a step now and then; fewer times than
#: this among rows, and any would do.
_LEFT_OUT = 4
#: Periods that leave out a step more rarely than once in so many are not looked for: there are too
#: many of them.
_RARELY = 8192
#: So many rows, spread evenly, stand for all; so many cells are looked into at once, and so often
#: at most.
_ROWS = 8192
_BATCH = 16
_BATCHES = 500
#: So many periods are tried on all rows; fewer where there are more rows than stood for them, but
#: so many.
_TRIED = 256
_LEAST = 8
#: There are so many rows to a gap, on average: any times at all are rounded ones of which most are
#: missing.
_BETWEEN = 5
#: So many more missing rows may explain the times of a short table as well.
_FEW = 2
#: What floats lose of a step.
_TINY = 1e-5


def longest_period_s(times_s: Floats, resolution_s: float) -> float:
    """Return what no period of samples can be beyond, whatever is missing: the densest rows have at
    least one each.
    """
    lengths = sorted(
        {
            int(length)
            for length in np.geomspace(1, len(times_s) - 1, 1 + 3 * len(times_s).bit_length())
        }
    )
    return min(
        (float((times_s[length:] - times_s[:-length]).min()) + resolution_s) / length
        for length in lengths
    )


def numbers_of(
    times_s: Floats, resolution_s: float, pause_s: float
) -> tuple[Numbers, list[int]] | None:
    """Return the number of the sample of each row, and the rows at which whoever sampled began anew
    (0 is always one); None where no period explains the times, or too many would. They must ascend.

    After a pause longer than `pause_s` a sampling may have begun anew; where all rows are of one,
    that counts.
    """
    tied = _numbers(times_s / resolution_s)
    if tied is not None:
        return tied, [0]
    begins = [0, *(np.flatnonzero(np.diff(times_s) > pause_s) + 1).tolist()]
    pieces = [times_s[start:stop] for start, stop in pairwise([*begins, len(times_s)])]
    found = [_numbers(piece / resolution_s) for piece in pieces] if len(pieces) > 1 else [None]
    known = [numbers for numbers in found if numbers is not None]
    if len(known) < len(found):
        return None
    period_s = sum(float(np.ptp(piece)) for piece in pieces) / sum(
        int(numbers[-1]) for numbers in known
    )
    placed = []
    last = -1
    last_s = float(times_s[0]) - period_s
    for piece, numbers in zip(pieces, known, strict=True):
        first = last + max(round((float(piece[0]) - last_s) / period_s), 1)
        placed.append(first + numbers)
        last = int(placed[-1][-1])
        last_s = float(piece[-1])
    return np.concatenate(placed), begins


def more_lost(times_s: Floats, resolution_s: float, numbers: Numbers) -> int | None:
    """Return in how many periods the times lie that a few more missing rows than these numbers have
    would explain as well, or None: then there is no other way.
    """
    steps = times_s / resolution_s
    samples = int(numbers[-1] - numbers[0])
    whole = float(steps[-1] - steps[0])
    other = _numbers(steps, whole / (samples + 0.5), whole / (samples + _FEW + 0.5))
    return None if other is None else int(other[-1])


def _numbers(steps: Floats, upper: float = math.inf, lower: float = 0.0) -> Numbers | None:
    """Return the numbers of rows that are of one sampling, from 0 on, with a period within these
    limits; `steps` are their times in steps of rounding.
    """
    if len(steps) < 3:
        return None
    tries = min(_TRIED, max(_TRIED * _ROWS // len(steps), _LEAST))
    longest = longest_period_s(steps, 1.0)
    # Of three rows in a row the last is two periods and a step behind the first at most.
    search = _Search(steps, min(upper, longest), max(lower, longest - 1))
    for period in islice(search.periods(), tries):
        numbers = _numbered(steps - steps[len(steps) // 2], period)
        numbers -= numbers[0]
        apart = np.diff(numbers)
        if (
            (apart > 0).all()
            and np.count_nonzero(apart > 1) * _BETWEEN <= len(steps)
            and is_line(numbers, steps, 1.0)
        ):
            return numbers
    return None


def _numbered(steps: Floats, period: float) -> Numbers:
    turns = steps / period
    _, free, begin = _arcs(turns[np.newaxis])
    numbers: Numbers = np.floor(turns - begin[0] + free[0] / 2).astype(np.int64)
    return numbers


@dataclass(slots=True)
class _Search:
    """Looks for periods, the longest first: into each cell of periods that a few rows leave
    possible, with twice as many rows.
    """

    steps: Floats
    upper: float
    lower: float
    left: int = _BATCHES

    def periods(self) -> Iterator[float]:
        """Yield periods that may explain the times."""
        rows = min(_FIRST_ROWS, len(self.steps))
        upper = self.upper
        while True:
            lower = max(1 + max(_LEFT_OUT / rows, _LEFT_OUT / _RARELY), self.lower)
            yield from self._within(*_cells(lower, upper, self._seen(rows)[1]), rows)
            if rows == len(self.steps) or rows >= _RARELY or lower <= self.lower:
                return
            rows = min(2 * rows, len(self.steps))
            upper = min(lower, upper)

    def _within(self, periods: Floats, halves: Floats, rows: int) -> Iterator[float]:
        """Yield the periods of these cells that explain as many rows about the middle, and all when
        it comes to them.
        """
        seen, reach = self._seen(rows)
        periods, halves = _split(periods, halves, reach)
        for first in range(0, len(periods), _BATCH):
            if not self.left:
                return
            self.left -= 1
            batch = periods[first : first + _BATCH]
            half = halves[first : first + _BATCH]
            kept = (
                _arcs(seen / batch[:, np.newaxis])[0] * batch
                <= 1 + _TINY + 2 * half * reach / batch
            )
            if not kept.any():
                continue
            if rows == len(self.steps):
                yield from batch[kept].tolist()
            else:
                yield from self._within(batch[kept], half[kept], min(2 * rows, len(self.steps)))

    def _seen(self, rows: int) -> tuple[Floats, float]:
        """Return the times of some of as many rows about the middle, from there, and how far away
        the farthest is.
        """
        middle = len(self.steps) // 2
        start = min(max(middle - rows // 2, 0), len(self.steps) - rows)
        picked = start + np.unique(np.linspace(0, rows - 1, min(rows, _ROWS)).astype(np.int64))
        seen = self.steps[picked] - self.steps[middle]
        return seen, float(np.abs(seen).max())


def _cells(lower: float, upper: float, reach: float) -> tuple[Floats, Floats]:
    """Return the middles of cells of periods from the upper limit down to the lower, and half their
    widths.
    """
    found = []
    halves = []
    above = upper
    while above > lower:
        half = _half(above, reach)
        halves.append(half)
        found.append(above - half)
        above -= 2 * half
    return np.array(found), np.array(halves)


def _half(period: float, reach: float) -> float:
    return _MOVES * min(period - 1, 1.0) * period / reach


def _split(periods: Floats, halves: Floats, reach: float) -> tuple[Floats, Floats]:
    """Divide cells until no row moves too far within one."""
    due = _MOVES * np.minimum(periods - 1, 1.0) * periods / reach
    parts = np.maximum(np.ceil(halves / due - 1e-9), 1).astype(np.int64)
    each = np.repeat(halves / parts, parts)
    place = np.arange(len(each)) - np.repeat(np.cumsum(parts) - parts, parts)
    return np.repeat(periods + halves, parts) - (2 * place + 1) * each, each


def _arcs(turns: Floats) -> tuple[Floats, Floats, Floats]:
    """Return, for each row of places in turns, the shortest arc that holds all, the rest of the
    turn, and where the arc begins.
    """
    places = np.sort(turns % 1.0, axis=1)
    free = np.diff(places, axis=1, append=places[:, :1] + 1)
    widest = free.argmax(axis=1)
    rows = np.arange(len(places))
    most = free[rows, widest]
    return 1 - most, most, places[rows, (widest + 1) % places.shape[1]]
