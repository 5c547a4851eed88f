# SPDX-License-Identifier: Apache-2.0
"""A sampling rate that was given against what a file says of itself: the difference is said, and
beyond 1 % refused. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rig.errors import DataError
from rig.units import share

#: A given rate that differs by more than this from all that a file says is another one.
_REFUSED = 0.01
#: Less than clocks differ by is not worth a word.
_SILENT = 200e-6


def compared(name: str, given_hz: float, stated_hz: Mapping[str, float]) -> list[str]:
    """Return notes on what of a file contradicts a rate that was given; raises DataError where all
    of it does by more than 1 %.

    `stated_hz` are rates (Hz) by their source in the file.
    """
    off = {what: given_hz / rate_hz - 1 for what, rate_hz in stated_hz.items() if rate_hz > 0}
    if off and all(abs(part) > _REFUSED for part in off.values()):
        what = min(off, key=lambda each: abs(off[each]))
        raise DataError(
            f"{name}: --rate {given_hz:.10g} contradicts {what} by {share(abs(off[what]))}",
            evidence=", ".join(f"{each}: {rate_hz:.10g} Hz" for each, rate_hz in stated_hz.items()),
            try_next="leave out --rate, or give one within 1 %",
        )
    return [
        _note(given_hz, what, stated_hz[what], part)
        for what, part in off.items()
        if abs(part) > _SILENT
    ]


def _note(given_hz: float, what: str, rate_hz: float, part: float) -> str:
    more = "more" if part > 0 else "less"
    return (
        f"--rate {given_hz:.10g} Hz is taken, {share(abs(part))} {more} than {what} has it: "
        f"{rate_hz:.10g} Hz"
    )


@dataclass(frozen=True, slots=True)
class Fit:
    """Fit of the rows' times by an even sampling: how many there are, over how long, and how far
    one is from it at most.
    """

    rows: int
    duration_s: float
    off_s: float

    @property
    def average_hz(self) -> float:
        """Return the rate of the rows on average; 0 where there is none."""
        return (self.rows - 1) / self.duration_s if self.duration_s > 0 else 0.0

    def is_near(self, resolution_s: float) -> bool:
        """Return whether no row is off by more than 1 % of all time, and by what their stamps are
        rounded to.
        """
        return self.duration_s > 0 and self.off_s <= _REFUSED * self.duration_s + resolution_s


def fit(pieces: Iterable[NDArray[np.float64]], rate_hz: float) -> Fit:
    """Compare times of rows, in seconds, with an even sampling from the first on; rows without a
    time count, and are not off.
    """
    rows = 0
    first_s = np.nan
    least_s = np.inf
    most_s = -np.inf
    off_s = 0.0
    for times_s in pieces:
        known = np.flatnonzero(np.isfinite(times_s))
        if len(known):
            first_s = (
                times_s[known[0]] - (rows + known[0]) / rate_hz if np.isnan(first_s) else first_s
            )
            rest_s = times_s[known] - first_s - (rows + known) / rate_hz
            off_s = max(off_s, float(np.abs(rest_s).max()))
            least_s = min(least_s, float(times_s[known].min()))
            most_s = max(most_s, float(times_s[known].max()))
        rows += len(times_s)
    return Fit(rows, max(most_s - least_s, 0.0), off_s)


def of_times(name: str, column: str, given_hz: float, fit: Fit, resolution_s: float) -> list[str]:
    """Return notes on how the times of a column contradict a rate that was given; raises DataError
    beyond 1 %.
    """
    if fit.rows < 2 or not fit.duration_s:
        return [f"--rate {given_hz:.10g} Hz is taken: the column {column} tells no rate"]
    average_hz = fit.average_hz
    if not fit.is_near(resolution_s):
        other = (
            ""
            if abs(given_hz / average_hz - 1) > _REFUSED
            else f", and a row is up to {fit.off_s:.3g} s off an even sampling"
        )
        raise DataError(
            f"{name}: --rate {given_hz:.10g} contradicts the column {column}",
            evidence=f"its {fit.rows} rows in {fit.duration_s:.6g} s are {average_hz:.6g} "
            f"samples a second on average{other}",
            try_next="leave out --rate; resample the table where its rows are not even; "
            "--time none, only where the column does not tell when the samples were taken",
        )
    part = given_hz / average_hz - 1
    if abs(part) <= max(_SILENT, resolution_s / fit.duration_s):
        return []
    return [_note(given_hz, f"the column {column}", average_hz, part)]


def advice(average: Fit, resolution_s: float) -> str:
    """Return what to try with a table whose times are not even; `average` is how they fit their own
    average rate.
    """
    if average.is_near(resolution_s):
        return (
            f"--rate {average.average_hz:.6g}, if each row is one sample and none is "
            "missing; else resample it at even times"
        )
    return "resample it at even times: no rate is within 1 % of these"
