# SPDX-License-Identifier: Apache-2.0
"""Convert a text table (CSV) of evenly sampled current and voltage into a trace of the rig's own.

The text is read once, in pieces, into a file of numbers beside the trace; times give the rate and
which samples are missing.
"""

from __future__ import annotations

import codecs
import csv
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from rig.errors import ConfigError, DataError
from rig.importers import as_stamped, csv_preamble, dated, given_rate
from rig.importers.csv_heading import UNITS, Column, Heading, SyncColumn, choose, unit_of
from rig.importers.csv_times import Stamps
from rig.importers.digital_levels import BOTH, HIGH, LOW, UNKNOWN, Levels
from rig.importers.energy_counter import counted
from rig.importers.numeral import CAUSE, DecimalMark, is_number, without_no_readings
from rig.importers.opened import LARGEST, Opened, Options, require_rate
from rig.importers.power_beside import PowerBeside
from rig.importers.repeats import without_repeats
from rig.importers.sampling_grid import JITTER, GridLayout, GridRun, UnevenError, lay_out
from rig.trace.trace import TRACE, Trace
from rig.trace.writer import TraceWriter

_PIECE = 1 << 16
_HEAD_B = 1 << 16
_DELIMITERS = (";", "\t", ",")
#: Levels of a digital line, as programs write them. X: it was both within one sample; -: not known
#: (Power Profiler).
_LEVELS = {
    **dict.fromkeys(("1", "1.0", "true", "h", "high"), HIGH),
    **dict.fromkeys(("0", "0.0", "false", "l", "low"), LOW),
    "x": BOTH, "-": UNKNOWN, "": UNKNOWN,
}  # fmt: skip
_LEVEL_CHARACTERS = 16
#: No stamp that a program prints is longer; of one that is, no digit gets lost either.
_STAMP_CHARACTERS = 64
_ROW = np.dtype(
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
#: A cell that is a date or a time of day.
_DATE = re.compile(r"\d+[-/.:]\d+[-/.:]\d+.*|\d+:\d+.*")


@dataclass(frozen=True, slots=True)
class _Form:
    """The layout of a table: its heading, and where its rows begin (the number of lines before
    them).
    """

    encoding: str
    delimiter: str
    names: tuple[str, ...]
    skipped: int
    interval_s: float = 0.0
    told_by: str = ""
    dates: dated.DateColumns | None = None


def convert(path: Path, scratch: Path, options: Options) -> Opened:
    """Convert a table; raises DataError that names the line, and ConfigError."""
    if options.source:
        raise ConfigError("a table has no sources", path="source")
    form = _form(path)
    told: list[str] = []
    if form.interval_s and options.rate_hz:
        said = {f"the file's {form.told_by}": 1 / form.interval_s}
        told = given_rate.compared(path.name, options.rate_hz, said)
    heading = choose(form.names, _with_rate(options, form, told), form.dates)
    if heading.time is None:
        options = _with_rate(options, form, [])
    folder = scratch / "converted"
    folder.mkdir(parents=True, exist_ok=True)
    numbers = folder / "rows.bin"
    notes = [*heading.notes, *(told if heading.time is None else [])]
    try:
        stamps = _read(path, form, heading, numbers, notes)
        try:
            layout = _laid_out(path, form, numbers, stamps, heading, options)
        except UnevenError as error:
            if error.try_next.startswith("--rate"):
                notes.append(f"if each row is one sample: {error.try_next}")
            return _stamped(path, folder, numbers, stamps, heading, options, notes)
        rate_hz = layout.rate_hz
        runs = layout.runs
        require_rate(
            path.name,
            rate_hz,
            runs[-1].first + runs[-1].rows,
            "is the unit of the times right? --time COLUMN:UNIT",
        )
        kind = (
            "none" if heading.sync is None else "voltage" if heading.sync.is_voltage else "stamps"
        )
        about = {"converted_from": path.name, "simulated": False}
        with TraceWriter(
            folder,
            sample_hz=rate_hz,
            edge_hz=rate_hz,
            source=path.name,
            serial="",
            about=about,
            sync_kind=kind,
        ) as writer:
            levels, beside = _write(numbers, runs, heading, options, writer)
            levels.stamp(rate_hz, writer, notes)
        if heading.beside is not None:
            notes += beside.notes(options.supply_v)
        if heading.counter is not None:
            trace = Trace.open(folder / TRACE)
            notes += counted(numbers, _ROW, heading.counter.name, trace, last=1 / rate_hz)
    finally:
        numbers.unlink(missing_ok=True)
    if options.rate_hz:
        notes += layout.notes
    elif heading.time is not None:
        rate_and_source = f"{rate_hz:.10g} samples a second, from the column {heading.time.name}"
        notes += [", ".join(filter(None, [rate_and_source, layout.known])), *layout.notes]
    if stamps.first_s:
        notes.append(f"time 0 is the file's {stamps.first_s} s")
    about |= {"sync": kind}
    return Opened(
        Trace.open(folder / TRACE),
        "table",
        tuple(notes),
        not heading.is_power,
        None,
        about,
        layout.rate_ppm,
    )


def _with_rate(options: Options, form: _Form, notes: list[str]) -> Options:
    """Return options with the rate that a file tells above its rows, where none is given and no
    column has a unit of time.
    """
    timed = any(unit_of(name) and UNITS[unit_of(name)][0] == "time" for name in form.names)
    if not form.interval_s or options.rate_hz or options.time not in ("", "none") or timed:
        return options
    notes.append(f"{1 / form.interval_s:.10g} samples a second, as the file's {form.told_by} says")
    return replace(options, rate_hz=1 / form.interval_s)


def _stamped(
    path: Path,
    folder: Path,
    numbers: Path,
    stamps: Stamps,
    heading: Heading,
    options: Options,
    notes: list[str],
) -> Opened:
    """Convert rows at uneven times as they are stamped."""
    if heading.sync is not None and heading.sync.is_voltage:
        raise DataError(
            f"{path.name} is unevenly sampled: edges of a voltage are not known in it",
            try_next="--sync none, and --times; or resample it at even times",
        )
    found = np.fromfile(numbers, dtype=_ROW)
    times_s = found["time"] - found["time"][0]
    constant_v = 1.0 if heading.is_power else options.supply_v
    voltage = found["voltage"] if heading.voltage else np.full(len(found), constant_v)
    rows = as_stamped.Stamped.of(times_s, found["current"], voltage, stamps.resolution_s, path.name)
    count, cell_s = rows.cells
    require_rate(path.name, 1 / cell_s, count, "is the unit of the times right? --time COLUMN:UNIT")
    kind = "none" if heading.sync is None else "stamps"
    about = {"converted_from": path.name, "simulated": False}
    levels = Levels(heading.sync.column.name if heading.sync else "")
    line = found["level"] if heading.sync else None
    with TraceWriter(
        folder,
        sample_hz=1 / cell_s,
        edge_hz=1 / cell_s if line is None else as_stamped.edge_hz(times_s, line),
        source=path.name,
        serial="",
        about=about,
        sync_kind=kind,
    ) as writer:
        as_stamped.write(rows, line, times_s, writer, levels)
        levels.stamp(1 / cell_s, writer, notes)
    notes.append(rows.note(path.name))
    if heading.counter is not None:
        notes += counted(numbers, _ROW, heading.counter.name, Trace.open(folder / TRACE))
    if stamps.first_s:
        notes.append(f"time 0 is the file's {stamps.first_s} s")
    trace = Trace.open(folder / TRACE)
    facts = about | {"sync": kind}
    return Opened(trace, "table", tuple(notes), not heading.is_power, None, facts, stamped=rows)


def _form(path: Path) -> _Form:
    with path.open("rb") as stream:
        head = stream.read(_HEAD_B)
    if not head.strip():
        raise DataError(f"{path} is empty")
    encoding = _encoding(head)
    if encoding != "utf-16" and b"\0" in head:
        raise DataError(
            f"{path} is neither a JLS file nor a text table",
            evidence=f"it begins with {head[:16]!r}",
        )
    lines = StringIO(head.decode(encoding, errors="ignore"), newline=None).read().split("\n")
    comments = [at for at, line in enumerate(lines) if line.startswith("#")]
    rows = [
        at for at, line in enumerate(lines) if line.strip() and not line.startswith(("#", "sep="))
    ]
    if not rows:
        raise DataError(f"{path} has no rows")
    first = rows[0]
    delimiter = max(_DELIMITERS, key=lines[first].count)
    cells = _split(lines[first], delimiter)
    names = cells
    if all(is_number(cell.replace(",", ".")) for cell in cells):
        # NumPy puts its heading behind a #; without any, the columns are called by their numbers.
        commented = _split(lines[comments[-1]].lstrip("# "), delimiter) if comments else []
        names = (
            commented
            if len(commented) == len(cells)
            else [str(number) for number in range(1, len(cells) + 1)]
        )
        first -= 1
    below = _below(lines, first, delimiter)
    if names is cells:
        above = csv_preamble.find(lines)
        is_heading = _is_data(below, len(cells)) and not csv_preamble.are_units(below)
        if above is not None and (len(above.names) != len(cells) or not is_heading):
            below = _below(lines, above.skipped - 1, above.delimiter)
            return _Form(
                encoding,
                above.delimiter,
                above.names,
                above.skipped,
                above.interval_s,
                above.told_by,
                dated.find_columns(above.names, below),
            )
    told = csv_preamble.interval([lines[at] for at in comments], delimiter)
    dates = dated.find_columns(names, below)
    return _Form(encoding, delimiter, tuple(names), first + 1, *told, dates)


def _below(lines: Sequence[str], at: int, delimiter: str) -> list[str]:
    """Return the cells of the first row behind a line."""
    row = next((line for line in lines[at + 1 :] if line.strip()), "")
    return _split(row, delimiter) if row else []


def _is_data(cells: Sequence[str], width: int) -> bool:
    """Return whether a row is one of a table so wide: it has a number, or a date."""
    return len(cells) >= width and any(
        is_number(cell.replace(",", ".")) or dated.seconds(cell) is not None for cell in cells
    )


def _encoding(head: bytes) -> str:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    try:
        # A character that the end of the piece cuts in two is none that this decoder minds.
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8-sig"


def _split(line: str, delimiter: str) -> list[str]:
    return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter))]


