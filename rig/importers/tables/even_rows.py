# SPDX-License-Identifier: Apache-2.0
"""Rows whose stamps agree with even steps to their last digit, each one sample; missing
rows are left out. Pure.

There is no fit: the rate is that of the first and the last row, and every other row
has to be where this rate puts it. Any other table is integrated as stamped
(rig/importers/as_stamped.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rig.arrays import Float64s, Int64s
from rig.errors import DataError
from rig.importers.advice import Advice, give
from rig.units import scale, share

#: Stamps this close to their place, in samples, are as good as exact.
_EXACT = 0.01
#: Steps that differ by less than this part of the stamps' last digit are equal.
_EQUAL = 0.1
#: Rounding to less than this part of a sample moves no row to the place of another.
_FINE = 0.2
#: Among coarser stamps, steps of several samples are missing rows where they are few:
#: this share of all rows, or this number.
_FEW = 0.05
_FEW_ROWS = 2
#: A rate closer than this to a whole number is that number: the rest is rounding.
_WHOLE = 1e-7
#: The clock of an instrument is known to this, in ppm.
_CLOCK_PPM = 50.0
#: More missing rows than this would fill the disk.
_MOST_MISSING = 10**9
_RESAMPLE = "resample it at even times"

Pieces = Callable[[], Iterable[tuple[Float64s, Int64s]]]


@dataclass(frozen=True, slots=True)
class RowRun:
    """Rows without a missing one between them: how many, the place of the first among
    all samples, and its line in the file.
    """

    rows: int
    first: int
    line: int


@dataclass(frozen=True, slots=True)
class RowLayout:
    """The rate of rows, how far it may be off, and where the rows lie.

    `known` says how well the stamps give the rate, where a clock is better; `better` is
    advice to state one that is known better.
    """

    rate_hz: float
    rate_ppm: float
    runs: list[RowRun]
    known: str = ""
    better: Advice | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Steps:
    """The steps of a table: its rows, its length, and the usual step.

    `begins` are the rows that follow a step of several samples, the first row included,
    with their `places` among all samples and their `lines`. A step is off a whole
    number of usual ones by at most `unequal_s`.
    """

    rows: int
    length_s: float
    usual_s: float
    unequal_s: float
    begins: Int64s
    places: Int64s
    lines: Int64s

    @property
    def missing(self) -> int:
        """Number of samples without a row."""
        return int(self.places[-1] - self.begins[-1])

    @property
    def runs(self) -> list[RowRun]:
        """Rows between missing ones."""
        rows = np.diff(self.begins, append=self.rows).tolist()
        cells = zip(rows, self.places.tolist(), self.lines.tolist(), strict=True)
        return [RowRun(*run) for run in cells]


def lay_out(path: Path, pieces: Pieces, resolution_s: float) -> RowLayout | None:
    """Return how rows lie that have these times, in seconds, and lines in the file;
    None where their steps are not even. `pieces` is called several times.

    `resolution_s` is one step of the last printed digit. Raises DataError where a time
    is missing, runs backwards or stands still.
    """
    steps = _steps(path, pieces())
    # Two rows have one step, which equals itself however it was rounded.
    is_equal = steps.unequal_s <= _EQUAL * resolution_s and steps.rows > 2
    none = np.zeros(1, dtype=np.int64)
    off_s = _off_s(pieces(), steps, none, none)
    if off_s <= _allowed_s(steps, 0, resolution_s):
        is_exact = is_equal and not steps.missing
        limit_s = 0.0 if is_exact else max(resolution_s, off_s)
        return _layout(steps, 0, limit_s, [RowRun(steps.rows, 0, int(steps.lines[0]))])
    is_coarse = resolution_s > _FINE * steps.usual_s
    if is_coarse and len(steps.begins) - 1 > max(_FEW * steps.rows, _FEW_ROWS):
        return None
    off_s = _off_s(pieces(), steps, steps.begins, steps.places - steps.begins)
    if off_s > _allowed_s(steps, steps.missing, resolution_s):
        return None
    is_exact = is_equal and not is_coarse
    limit_s = 0.0 if is_exact else max(resolution_s, off_s)
    return _layout(steps, steps.missing, limit_s, steps.runs)


def _steps(path: Path, pieces: Iterable[tuple[Float64s, Int64s]]) -> _Steps:
    """Collect the steps between rows, and the rows that follow missing ones."""
    rows, places = 0, 0
    first_s = last_s = usual_s = unequal_s = 0.0
    begins: list[Int64s] = []
    for times_s, lines in pieces:
        if not np.isfinite(times_s).all():
            line = int(lines[~np.isfinite(times_s)][0])
            raise _error(path, line, "there is no time")
        if not rows:
            if len(times_s) < 2:
                raise DataError(
                    f"{path} has one row: no rate can be told",
                    try_next=Advice(give(rate_hz="HZ")),
                )
            usual_s = float(np.median(np.diff(times_s)))
            first_s = float(times_s[0])
            last_s = first_s - abs(usual_s or 1.0)
            begins.append(np.array([[0], [0], lines[:1]]))
            places = -1
        steps_s = np.diff(times_s, prepend=last_s)
        _require_forward(path, steps_s, times_s, lines)
        samples = np.maximum(np.rint(steps_s / usual_s), 1.0)
        _require_near(path, samples, lines)
        counts = samples.astype(np.int64)
        unequal_s = max(unequal_s, float(np.abs(steps_s - counts * usual_s).max()))
        ends = places + np.cumsum(counts)
        after = np.flatnonzero(counts > 1)
        begins.append(np.array([after + rows, ends[after], lines[after]]))
        rows += len(times_s)
        places = int(ends[-1])
        last_s = float(times_s[-1])
    table = np.concatenate(begins, axis=1)
    return _Steps(rows, last_s - first_s, usual_s, unequal_s, *table)


def _require_forward(
    path: Path, steps_s: Float64s, times_s: Float64s, lines: Int64s
) -> None:
    back = np.flatnonzero(steps_s <= 0)
    if back.size:
        at = int(back[0])
        evidence = f"{times_s[at]:.10g} s after {times_s[at] - steps_s[at]:.10g} s"
        what = "time runs backwards or stands still"
        raise _error(path, int(lines[at]), what, evidence)


def _require_near(path: Path, samples: Float64s, lines: Int64s) -> None:
    far = np.flatnonzero(samples > _MOST_MISSING)
    if far.size:
        at = int(far[0])
        evidence = f"{samples[at] - 1:.3g} samples would be missing before it"
        what = "its time is far from that of the row before"
        raise _error(path, int(lines[at]), what, evidence)


def _off_s(
    pieces: Iterable[tuple[Float64s, Int64s]],
    steps: _Steps,
    begins: Int64s,
    missing: Int64s,
) -> float:
    """Return how far a row is at most from where the rate of the first and the last row
    puts it, with so many samples missing before the rows that follow each of `begins`.
    """
    period_s = steps.length_s / (steps.rows - 1 + int(missing[-1]))
    off_s = 0.0
    for number, times_s in _numbered(pieces):
        if not number:
            first_s = float(times_s[0])
        rows = np.arange(number, number + len(times_s))
        before = missing[np.searchsorted(begins, rows, side="right") - 1]
        rest_s = times_s - first_s - (rows + before) * period_s
        off_s = max(off_s, float(np.abs(rest_s).max()))
    return off_s


def _numbered(
    pieces: Iterable[tuple[Float64s, Int64s]],
) -> Iterator[tuple[int, Float64s]]:
    number = 0
    for times_s, _ in pieces:
        yield number, times_s
        number += len(times_s)


def _allowed_s(steps: _Steps, missing: int, resolution_s: float) -> float:
    """Return how far a row of even steps may be from its place."""
    period_s = steps.length_s / (steps.rows - 1 + missing)
    # Both ends of the line may be off by half a digit, and so may be the row.
    rounded_s = resolution_s * (1 + _EQUAL * _EQUAL)
    return max(rounded_s, _EXACT * period_s)


def _layout(
    steps: _Steps, missing: int, limit_s: float, runs: list[RowRun]
) -> RowLayout:
    rate_hz = (steps.rows - 1 + missing) / steps.length_s
    whole_hz = round(rate_hz)
    if whole_hz and abs(rate_hz / whole_hz - 1) < _WHOLE:
        rate_hz = float(whole_hz)
    rate_ppm = limit_s / steps.length_s * 1e6
    if rate_ppm <= _CLOCK_PPM:
        return RowLayout(rate_hz, rate_ppm, runs)
    factor, unit = scale(limit_s, "s")
    # A rate that is given takes the rows for all samples.
    suggestion = give(" if you know it better", time="none", rate_hz="HZ")
    better = Advice(suggestion) if len(runs) == 1 else None
    known = (
        f"known to within {share(rate_ppm * 1e-6)}, as its stamps are rounded to"
        f" {limit_s * factor:.3g} {unit}"
    )
    return RowLayout(rate_hz, rate_ppm, runs, known, better)


def _error(path: Path, line: int, what: str, evidence: str = "") -> DataError:
    cause = f"{path}, line {line}: {what}"
    return DataError(cause, evidence=evidence, try_next=_RESAMPLE)
