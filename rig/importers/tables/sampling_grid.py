# SPDX-License-Identifier: Apache-2.0
"""Times of rows -> an even grid: the rate they were sampled at, how precisely they give
it, and where samples are missing. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rig.errors import DataError
from rig.importers.rate_range import RateRange
from rig.importers.tables.rounded_times import even_rate
from rig.units import scale, share

#: How far an interval may be from a whole number of samples, and a row from the even
#: grid, both in samples. Stamps that a computer made, or that were rounded, scatter;
#: more than this and nobody knows which sample is which.
JITTER = 0.3
OFF_GRID = 1.0
#: A pause of so many samples need not be a whole number of them: whoever sampled may
#: have started anew.
_PAUSE = 8
#: A rate nearer than this to a whole number is that number: the rest is rounding of the
#: times.
_WHOLE = 1e-7
#: In how many places of a piece its rows are compared with the grid.
_KNOTS = 16
#: Steps that differ by less than this part of the stamps' last digit are equal.
_EQUAL = 0.1
#: Rounding to less than this part of a sample moves none to the place of another.
_FINE = 0.2
#: So many lost samples, and no more, may look like the rounding of an even sampling
#: that lost none.
_DOUBTFUL = 2
#: A rate that is known less well than this, in ppm, is none: 5 % is what a result may
#: be off by.
_MOST_PPM = 50_000.0
#: The clock of an instrument is known to this, in ppm: a rate that is known less well
#: is worth a word.
_CLOCK_PPM = 50.0
#: Whoever takes this for one trace has mistaken two; and a disk would be full of
#: nothing.
_MOST_MISSING = 10**9
_TRY = "resample it at even times"

Pieces = Callable[[], Iterable[tuple[NDArray[np.float64], NDArray[np.int64]]]]


@dataclass(frozen=True, slots=True)
class GridRun:
    """Rows without a missing sample between them: how many, the place of the first on
    the grid, and its line in the file.
    """

    rows: int
    first: int
    line: int


@dataclass(frozen=True, slots=True)
class GridLayout:
    """The rate of rows, how far it may be off, where they lie, and in words what the
    times leave open.
    """

    rate_hz: float
    rate_ppm: float
    runs: list[GridRun]
    known: str = ""
    notes: tuple[str, ...] = ()


class UnevenError(DataError):
    """Intervals that are no whole number of samples, or rows missing nobody knows
    where."""


def lay_out(path: Path, pieces: Pieces, resolution_s: float) -> GridLayout:
    """Return how rows lie that have these times, in seconds, and lines in the file;
    `pieces` may be called several times.

    `resolution_s` is what the times are rounded to. What an even sampling explains that
    lost nothing is taken for one. Raises DataError where times run backwards, stand
    still, or are not even.
    """
    grid = Grid(path)
    try:
        for times_s, lines in pieces():
            grid.add(times_s, lines)
        rate_hz = grid.rate_hz()
        runs = grid.runs(rate_hz)
    except UnevenError:
        found = (
            None
            if resolution_s < _FINE * grid.period_s
            else _explained(pieces, resolution_s)
        )
        if found is None:
            raise
        return found
    lost = _lost(runs)
    layout = _layout(
        rate_hz,
        grid.duration_s,
        grid.unsure_s(rate_hz, resolution_s),
        runs,
        resolution_s,
    )
    if (
        not lost
        or not resolution_s
        or (resolution_s < _FINE * grid.period_s and grid.is_equal(resolution_s))
    ):
        return layout
    found = _explained(pieces, resolution_s)
    if found is not None:
        if lost > _DOUBTFUL:
            return found
        either_ppm = abs(rate_hz / found.rate_hz - 1) * 1e6 + found.rate_ppm
        return replace(
            layout, rate_ppm=either_ppm, notes=(_doubt(lost, found, resolution_s),)
        )
    # Where rounding may have moved a row to the place of another, nobody knows which
    # are missing.
    moved_s = grid.unsure_s(rate_hz, resolution_s) + resolution_s
    if not grid.is_equal(resolution_s) and moved_s > grid.period_s / 2:
        raise _untold(
            path, resolution_s, f"rows are about {_short(grid.period_s)} apart"
        )
    doubted = _with_doubt(layout, pieces, resolution_s)
    if doubted.rate_ppm > _MOST_PPM:
        raise _untold(path, resolution_s, *doubted.notes)
    return doubted


def _untold(path: Path, resolution_s: float, *evidence: str) -> DataError:
    return UnevenError(
        f"{path}: rows are missing, and its times do not tell the rate",
        evidence="; ".join([f"they are rounded to {_short(resolution_s)}", *evidence]),
        try_next="times with more digits; or --rate HZ, if each row is one sample",
    )


def _explained(pieces: Pieces, resolution_s: float) -> GridLayout | None:
    """Return the layout of rows of an even sampling that lost none and whose times were
    rounded; None where rounding does not explain them.
    """
    even = even_rate(lambda: (times_s for times_s, _ in pieces()), resolution_s)
    if even is None:
        return None
    rows, last_s = even
    return _layout(
        (rows - 1) / last_s, last_s, resolution_s, [GridRun(rows, 0, 1)], resolution_s
    )


def _lost(runs: list[GridRun]) -> int:
    return sum(
        after.first - before.first - before.rows for before, after in pairwise(runs)
    )


def _with_doubt(layout: GridLayout, pieces: Pieces, resolution_s: float) -> GridLayout:
    """Return a layout with gaps, where its times may mean a lower rate and fewer gaps:
    of one row where all steps are equal to the last digit.
    """
    if layout.rate_hz * resolution_s < 1 - _FINE or not any(
        _single(pair) for pair in pairwise(layout.runs)
    ):
        return layout
    times_s = np.concatenate([times_s for times_s, _ in pieces()])
    lowest_hz = 1 / _longest_period_s(times_s, resolution_s)
    lower_ppm = (layout.rate_hz / lowest_hz - 1) * 1e6
    note = (
        f"{_rows_missing(_lost(layout.runs), resolution_s)} cannot tell single ones"
        f" from a lower rate: it is at least {lowest_hz:.6g} samples a second"
    )
    return replace(layout, rate_ppm=max(layout.rate_ppm, lower_ppm), notes=(note,))


def _single(pair: tuple[GridRun, GridRun]) -> bool:
    return pair[1].first - pair[0].first - pair[0].rows == 1


def _layout(
    rate_hz: float,
    duration_s: float,
    limit_s: float,
    runs: list[GridRun],
    resolution_s: float,
) -> GridLayout:
    rate_ppm = limit_s / duration_s * 1e6
    if rate_ppm <= _CLOCK_PPM:
        return GridLayout(rate_hz, rate_ppm, runs)
    why = (
        f"rounded to {_short(resolution_s)}"
        if limit_s <= resolution_s * len(runs)
        else f"off by {_short(limit_s)}"
    )
    # A rate that is given takes the rows for all samples.
    better = ": --time none --rate HZ if you know it better" if len(runs) == 1 else ""
    return GridLayout(
        rate_hz,
        rate_ppm,
        runs,
        f"known to within {share(rate_ppm * 1e-6)}, as its stamps are {why}{better}",
    )


def _longest_period_s(times_s: NDArray[np.float64], resolution_s: float) -> float:
    """Return what no period of samples can be beyond, whatever is missing: the densest
    rows have at least one each.
    """
    rows = len(times_s)
    lengths = {
        int(length) for length in np.geomspace(1, rows - 1, 1 + 3 * rows.bit_length())
    }
    return min(
        (float((times_s[length:] - times_s[:-length]).min()) + resolution_s) / length
        for length in lengths
    )


def _doubt(lost: int, other: GridLayout, resolution_s: float) -> str:
    part = other.rate_ppm * 1e-6
    rates = RateRange(other.rate_hz * (1 - part), other.rate_hz * (1 + part))
    return (
        f"{_rows_missing(lost, resolution_s)} cannot tell that from a rate {rates.text}"
        " at which none is: --rate HZ if you know it"
    )


def _rows_missing(lost: int, resolution_s: float) -> str:
    rows = "a row seems" if lost == 1 else f"{lost} rows seem"
    return f"{rows} to be missing, but stamps rounded to {_short(resolution_s)}"


def _short(value_s: float) -> str:
    factor, unit = scale(value_s, "s")
    return f"{value_s * factor:.3g} {unit}"


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
        return max(
            abs((at_s - self.first_s) * rate_hz - number) for number, at_s in self.knots
        )


@dataclass(slots=True)
class Grid:
    """Collects times, piece by piece."""

    path: Path
    period_s: float = 0.0
    _rough_s: float = 0.0
    _stretches: list[_Stretch] = field(default_factory=list)

    def add(self, times_s: NDArray[np.float64], lines: NDArray[np.int64]) -> None:
        """Append times; raises DataError where they run backwards, stand still, or are
        not even."""
        if not len(times_s):
            return
        if not np.isfinite(times_s).all():
            raise self._error(int(lines[~np.isfinite(times_s)][0]), "there is no time")
        if not self._stretches:
            self._stretches.append(
                _Stretch(float(times_s[0]), float(times_s[0]), 0, int(lines[0]))
            )
            steps_s = np.diff(times_s)
            if not len(steps_s):
                raise DataError(
                    f"{self.path} has one row: no rate can be told",
                    try_next="--rate HZ",
                )
            self.period_s = _period(steps_s)
        last = self._stretches[-1]
        steps_s = np.diff(
            times_s,
            prepend=(
                last.last_s if last.rows else times_s[0] - abs(self.period_s or 1.0)
            ),
        )
        self._check(steps_s, times_s, lines)
        breaks = np.flatnonzero(np.rint(steps_s / self.period_s) > 1)
        for number, (start, stop) in enumerate(
            pairwise([0, *breaks.tolist(), len(times_s)])
        ):
            if number:
                self._stretches.append(
                    _Stretch(
                        float(times_s[start]),
                        float(times_s[start]),
                        0,
                        int(lines[start]),
                    )
                )
            if stop > start:
                self._stretches[-1].add(times_s[start:stop])

    def rate_hz(self) -> float:
        """Return the rate of the samples, from the runs without a gap; raises DataError
        when there are too few.
        """
        intervals = sum(run.rows - 1 for run in self._stretches)
        if not intervals:
            raise DataError(
                f"{self.path}: no two rows follow each other evenly", try_next=_TRY
            )
        rate_hz = intervals / self.duration_s
        whole = round(rate_hz)
        return float(whole) if whole and abs(rate_hz / whole - 1) < _WHOLE else rate_hz

    def runs(self, rate_hz: float) -> list[GridRun]:
        """Return the runs at their places on the grid of `rate_hz`; raises DataError
        where one does not fit it.
        """
        runs: list[GridRun] = []
        for stretch in self._stretches:
            first = round((stretch.first_s - self._stretches[0].first_s) * rate_hz)
            free = runs[-1].first + runs[-1].rows if runs else 0
            first = max(first, free + 1 if runs else 0)
            if first - free > _MOST_MISSING:
                evidence = (
                    f"{first - free:.3g} samples would be missing before it at"
                    f" {rate_hz:.10g} Hz"
                )
                raise self._error(
                    stretch.line,
                    "its time is far from that of the row before",
                    evidence,
                )
            if (off := stretch.off(rate_hz)) > OFF_GRID:
                raise UnevenError(
                    f"{self.path} is not evenly sampled",
                    evidence=(
                        f"the {stretch.rows} rows from line {stretch.line} on are"
                        f" {off:.1f} samples off at {rate_hz:.10g} Hz"
                    ),
                    try_next=_TRY,
                )
            runs.append(GridRun(stretch.rows, first, stretch.line))
        return runs

    @property
    def duration_s(self) -> float:
        """Return how long the stretches are, together."""
        return sum(run.last_s - run.first_s for run in self._stretches)

    def is_equal(self, resolution_s: float) -> bool:
        """Return whether all steps are equal, but for missing samples."""
        return self._rough_s <= _EQUAL * resolution_s

    def unsure_s(self, rate_hz: float, resolution_s: float) -> float:
        """Return how far the length of all stretches together may be off: what was
        rounded away at their ends, or how far rows are from the grid; nothing where all
        steps are equal, as then the times say what they mean.
        """
        if self.is_equal(resolution_s):
            return 0.0
        return sum(
            max(stretch.off(rate_hz) / rate_hz, resolution_s)
            for stretch in self._stretches
            if stretch.rows > 1
        )

    def _check(
        self,
        steps_s: NDArray[np.float64],
        times_s: NDArray[np.float64],
        lines: NDArray[np.int64],
    ) -> None:
        if (back := np.flatnonzero(steps_s <= 0)).size:
            at = int(back[0])
            evidence = f"{times_s[at]:.10g} s after {times_s[at] - steps_s[at]:.10g} s"
            raise self._error(
                int(lines[at]), "time runs backwards or stands still", evidence
            )
        samples = steps_s / self.period_s
        beside = np.abs(samples - np.rint(samples))
        if (few := beside[samples < _PAUSE]).size:
            self._rough_s = max(self._rough_s, float(few.max()) * self.period_s)
        uneven = (beside > JITTER) & (samples < _PAUSE) | (np.rint(samples) < 1)
        if uneven.any():
            at = int(np.flatnonzero(uneven)[0])
            evidence = (
                f"{steps_s[at]:.6g} s after the row before, where {self.period_s:.6g} s"
                " are usual"
            )
            raise self._error(
                int(lines[at]), "not evenly sampled", evidence, UnevenError
            )

    def _error(
        self,
        line: int,
        what: str,
        evidence: str = "",
        kind: type[DataError] = DataError,
    ) -> DataError:
        return kind(
            f"{self.path}, line {line}: {what}", evidence=evidence, try_next=_TRY
        )


def _period(steps_s: NDArray[np.float64]) -> float:
    """Return the usual interval: the mean of those about the median, so that rounded
    times do not mislead.
    """
    middle_s = float(np.median(steps_s))
    usual = steps_s[np.abs(steps_s - middle_s) <= middle_s / 2]
    return float(np.mean(usual)) if len(usual) else middle_s
