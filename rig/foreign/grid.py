# SPDX-License-Identifier: Apache-2.0
"""Times of rows -> an even grid: the rate they were sampled at, and where samples are missing. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rig.errors import DataError

#: How far an interval may be from a whole number of samples, and a row from the even grid, both in samples. Stamps that a computer
#: made, or that were rounded, scatter; more than this and nobody knows which sample is which.
JITTER, OFF_GRID = 0.3, 1.0
#: A pause of so many samples need not be a whole number of them: whoever sampled may have started anew.
_PAUSE = 8
#: A rate nearer than this to a whole number is that number: the rest is rounding of the times.
_WHOLE = 1e-7
#: In how many places of a piece its rows are compared with the grid.
_KNOTS = 16
_TRY = "--rate HZ, if each row is one sample and none is missing; a table of uneven samples has to be resampled first"


@dataclass(frozen=True, slots=True)
class Run:
    """Rows without a missing sample between them: how many, the place of the first on the grid, and its line in the file."""

    rows: int
    first: int
    line: int


@dataclass(slots=True)
class _Stretch:
    """Rows without a missing sample; `knots` are some of them, by number and time."""

    first_s: float
    last_s: float
    rows: int
    line: int
    knots: list[tuple[int, float]] = field(default_factory=list)

    def add(self, times_s: NDArray[np.float64]) -> None:
        """Append rows."""
        places = range(0, len(times_s), max(len(times_s) // _KNOTS, 1))
        self.knots += [(self.rows + at, float(times_s[at])) for at in places]
        self.rows += len(times_s)
        self.last_s = float(times_s[-1])
        self.knots.append((self.rows - 1, self.last_s))

    def off(self, rate_hz: float) -> float:
        """Return how far the rows are from an even grid, in samples."""
        return max(abs((at_s - self.first_s) * rate_hz - number) for number, at_s in self.knots)


@dataclass(slots=True)
class Grid:
    """Collects times, piece by piece. A `rate_hz` that was given (not 0) makes every row one sample, whatever its time."""

    path: Path
    given_hz: float = 0.0
    rows: int = 0
    first_s: float = 0.0
    _period_s: float = 0.0
    _stretches: list[_Stretch] = field(default_factory=list)

    def add(self, times_s: NDArray[np.float64], lines: NDArray[np.int64]) -> None:
        """Append times; raises DataError where they run backwards, stand still, or are not even."""
        if not len(times_s):
            return
        self.rows += len(times_s)
        if self.given_hz:
            return
        if not np.isfinite(times_s).all():
            raise self._error(int(lines[~np.isfinite(times_s)][0]), "there is no time")
        if not self._stretches:
            self.first_s = float(times_s[0])
            self._stretches.append(_Stretch(float(times_s[0]), float(times_s[0]), 0, int(lines[0])))
            steps_s = np.diff(times_s)
            if not len(steps_s):
                raise DataError(f"{self.path} has one row: no rate can be told", try_next="--rate HZ")
            self._period_s = _period(steps_s)
        last = self._stretches[-1]
        steps_s = np.diff(times_s, prepend=last.last_s if last.rows else times_s[0] - abs(self._period_s or 1.0))
        self._check(steps_s, times_s, lines)
        breaks = np.flatnonzero(np.rint(steps_s / self._period_s) > 1)
        for number, (start, stop) in enumerate(pairwise([0, *breaks.tolist(), len(times_s)])):
            if number:
                self._stretches.append(_Stretch(float(times_s[start]), float(times_s[start]), 0, int(lines[start])))
            if stop > start:
                self._stretches[-1].add(times_s[start:stop])

    def rate_hz(self) -> float:
        """Return the rate of the samples, from the runs without a gap; raises DataError when there are too few."""
        intervals = sum(run.rows - 1 for run in self._stretches)
        duration_s = sum(run.last_s - run.first_s for run in self._stretches)
        if not intervals:
            raise DataError(f"{self.path}: no two rows follow each other evenly", try_next=_TRY)
        rate_hz = intervals / duration_s
        whole = round(rate_hz)
        return float(whole) if whole and abs(rate_hz / whole - 1) < _WHOLE else rate_hz

    def runs(self, rate_hz: float) -> list[Run]:
        """Return the runs at their places on the grid of `rate_hz`; raises DataError where one does not fit it."""
        if self.given_hz:
            return [Run(self.rows, 0, 1)]
        runs: list[Run] = []
        for stretch in self._stretches:
            first = round((stretch.first_s - self.first_s) * rate_hz)
            free = runs[-1].first + runs[-1].rows if runs else 0
            first = max(first, free + 1 if runs else 0)
            if (off := stretch.off(rate_hz)) > OFF_GRID:
                raise DataError(
                    f"{self.path} is not evenly sampled",
                    evidence=f"the {stretch.rows} rows from line {stretch.line} on are {off:.1f} samples off at {rate_hz:.10g} Hz",
                    try_next=_TRY,
                )
            runs.append(Run(stretch.rows, first, stretch.line))
        return runs

    def _check(self, steps_s: NDArray[np.float64], times_s: NDArray[np.float64], lines: NDArray[np.int64]) -> None:
        if (back := np.flatnonzero(steps_s <= 0)).size:
            at = int(back[0])
            evidence = f"{times_s[at]:.10g} s after {times_s[at] - steps_s[at]:.10g} s"
            raise self._error(int(lines[at]), "time runs backwards or stands still", evidence)
        samples = steps_s / self._period_s
        uneven = (np.abs(samples - np.rint(samples)) > JITTER) & (samples < _PAUSE) | (np.rint(samples) < 1)
        if uneven.any():
            at = int(np.flatnonzero(uneven)[0])
            evidence = f"{steps_s[at]:.6g} s after the row before, where {self._period_s:.6g} s are usual"
            raise self._error(int(lines[at]), "not evenly sampled", evidence)

    def _error(self, line: int, what: str, evidence: str = "") -> DataError:
        return DataError(f"{self.path}, line {line}: {what}", evidence=evidence, try_next=_TRY)


def _period(steps_s: NDArray[np.float64]) -> float:
    """Return the usual interval: the mean of those about the median, so that rounded times do not mislead."""
    middle_s = float(np.median(steps_s))
    usual = steps_s[np.abs(steps_s - middle_s) <= middle_s / 2]
    return float(np.mean(usual)) if len(usual) else middle_s