def _read(path: Path, form: _Form, heading: Heading, numbers: Path, notes: list[str]) -> Stamps:
    """Turn text into rows of numbers in SI units; return what is known of their times."""
    stamps = Stamps(round(1 / heading.time.factor) if heading.time else 1)
    cut = ""
    count = 0
    # Between commas, a comma is no decimal one.
    decimal = DecimalMark("." if form.delimiter == "," else "")
    with path.open(encoding=form.encoding, errors="replace") as stream, numbers.open("wb") as out:
        for _ in range(form.skipped):
            stream.readline()
        at = form.skipped
        for lines in _pieces(stream):
            if not lines[-1].endswith("\n"):
                # Whoever wrote it may have been stopped in the middle of a number: what is left of
                # it may be one, too.
                lines.pop()
                cut = (
                    f"the last line, {at + len(lines) + 1}, does not end and may be cut off: "
                    "it is left out"
                )
                notes.append(cut)
                if not lines:
                    break
            rows = _Piece(path, form, heading, at, lines, decimal).rows(stamps)
            at += len(lines)
            count += len(rows)
            out.write(rows.tobytes())
    if not count:
        raise DataError(f"{path} has a heading and no rows", evidence=cut)
    if heading.time is not None:
        notes += without_repeats(numbers, _ROW)
    if decimal.mark == ",":
        notes.append("commas are decimal commas")
    return stamps


