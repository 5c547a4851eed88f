# SPDX-License-Identifier: Apache-2.0
"""Dates and times of day in the cells of a table: enough of them to tell how long it is. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time

from rig.importers.given_rate import Fit

_FRACTION = re.compile(r"[.,](\d+)")


@dataclass(frozen=True, slots=True)
class Dated:
    """A column of dates or times of day: its place, its name, and its first cell."""

    at: int
    name: str
    first: str

    def fit(self, last: str, rows: int, rate_hz: float) -> tuple[Fit, float] | None:
        """Return how the length that the first and the last cell tell fits a rate, and what they
        are rounded to; None where they tell none: midnight passed, or the last is of another form.
        """
        begin_s = seconds(self.first)
        end_s = seconds(last)
        if begin_s is None or end_s is None or end_s <= begin_s:
            return None
        places = [
            len(found[1]) if (found := _FRACTION.search(text)) else 0 for text in (self.first, last)
        ]
        return Fit(
            rows, end_s - begin_s, abs(end_s - begin_s - (rows - 1) / rate_hz)
        ), 10.0 ** -min(places)


def seconds(text: str) -> float | None:
    """Return the time that a text tells, in seconds from some beginning; None for what is none."""
    plain = text.strip().replace("/", "-")
    try:
        moment = (
            datetime.combine(date.min, time.fromisoformat(plain))
            if "-" not in plain
            else datetime.fromisoformat(plain)
        )
    except ValueError:
        return None
    return (moment.replace(tzinfo=None) - datetime.min).total_seconds()


def find(names: Sequence[str], cells: Sequence[str]) -> Dated | None:
    """Return the first column whose cell is a date with a time, or a time of day; None where there
    is none.
    """
    rows = zip(names, cells, strict=False)
    return next(
        (
            Dated(at, name, cell)
            for at, (name, cell) in enumerate(rows)
            if ":" in cell and seconds(cell) is not None
        ),
        None,
    )
