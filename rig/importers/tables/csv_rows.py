# SPDX-License-Identifier: Apache-2.0
"""Lines of a text table -> rows of numbers in SI units."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rig.arrays import Array, Float64s, Int64s, Strings
from rig.errors import DataError, shortened
from rig.importers.advice import Advice, give
from rig.importers.digital_levels import BOTH, HIGH, LOW, UNKNOWN
from rig.importers.options import LARGEST
from rig.importers.tables.column_units import unit_as_written, without_unit
from rig.importers.tables.csv_form import ZEROS, Form, split
from rig.importers.tables.csv_heading import Column, Heading, SyncColumn
from rig.importers.tables.csv_times import LAST_DIGITS, Stamps
from rig.importers.tables.numeral import DecimalMark, is_number, without_no_readings

if TYPE_CHECKING:
    import pandas

#: Levels of a digital line, as programs write them. X: it was both within one sample;
#: -: not known (Power Profiler).
_LEVELS = {
    **dict.fromkeys(("1", "1.0", "true", "h", "high"), HIGH),
    **dict.fromkeys(("0", "0.0", "false", "l", "low"), LOW),
    "x": BOTH, "-": UNKNOWN, "": UNKNOWN,
}  # fmt: skip
_LEVEL_CHARACTERS = 16
#: So much of a cell is quoted.
_QUOTED_CHARACTERS = 60
#: Words for no number.
_NAN = ["nan", "NaN", "NAN", "Nan", "+nan", "-nan", "+NaN", "-NaN"]
#: No stamp that a program prints is longer; of one that is, no digit gets lost either.
_STAMP_CHARACTERS = 64
ROW = np.dtype(
    [
        ("time", "f8"),
        ("line", "i8"),
        ("current", "f8"),
        ("voltage", "f8"),
        ("level", "i1"),
        ("sync_v", "f4"),
        ("power", "f8"),
        ("counter", "f8"),
    ]
)
_OF_LEVELS = ", of levels 0 and 1, or of a voltage with its unit in the heading"
#: A cell that is a date or a time of day.
_DATE = re.compile(r"\d+[-/.:]\d+[-/.:]\d+.*|\d+:\d+.*")


@dataclass(frozen=True, slots=True)
class Piece:
    """Some lines of a table; `before` is how many come before the first."""

    path: Path
    form: Form
    heading: Heading
    before: int
    lines: list[str]
    decimal: DecimalMark

    def rows(self, stamps: Stamps) -> Array:
        """Return the rows, with the number of the line of each."""
        heading = self.heading
        line = self.heading.sync
        numeric = [
            ("current", heading.current),
            ("voltage", heading.voltage),
            ("power", heading.beside),
            ("counter", heading.counter),
        ]
        if line is not None and line.is_voltage:
            numeric.append(("sync_v", line.column))
        columns = [(name, column) for name, column in numeric if column is not None]
        texts = [line.column] if line is not None and not line.is_voltage else []
        dates = heading.dates
        day = (
            []
            if dates is None or dates.date_at is None
            else [Column("", dates.date_at)]
        )
        try:
            found = self._fast([column for _, column in columns], [*texts, *day])
            places = np.arange(len(found), dtype=np.int64) + self.before + 1
            times = found["time"]
            times_s = self._seconds(times, stamps) if dates is None else None
        except ValueError:
            found, places, times = self._slow(
                [column for _, column in columns], [*texts, *day]
            )
            times_s = stamps.seconds(times) if dates is None else None
        if times_s is None:
            days = found[f"c{len(columns) + len(texts)}"] if day else None
            times_s = stamps.seconds(self._told(times, days, places))
        rows = np.zeros(len(found), dtype=ROW)
        rows["time"], rows["line"] = times_s, places
        for number, (name, column) in enumerate(columns):
            # Divided by a whole number rather than multiplied by a fraction: 300 mA is
            # then 0.3 A exactly as written.
            values = without_no_readings(found[f"c{number}"]) / round(1 / column.factor)
            if column.ohm:
                values = values / column.ohm
            if column not in (heading.beside, heading.counter):
                self._require_single(values, column, places)
            rows[name] = values
        if line is not None and texts:
            rows["level"] = self._levels(found[f"c{len(columns)}"], line, places)
        return rows

    def _told(self, times: Array, days: Array | None, places: Int64s) -> Strings:
        """Return the seconds that dates tell; raises DataError with the first line that
        tells none.
        """
        dates = self.heading.dates
        assert dates is not None
        seconds, bad = dates.seconds(times, days)
        if bad is not None:
            no_times = give(time="none", rate_hz="HZ")
            raise DataError(
                f"{self.path}, line {int(places[bad])}: {dates.name} is no date or"
                " time",
                evidence=repr(str(times[bad])),
                try_next=Advice("ISO 8601, as 2026-03-01T12:00:00.125", no_times),
            )
        return seconds

    def _fast(self, numeric: Sequence[Column], texts: Sequence[Column]) -> Array:
        """Read the piece with pandas; raises ValueError where a cell needs a closer
        look. Times are numbers unless they are dates."""
        text = self._plain()
        if not self._is_even(text):
            raise ValueError
        time = self.heading.time
        dated = self.heading.dates is not None
        as_numbers = [*numeric, *([time] if time and not dated else [])]
        as_texts = [*texts, *([time] if time and dated else [])]
        kinds: dict[int, type] = {column.at: np.float64 for column in as_numbers}
        if any(kinds.get(column.at) for column in as_texts):
            raise ValueError  # one column in two roles
        kinds |= {column.at: str for column in as_texts}
        no_number = {column.at: _NAN for column in as_numbers}
        # an empty cell is a lost sample, an empty line is none
        if len(self.form.names) > 1:
            no_number |= {
                column.at: [*_NAN, ""] for column in numeric if column != time
            }
        table = _table(
            text,
            self.form.delimiter,
            usecols=sorted(kinds),
            dtype=kinds,
            na_values=no_number,
            skip_blank_lines=False,
        )
        if len(table) != len(self.lines):
            raise ValueError
        time_kind = f"U{_STAMP_CHARACTERS}" if dated else "f8"
        kind = [("time", time_kind), *_kinds(len(numeric), len(texts))]
        rows = np.zeros(len(table), kind)
        if time is not None:
            rows["time"] = table[time.at].to_numpy()
        for number, column in enumerate([*numeric, *texts]):
            rows[f"c{number}"] = table[column.at].to_numpy()
        return rows

    def _seconds(self, values: Float64s, stamps: Stamps) -> Float64s:
        """Return the times of rows that were read as numbers, exactly where that
        matters."""
        if self.heading.time is None:
            return values
        at = self.heading.time.at
        delimiter = self.form.delimiter
        begin = self._stamps(self.lines[:LAST_DIGITS], at)
        end = self._stamps(self.lines[-LAST_DIGITS:], at)
        seconds = stamps.of_numbers(values, begin, end)
        if seconds is not None:
            return seconds
        texts = _table(self._plain(), delimiter, usecols=[at], dtype=str)[at]
        return stamps.seconds(texts.to_numpy().astype(np.str_))

    def _stamps(self, lines: Sequence[str], at: int) -> list[str]:
        """Return the times of lines as they are written, with decimal points."""
        if self.decimal.mark == ",":
            lines = [line.replace(",", ".") for line in lines]
        return [split(line, self.form.delimiter)[at] for line in lines]

    def _plain(self) -> str:
        """Return the lines with decimal points; raises ValueError where cells have to
        be looked at one by one.
        """
        joined = "".join(self.lines)
        # Python takes 1_012 and digits of other scripts for numbers.
        if "_" in joined or not joined.isascii():
            raise ValueError
        has = (
            {mark for mark in ".," if mark in joined}
            if self.form.delimiter != ","
            else set()
        )
        if has - {self.decimal.mark} and self.decimal.mark != ".":
            raise ValueError
        return joined.replace(",", ".") if self.decimal.mark == "," else joined

    def _is_even(self, text: str) -> bool:
        """Check whether each line has as many cells as the heading, and none is
        empty."""
        signs = np.frombuffer(text.encode("ascii"), np.uint8)
        ends = np.flatnonzero(signs == ord("\n"))
        is_blank = np.diff(ends, prepend=-1) == 1
        if len(ends) != len(self.lines) or is_blank.any():
            return False
        places = np.flatnonzero(signs == ord(self.form.delimiter))
        due = (len(self.form.names) - 1) * np.arange(1, len(ends) + 1)
        return bool((np.searchsorted(places, ends) == due).all())

    def _slow(
        self, numeric: Sequence[Column], texts: Sequence[Column]
    ) -> tuple[Array, Int64s, Strings]:
        """Read line by line; an empty cell is a lost sample."""
        values = []
        places = []
        times = []
        for number, line in enumerate(self.lines, start=self.before + 1):
            if not line.strip():
                continue
            cells = self._cells(line, number)
            time = self.heading.time
            if self.heading.dates is not None:
                times.append(cells[self.heading.dates.at])
            else:
                times.append(self._text(cells[time.at], time, number) if time else "0")
            row = [self._number(cells[column.at], column, number) for column in numeric]
            values.append(
                (*row, *(cells[column.at][:_LEVEL_CHARACTERS] for column in texts))
            )
            places.append(number)
        rows = np.array(values, dtype=np.dtype(_kinds(len(numeric), len(texts))))
        return rows, np.array(places, dtype=np.int64), np.array(times, dtype=np.str_)

    def _cells(self, line: str, number: int) -> list[str]:
        cells = split(line, self.form.delimiter)
        due = len(self.form.names)
        if len(cells) >= due and not any(cells[due:]):
            return cells
        commas = (
            "are these decimal commas? export with points, or with ; between the cells"
        )
        try_next = (
            commas
            if len(cells) > due and self.form.delimiter == ","
            else "mend that line, or take it out"
        )
        raise DataError(
            f"{self.path}, line {number} has {len(cells)} cells where the heading has"
            f" {due}",
            evidence=line.rstrip("\n")[:80],
            try_next=try_next,
        )

    def _number(self, cell: str, column: Column, number: int) -> float:
        try:
            return float(self._text(cell, column, number))
        except DataError:
            # no result depends on it
            if column in (self.heading.beside, self.heading.counter):
                return math.nan
            raise

    def _text(self, cell: str, column: Column, number: int) -> str:
        """Return the text of a number in the column's unit, with a decimal point;
        raises DataError where it is none.
        """
        name = column.name
        hint = "a number, or an empty cell where there is none"
        try:
            text = self.decimal.pointed(
                without_unit(cell, unit_as_written(column.unit))
            )
        except ValueError as error:
            text = ""
            hint = str(error)
            if self.form.delimiter == "," and "." not in cell:
                hint = (
                    "are these decimal commas? export with points, or with ; between"
                    " the cells"
                )
        if is_number(text):
            return text
        if not cell:
            return "nan"
        if _DATE.fullmatch(cell):
            is_even = ", if each row is one sample and none is missing"
            hint = Advice(
                "no dates: export the time in seconds",
                give(is_even, time="none", rate_hz="HZ"),
            )
        if "\0" in cell:
            hint = ZEROS
        raise DataError(
            f"{self.path}, line {number}: {name} is not a number",
            evidence=shortened(repr(cell), _QUOTED_CHARACTERS),
            try_next=hint,
        )

    def _require_single(self, values: Float64s, column: Column, places: Int64s) -> None:
        large = np.flatnonzero(np.isfinite(values) & (np.abs(values) > LARGEST))
        if large.size:
            evidence = (
                f"{values[large[0]]:.6g}, where {LARGEST:.3g} is the most that can be"
                " stored"
            )
            where = f"{self.path}, line {places[large[0]]}: {column.name}"
            raise DataError(
                f"{where} is beyond single precision",
                evidence=evidence,
                try_next="is the unit right?",
            )

    def _levels(
        self, texts: Strings, line: SyncColumn, places: Int64s
    ) -> NDArray[np.int8]:
        if line.bit is not None:
            texts = np.array([text[line.bit : line.bit + 1] for text in texts.tolist()])
        plain, inverse = np.unique(
            np.char.lower(np.char.strip(texts)), return_inverse=True
        )
        for at, text in enumerate(plain.tolist()):
            if text not in _LEVELS:
                row = int(np.flatnonzero(inverse == at)[0])
                raise DataError(
                    f"{self.path}, line {places[row]}: {line.column.name} is not a"
                    " level",
                    evidence=repr(text),
                    try_next=Advice(give(_OF_LEVELS, sync="COLUMN")),
                )
        codes = np.array([_LEVELS[text] for text in plain.tolist()], dtype=np.int8)
        return codes[inverse]


def _table(text: str, delimiter: str, **how: Any) -> pandas.DataFrame:
    """Return the cells of lines without a heading, as pandas reads them."""
    import pandas  # loads only where there is a table to read: it takes 0.2 s

    # Before its version 3 pandas rounds numbers to the last digit but one unless it is
    # asked.
    if int(pandas.__version__.partition(".")[0]) < 3:
        how |= {"float_precision": "round_trip"}
    return pandas.read_csv(
        StringIO(text),
        sep=delimiter,
        header=None,
        index_col=False,
        keep_default_na=False,
        **how,
    )


def _kinds(numeric: int, texts: int) -> list[tuple[str, str]]:
    kinds = ["f8"] * numeric + [f"U{_LEVEL_CHARACTERS}"] * texts
    return [(f"c{number}", kind) for number, kind in enumerate(kinds)]