def _against_dates(path: Path, form: _Form, rows: int, options: Options) -> list[str]:
    """Compare a rate that was given with dates or times of day in a column that is not read, where
    there is one.
    """
    with path.open(encoding=form.encoding, errors="replace") as stream:
        lines = (line for line in islice(stream, form.skipped, None) if line.strip())
        dates = dated.find(form.names, _split(next(lines), form.delimiter))
        if dates is None or rows < 2:
            return []
        last = next(islice(lines, rows - 2, None))
    fitted = dates.fit(_split(last, form.delimiter)[dates.at], rows, options.rate_hz)
    if fitted is None:
        return [
            f"--rate {options.rate_hz:.10g} Hz is not compared with the column {dates.name}, whose "
            "times are not understood"
        ]
    try:
        return given_rate.of_times(path.name, dates.name, options.rate_hz, *fitted)
    except DataError as error:
        if options.time != "none":
            raise
        return [f"{error.cause}: {error.evidence}"]


def _laid_out(
    path: Path, form: _Form, numbers: Path, stamps: Stamps, heading: Heading, options: Options
) -> GridLayout:
    """Return how the rows lie; at a rate that was given, each is one sample, and their times only
    say whether that can be.
    """

    def pieces() -> Iterator[tuple[NDArray[np.float64], NDArray[np.int64]]]:
        with numbers.open("rb") as stream:
            while content := stream.read(_PIECE * _ROW.itemsize):
                rows = np.frombuffer(content, dtype=_ROW)
                yield rows["time"], rows["line"]

    def fit(rate_hz: float) -> given_rate.Fit:
        return given_rate.fit((times_s for times_s, _ in pieces()), rate_hz)

    rows = numbers.stat().st_size // _ROW.itemsize
    if options.rate_hz:
        notes: list[str] = []
        if heading.time is not None:
            given_hz = options.rate_hz
            rounded_s = max(stamps.resolution_s, JITTER / given_hz)
            notes = given_rate.of_times(
                path.name, heading.time.name, given_hz, fit(given_hz), rounded_s
            )
        else:
            notes = _against_dates(path, form, rows, options)
        return GridLayout(options.rate_hz, 0.0, [GridRun(rows, 0, 1)], notes=tuple(notes))
    try:
        return lay_out(path, pieces, stamps.resolution_s)
    except DataError as error:
        kind = UnevenError if isinstance(error, UnevenError) else DataError
        average_hz = fit(1.0).average_hz
        if rows < 3 or not average_hz:
            raise
        hint = given_rate.advice(fit(average_hz), max(stamps.resolution_s, JITTER / average_hz))
        raise kind(error.cause, evidence=error.evidence, try_next=hint) from error


