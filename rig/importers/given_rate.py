# SPDX-License-Identifier: Apache-2.0
"""Compare a given sampling rate with the rates that a file states: a difference is
noted, and one beyond 1 % is refused. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from rig.arrays import Float64s
from rig.errors import DataError
from rig.importers.advice import Advice, give
from rig.importers.rate_range import RateRange
from rig.units import share

#: A given rate that differs by more than this from all that a file says is another one.
_REFUSED = 0.01
#: Clocks differ by this: smaller differences are not reported.
_SILENT = 200e-6
#: A rate that times confirm to this, in ppm, is as good as an instrument's clock.
CONFIRMED_PPM = 50.0
#: Stamps that a computer made scatter by this share of a sample.
JITTER = 0.3


@dataclass(frozen=True, slots=True)
class RateComparison:
    """A given rate against what a file states: notes, and by how much energies that
    take it may be off, in ppm.
    """

    notes: tuple[str, ...] = ()
    off_ppm: float = 0.0


def compared(
    name: str, given_hz: float, stated_hz: Mapping[str, float]
) -> RateComparison:
    """Compare a rate that was given, if one was, with those that a file states (Hz), by
    their source in the file; raises DataError where all differ by more than 1 %.

    Energies may be off by the difference from the nearest rate; by 0 where that
    confirms it, or none is stated.
    """
    if not given_hz:
        return RateComparison()
    off = {
        what: given_hz / rate_hz - 1
        for what, rate_hz in stated_hz.items()
        if rate_hz > 0
    }
    nearest = min(off, key=lambda what: abs(off[what]), default="")
    least = abs(off.get(nearest, 0.0))
    if least > _REFUSED:
        raise DataError(
            f"{name}: the given rate, {given_hz:.10g} Hz, contradicts {nearest} by"
            f" {share(least)}",
            evidence=", ".join(
                f"{each}: {rate_hz:.10g} Hz" for each, rate_hz in stated_hz.items()
            ),
            try_next="leave out the rate, or give one within 1 %",
        )
    notes = []
    for what, part in off.items():
        if abs(part) > _SILENT:
            notes.append(_note(given_hz, what, stated_hz[what]))
    off_ppm = least * 1e6
    return RateComparison(tuple(notes), off_ppm if off_ppm > CONFIRMED_PPM else 0.0)


def _note(given_hz: float, what: str, rate_hz: float) -> str:
    part = given_hz / rate_hz - 1
    more = "more" if part > 0 else "less"
    return (
        f"the given rate, {given_hz:.10g} Hz, is taken: {share(abs(part))} {more} than"
        f" {what} has it, {rate_hz:.10g} Hz"
    )


@dataclass(frozen=True, slots=True)
class Fit:
    """Fit of the rows' times by an even sampling: how many there are, over how long,
    and how far one is from it at most.
    """

    rows: int
    duration_s: float
    off_s: float

    @property
    def average_hz(self) -> float:
        """Rate of the rows on average; 0 where there is none."""
        return (self.rows - 1) / self.duration_s if self.duration_s > 0 else 0.0

    def is_near(self, resolution_s: float) -> bool:
        """Check whether no row is off by more than 1 % of all time, and by what their
        stamps are rounded to.
        """
        return (
            self.duration_s > 0
            and self.off_s <= _REFUSED * self.duration_s + resolution_s
        )


def fit(pieces: Iterable[Float64s], rate_hz: float) -> Fit:
    """Compare times of rows, in seconds, with an even sampling from the first on; rows
    without a time count, and are not off.
    """
    rows = 0
    first_s = np.nan
    least_s = np.inf
    most_s = -np.inf
    off_s = 0.0
    for times_s in pieces:
        known = np.flatnonzero(np.isfinite(times_s))
        if len(known):
            if np.isnan(first_s):
                first_s = times_s[known[0]] - (rows + known[0]) / rate_hz
            rest_s = times_s[known] - first_s - (rows + known) / rate_hz
            off_s = max(off_s, float(np.abs(rest_s).max()))
            least_s = min(least_s, float(times_s[known].min()))
            most_s = max(most_s, float(times_s[known].max()))
        rows += len(times_s)
    return Fit(rows, max(most_s - least_s, 0.0), off_s)


def of_times(
    name: str,
    column: str,
    given_hz: float,
    fit: Fit,
    resolution_s: float,
    open_hz: RateRange | None,
) -> RateComparison:
    """Return how the times of a column contradict a rate that was given, or leave it
    open; raises DataError beyond 1 %. `open_hz` are the rates that the times allow,
    None where they say none.
    """
    if fit.rows < 2 or open_hz is None:
        unsaid = (
            f"the given rate, {given_hz:.10g} Hz, is taken: the column {column} tells"
            " none"
        )
        return RateComparison((unsaid,))
    average_hz = fit.average_hz
    if not fit.is_near(resolution_s) or not open_hz.contains(given_hz, _REFUSED):
        other = (
            ""
            if abs(given_hz / average_hz - 1) > _REFUSED
            else f", and a row is up to {fit.off_s:.3g} s off an even sampling"
        )
        evidence = (
            f"its {fit.rows} rows in {fit.duration_s:.6g} s are {average_hz:.6g}"
            f" samples a second on average{other}; rounded as they are, they leave"
            f" {open_hz.text}"
        )
        no_times = give(
            ", only where the column does not tell when the samples were taken",
            time="none",
        )
        raise DataError(
            f"{name}: the given rate, {given_hz:.10g} Hz, contradicts the column"
            f" {column}",
            evidence=evidence,
            try_next=Advice(
                "leave out the rate; resample the table where its rows are not even",
                no_times,
            ),
        )
    off_ppm = open_hz.off_ppm(given_hz)
    if off_ppm <= CONFIRMED_PPM:
        return RateComparison()
    known = f"energies are known to within {share(off_ppm * 1e-6)}"
    if open_hz.contains(given_hz):
        note = (
            f"the given rate, {given_hz:.10g} Hz, is taken, which the column {column}"
            f" does not confirm: its {fit.rows} rows leave it {open_hz.text}, and"
            f" {known}"
        )
    else:
        note = f"{_note(given_hz, f'the column {column}', average_hz)}; {known}"
    return RateComparison((note,), off_ppm)


def advice(
    average: Fit, resolution_s: float, open_hz: RateRange | None
) -> Advice | None:
    """Return advice to take each row for one sample, with the rates that the times
    allow; None where they allow none.

    `average` is how the rows fit their own average rate, `open_hz` the rates at which
    every stamp is within its rounding.
    """
    if open_hz is None or not average.is_near(resolution_s):
        return None
    remark = (
        ", if each row is one sample, none is missing and you know the rate (these"
        f" times leave it {open_hz.text})"
    )
    return Advice(give(remark, rate_hz="HZ"))
