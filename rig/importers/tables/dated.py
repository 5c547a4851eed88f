# SPDX-License-Identifier: Apache-2.0
"""Dates and times of day in the cells of a table: its length, and the time of each row.
Pure.

ISO 8601, also with / and year first, in one column or two; times of day alone may pass
midnight. Dates with the day or the month first are not read, as the two look alike.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time

import numpy as np

from rig.arrays import Int64s, Strings
from rig.importers.given_rate import Fit
from rig.importers.rate_range import RateRange, of_length

_FRACTION = re.compile(r"[.,](\d+)")
_DATE = re.compile(r"\d{4}[-/]\d{1,2}[-/]\d{1,2}")
_NS_PER_S = 1_000_000_000
_DAY_NS = 86_400 * _NS_PER_S
#: Among so many rows at either end, one has all digits that are printed.
_ENDS = 64


@dataclass(frozen=True, slots=True)
class Dated:
    """A column of dates or times of day: its place, its name, and its first cell."""

    at: int
    name: str
    first: str

    def fit(
        self, last: str, rows: int, rate_hz: float
    ) -> tuple[Fit, float, RateRange] | None:
        """Return how the length that the first and the last cell tell fits a rate, what
        they are rounded to, and the rates that they leave open; None where they tell
        none: midnight passed, or the last is of another form.
        """
        begin_s = seconds(self.first)
        end_s = seconds(last)
        if begin_s is None or end_s is None or end_s <= begin_s:
            return None
        places = min(_places(self.first), _places(last))
        length_s = end_s - begin_s
        resolution_s = 10.0**-places
        off_s = abs(length_s - (rows - 1) / rate_hz)
        return (
            Fit(rows, length_s, off_s),
            resolution_s,
            of_length(rows, length_s, resolution_s),
        )


def seconds(text: str) -> float | None:
    """Return the time that a text tells, in seconds from some beginning; None for what
    is none."""
    plain = text.strip().replace("/", "-")
    try:
        if "-" not in plain:
            moment = datetime.combine(date.min, time.fromisoformat(plain))
        else:
            moment = datetime.fromisoformat(plain)
    except ValueError:
        return None
    return (moment.replace(tzinfo=None) - datetime.min).total_seconds()


def find(names: Sequence[str], cells: Sequence[str]) -> Dated | None:
    """Return the first column whose cell is a date with a time, or a time of day; None
    where there is none.
    """
    for at, (name, cell) in enumerate(zip(names, cells, strict=False)):
        if ":" in cell and seconds(cell) is not None:
            return Dated(at, name, cell)
    return None


def _places(text: str) -> int:
    """Return the number of digits after the point of the seconds."""
    fraction = _FRACTION.search(text)
    return len(fraction[1]) if fraction else 0


@dataclass(slots=True)
class DateColumns:
    """The columns that tell the time of a row: a date with a time of day, or a time of
    day at `at` with a date at `date_at` beside it, or none.
    """

    name: str
    at: int
    date_at: int | None = None
    _last_ns: int | None = field(default=None, repr=False)
    _days_ns: int = field(default=0, repr=False)

    def seconds(
        self, times: Strings, dates: Strings | None
    ) -> tuple[Strings, int | None]:
        """Return the times of rows in seconds, as exact texts, and the first row
        without a time.

        To be called with piece after piece: times of day continue after midnight.
        """
        import pandas as pd  # loads only where a table has dates: it takes 0.2 s

        plain = np.char.replace(np.char.strip(times), ",", ".")
        if dates is not None:
            plain = np.char.add(np.char.add(np.char.strip(dates), "T"), plain)
        plain = np.char.replace(plain, "/", "-")
        if self._is_dated(plain):
            dates_of_rows = pd.to_datetime(
                pd.Series(plain), format="ISO8601", utc=True, errors="coerce"
            )
            instants = dates_of_rows.dt.as_unit("ns")
        else:
            instants = pd.to_timedelta(pd.Series(plain), errors="coerce").dt.as_unit(
                "ns"
            )
        bad = np.flatnonzero(instants.isna().to_numpy())
        if len(bad):
            return times, int(bad[0])
        ns = instants.astype("int64").to_numpy()
        if not self._is_dated(plain):
            ns = self._behind_midnight(ns)
        ends = (*plain[:_ENDS].tolist(), *plain[-_ENDS:].tolist())
        digits = max(map(_places, ends), default=0)
        step = 10 ** (9 - min(digits, 9))
        texts = [_decimal(int(one) // step, min(digits, 9)) for one in ns]
        return np.array(texts, dtype=np.str_), None

    def _is_dated(self, plain: Strings) -> bool:
        return len(plain) > 0 and "-" in str(plain[0])

    def _behind_midnight(self, ns: Int64s) -> Int64s:
        before = ns[:1] if self._last_ns is None else np.array([self._last_ns])
        back = np.diff(np.concatenate([before, ns])) < -_DAY_NS // 2
        days_ns = self._days_ns + np.cumsum(back) * _DAY_NS
        self._last_ns = int(ns[-1])
        self._days_ns = int(days_ns[-1])
        moved: Int64s = ns + days_ns
        return moved


def find_columns(names: Sequence[str], cells: Sequence[str]) -> DateColumns | None:
    """Return the columns that tell the time of a row; None where there are none."""
    dated = find(names, cells)
    if dated is None:
        return None
    if "-" in dated.first.replace("/", "-"):
        return DateColumns(dated.name, dated.at)
    dates = [at for at, cell in enumerate(cells) if _DATE.fullmatch(cell.strip())]
    if len(dates) != 1:
        return DateColumns(dated.name, dated.at)
    return DateColumns(f"{names[dates[0]]} and {dated.name}", dated.at, dates[0])


def _decimal(value: int, digits: int) -> str:
    whole, part = divmod(value, 10**digits)
    return f"{whole}.{part:0{digits}d}" if digits else str(whole)