def _pieces(stream: IO[str]) -> Iterator[list[str]]:
    while lines := list(islice(stream, _PIECE)):
        yield lines


@dataclass(frozen=True, slots=True)
class _Piece:
    """Some lines of a table; `before` is how many come before the first."""

    path: Path
    form: _Form
    heading: Heading
    before: int
    lines: list[str]
    decimal: DecimalMark

    def rows(self, stamps: Stamps) -> NDArray[Any]:
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
        day = [] if dates is None or dates.date_at is None else [Column("", dates.date_at)]
        try:
            found = self._fast([column for _, column in columns], [*texts, *day])
            places = np.arange(len(found), dtype=np.int64) + self.before + 1
            times = found["time"]
            times_s = stamps.seconds(times) if dates is None else None
        except ValueError:
            found, places, times = self._slow([column for _, column in columns], [*texts, *day])
            times_s = stamps.seconds(times) if dates is None else None
        if times_s is None:
            days = found[f"c{len(columns) + len(texts)}"] if day else None
            times_s = stamps.seconds(self._told(times, days, places))
        rows = np.zeros(len(found), dtype=_ROW)
        rows["time"], rows["line"] = times_s, places
        for number, (name, column) in enumerate(columns):
            # Divided by a whole number rather than multiplied by a fraction: 300 mA is then 0.3 A
            # exactly as written.
            values = without_no_readings(found[f"c{number}"]) / round(1 / column.factor)
            if column not in (heading.beside, heading.counter):
                self._require_single(values, column, places)
            rows[name] = values
        if line is not None and texts:
            rows["level"] = self._levels(found[f"c{len(columns)}"], line, places)
        return rows

    def _told(
        self, times: NDArray[Any], days: NDArray[Any] | None, places: NDArray[np.int64]
    ) -> NDArray[np.str_]:
        """Return the seconds that dates tell; raises DataError with the first line that tells
        none.
        """
        dates = self.heading.dates
        assert dates is not None
        seconds, bad = dates.seconds(times, days)
        if bad is not None:
            raise DataError(
                f"{self.path}, line {int(places[bad])}: {dates.name} is no date or time",
                evidence=repr(str(times[bad])),
                try_next="ISO 8601, as 2026-03-01T12:00:00.125; or --time none with --rate",
            )
        return seconds

    def _fast(self, numeric: Sequence[Column], texts: Sequence[Column]) -> NDArray[Any]:
        """Let NumPy read the piece; raises ValueError for whatever is not plain."""
        delimiter = self.form.delimiter
        time = self.heading.time
        if any(
            line.count(delimiter) != len(self.form.names) - 1 or line.isspace()
            for line in self.lines
        ):
            raise ValueError
        lines = self._plain()
        # Without times, the first column stands in their place, and it is not read.
        columns = [time.at if time else 0, *(column.at for column in [*numeric, *texts])]
        dtype = np.dtype([("time", f"U{_STAMP_CHARACTERS}"), *_kinds(len(numeric), len(texts))])
        rows = np.atleast_1d(
            np.loadtxt(
                lines,
                delimiter=delimiter,
                usecols=columns,
                dtype=dtype,
                comments=None,
                quotechar='"',
            )
        )
        if time is None:
            rows["time"] = "0"
        if (np.char.str_len(rows["time"]) == _STAMP_CHARACTERS).any():
            raise ValueError
        return rows

    def _plain(self) -> list[str]:
        """Return lines with decimal points; raises ValueError where cells have to be looked at one
        by one.
        """
        joined = "".join(self.lines)
        # Python takes 1_012 and digits of other scripts for numbers.
        if "_" in joined or not joined.isascii():
            raise ValueError
        has = {mark for mark in ".," if mark in joined} if self.form.delimiter != "," else set()
        if has - {self.decimal.mark} and self.decimal.mark != ".":
            raise ValueError
        return (
            [line.replace(",", ".") for line in self.lines]
            if self.decimal.mark == ","
            else self.lines
        )

    def _slow(
        self, numeric: Sequence[Column], texts: Sequence[Column]
    ) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.str_]]:
        """Read line by line; an empty cell is a lost sample."""
        found = []
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
                times.append(self._text(cells[time.at], time.name, number) if time else "0")
            row = [self._number(cells[column.at], column, number) for column in numeric]
            found.append((*row, *(cells[column.at][:_LEVEL_CHARACTERS] for column in texts)))
            places.append(number)
        rows = np.array(found, dtype=np.dtype(_kinds(len(numeric), len(texts))))
        return rows, np.array(places, dtype=np.int64), np.array(times, dtype=np.str_)

    def _cells(self, line: str, number: int) -> list[str]:
        cells = _split(line, self.form.delimiter)
        due = len(self.form.names)
        if len(cells) >= due and not any(cells[due:]):
            return cells
        commas = "are these decimal commas? export with points, or with ; between the cells"
        raise DataError(
            f"{self.path}, line {number} has {len(cells)} cells where the heading has {due}",
            evidence=line.rstrip("\n")[:80],
            try_next=commas
            if len(cells) > due and self.form.delimiter == ","
            else "mend that line, or take it out",
        )

    def _number(self, cell: str, column: Column, number: int) -> float:
        try:
            return float(self._text(cell, column.name, number))
        except DataError:
            if column in (self.heading.beside, self.heading.counter):  # nothing depends on it
                return math.nan
            raise

    def _text(self, cell: str, name: str, number: int) -> str:
        """Return the text of a number, with a decimal point; raises DataError where it is none."""
        hint = "a number, or an empty cell where there is none"
        try:
            text = self.decimal.pointed(cell)
        except ValueError as error:
            text = ""
            hint = str(error)
            if self.form.delimiter == "," and "." not in cell:
                hint = "are these decimal commas? export with points, or with ; between the cells"
        if is_number(text):
            return text
        if not cell:
            return "nan"
        if _DATE.fullmatch(cell):
            hint = (
                "no dates: export the time in seconds; or --time none --rate HZ, if each "
                "row is one sample and none is missing"
            )
        raise DataError(
            f"{self.path}, line {number}: {name} is not a number",
            evidence=repr(cell),
            try_next=hint,
        )

    def _require_single(
        self, values: NDArray[np.float64], column: Column, places: NDArray[np.int64]
    ) -> None:
        large = np.flatnonzero(np.isfinite(values) & (np.abs(values) > LARGEST))
        if large.size:
            evidence = f"{values[large[0]]:.6g}, where {LARGEST:.3g} is the most that can be stored"
            where = f"{self.path}, line {places[large[0]]}: {column.name}"
            raise DataError(
                f"{where} is beyond single precision",
                evidence=evidence,
                try_next="is the unit right?",
            )

    def _levels(
        self, texts: NDArray[np.str_], line: SyncColumn, places: NDArray[np.int64]
    ) -> NDArray[np.int8]:
        if line.bit is not None:
            texts = np.array([text[line.bit : line.bit + 1] for text in texts.tolist()])
        plain, inverse = np.unique(np.char.lower(np.char.strip(texts)), return_inverse=True)
        for at, text in enumerate(plain.tolist()):
            if text not in _LEVELS:
                row = int(np.flatnonzero(inverse == at)[0])
                raise DataError(
                    f"{self.path}, line {places[row]}: {line.column.name} is not a level",
                    evidence=repr(text),
                    try_next="--sync COLUMN, of levels 0 and 1, or of a voltage with its unit in "
                    "the heading",
                )
        codes = np.array([_LEVELS[text] for text in plain.tolist()], dtype=np.int8)
        return codes[inverse]


def _kinds(numeric: int, texts: int) -> list[tuple[str, str]]:
    kinds = ["f8"] * numeric + [f"U{_LEVEL_CHARACTERS}"] * texts
    return [(f"c{number}", kind) for number, kind in enumerate(kinds)]


def _write(
    numbers: Path, runs: Sequence[GridRun], heading: Heading, options: Options, writer: TraceWriter
) -> tuple[Levels, PowerBeside]:
    """Write the rows where their times put them, and leave out what is missing between runs."""
    levels = Levels(heading.sync.column.name if heading.sync else "")
    beside = PowerBeside(heading.beside.name if heading.beside else "")
    with numbers.open("rb") as stream:
        for run in runs:
            missing = run.first - writer.samples
            if missing:
                levels.lose(writer.samples)
                writer.skip(missing, f"no samples before line {run.line}")
            left = run.rows
            while left:
                count = min(left, _PIECE)
                rows = np.fromfile(
                    stream, dtype=_ROW, count=count
                )  # of its own memory: the trace takes no other
                if heading.sync is not None:
                    if heading.sync.is_voltage:
                        writer.sync_voltage(rows["sync_v"])
                    else:
                        levels.add(writer.samples, rows["level"])
                constant_v = 1.0 if heading.is_power else options.supply_v
                voltage = rows["voltage"] if heading.voltage else np.full(count, constant_v)
                writer.analog(rows["current"], voltage, unreadable=CAUSE)
                if heading.beside is not None:
                    beside.add(rows["current"], voltage, rows["power"])
                left -= count
    return levels, beside
