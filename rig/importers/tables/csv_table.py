# SPDX-License-Identifier: Apache-2.0
"""Convert a text table (CSV) of evenly sampled current and voltage into a trace of the
rig's own.

The text is read once, in pieces, into a file of numbers beside the trace; times give
the rate and which samples are missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from rig.errors import ConfigError, DataError
from rig.importers import as_stamped, given_rate, rate_range
from rig.importers.digital_levels import LevelStretches
from rig.importers.given_rate import RateComparison
from rig.importers.opened import Opened, require_rate
from rig.importers.options import Options
from rig.importers.rate_range import RateRange
from rig.importers.tables import dated, short_lines
from rig.importers.tables.column_units import Named
from rig.importers.tables.csv_form import Form, form_of, split
from rig.importers.tables.csv_heading import Heading, choose
from rig.importers.tables.csv_rows import ROW, Piece
from rig.importers.tables.csv_times import Stamps
from rig.importers.tables.energy_counter import counted
from rig.importers.tables.even_rows import RowLayout, RowRun, lay_out
from rig.importers.tables.numeral import CAUSE, DecimalMark
from rig.importers.tables.power_beside import PowerBeside
from rig.importers.tables.repeats import without_repeats
from rig.trace.trace import TRACE, Trace
from rig.trace.writer import TraceWriter

_PIECE = 1 << 16
#: Lines whose cells are examined for the decimal mark, where it is not known.
_FIRST = 1 << 8


def convert(path: Path, scratch: Path, options: Options) -> Opened:
    """Convert a table; raises DataError that names the line, and ConfigError."""
    if options.source:
        raise ConfigError("a table has no sources", path="source")
    form = form_of(path)
    told: list[str] = []
    untold_ppm = 0.0
    if form.interval_s and options.rate_hz:
        said = {f"the file's {form.told_by}": 1 / form.interval_s}
        told = given_rate.compared(path.name, options.rate_hz, said)
        untold_ppm = given_rate.unconfirmed_ppm(options.rate_hz, said)
    heading = choose(
        form.names, _with_rate(options, form, told), form.dates, form.cells
    )
    if heading.time is None:
        options = _with_rate(options, form, [])
    short_lines.require(path)
    folder = scratch / "converted"
    folder.mkdir(parents=True, exist_ok=True)
    numbers = folder / "rows.bin"
    notes = [*heading.notes, *(told if heading.time is None else [])]
    try:
        stamps = _read(path, form, heading, numbers, notes)
        rows = _Rows(
            path=path,
            form=form,
            heading=heading,
            options=options,
            numbers=numbers,
            stamps=stamps,
        )
        layout = _laid_out(rows)
        if layout is None:
            advice = _advice(rows)
            notes += [advice] if advice else []
            return _stamped(rows, notes)
        about = _evenly(rows, layout, notes)
    finally:
        numbers.unlink(missing_ok=True)
    if options.rate_hz:
        notes += layout.notes
    elif heading.time is not None:
        from_column = (
            f"{layout.rate_hz:.10g} samples a second, from the column"
            f" {heading.time.name}"
        )
        notes += [", ".join(filter(None, [from_column, layout.known])), *layout.notes]
    if stamps.first_s:
        notes.append(f"time 0 is the file's {stamps.first_s} s")
    if heading.time is not None:
        untold_ppm = 0.0
    return Opened(
        trace=Trace.open(folder / TRACE),
        origin="table",
        notes=tuple(notes),
        has_current=not heading.is_power,
        about=about,
        rate_ppm=max(layout.rate_ppm, untold_ppm),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """The rows of a table as `numbers` in a file, in SI units, with their stamps."""

    path: Path
    form: Form
    heading: Heading
    options: Options
    numbers: Path
    stamps: Stamps

    @property
    def count(self) -> int:
        """Number of rows."""
        return self.numbers.stat().st_size // ROW.itemsize

    def voltage(self, table: NDArray[Any]) -> NDArray[Any]:
        """Return the voltage of some rows; that of the supply where none was measured,
        and 1 beside power.
        """
        if self.heading.voltage:
            return table["voltage"]
        constant_v = 1.0 if self.heading.is_power else self.options.supply_v
        return np.full(len(table), constant_v)

    def times(self) -> Iterator[tuple[NDArray[np.float64], NDArray[np.int64]]]:
        """Yield the times of rows, and their lines in the table."""
        with self.numbers.open("rb") as stream:
            while content := stream.read(_PIECE * ROW.itemsize):
                table = np.frombuffer(content, dtype=ROW)
                yield table["time"], table["line"]

    def times_s(self) -> Iterator[NDArray[np.float64]]:
        """Yield the times of rows."""
        return (times_s for times_s, _ in self.times())

    def fit(self, rate_hz: float) -> given_rate.Fit:
        """Compare the times of rows with an even sampling."""
        return given_rate.fit(self.times_s(), rate_hz)

    @property
    def open_hz(self) -> RateRange | None:
        """Rates that the stamps leave open."""
        return rate_range.of_stamps(self.times_s, self.stamps.resolution_s)


def _evenly(rows: _Rows, layout: RowLayout, notes: list[str]) -> dict[str, Any]:
    """Write a trace of rows that are even samples; return its metadata."""
    path, heading = rows.path, rows.heading
    folder = rows.numbers.parent
    rate_hz = layout.rate_hz
    runs = layout.runs
    require_rate(
        path.name,
        rate_hz,
        runs[-1].first + runs[-1].rows,
        "is the unit of the times right? --time COLUMN:UNIT",
    )
    kind = (
        "none"
        if heading.sync is None
        else "voltage"
        if heading.sync.is_voltage
        else "stamps"
    )
    about: dict[str, Any] = {"converted_from": path.name, "simulated": False}
    with TraceWriter(
        folder,
        sample_hz=rate_hz,
        edge_hz=rate_hz,
        source=path.name,
        serial="",
        about=about,
        sync_kind=kind,
    ) as writer:
        levels, beside = _write(rows, runs, writer)
        levels.stamp(rate_hz, writer, notes)
    if heading.beside is not None:
        notes += beside.notes(rows.options.supply_v)
    if heading.counter is not None:
        trace = Trace.open(folder / TRACE)
        notes += counted(
            rows.numbers, ROW, heading.counter.name, trace, last=1 / rate_hz
        )
    return about | {"sync": kind}


def _with_rate(options: Options, form: Form, notes: list[str]) -> Options:
    """Return options with the rate that a file tells above its rows, where none is
    given and no column has a unit of time.
    """
    timed = bool(Named.of(form.names, form.cells).of_role("time"))
    if (
        not form.interval_s
        or options.rate_hz
        or options.time not in ("", "none")
        or timed
    ):
        return options
    notes.append(
        f"{1 / form.interval_s:.10g} samples a second, as the file's {form.told_by}"
        " says"
    )
    return replace(options, rate_hz=1 / form.interval_s)


def _stamped(rows: _Rows, notes: list[str]) -> Opened:
    """Convert rows at uneven times as they are stamped."""
    path, heading, stamps = rows.path, rows.heading, rows.stamps
    folder = rows.numbers.parent
    table = np.fromfile(rows.numbers, dtype=ROW)
    stamped_s, current = table["time"], table["current"]
    times_s = stamped_s - stamped_s[0]
    voltage = rows.voltage(table)
    stamped = as_stamped.Stamped.of(
        times_s, current, voltage, stamps.resolution_s, path.name
    )
    count, cell_s = stamped.cells
    require_rate(
        path.name,
        1 / cell_s,
        count,
        "is the unit of the times right? --time COLUMN:UNIT",
    )
    sync = _stamped_sync(heading, times_s, table)
    about = {"converted_from": path.name, "simulated": False}
    with TraceWriter(
        folder,
        sample_hz=1 / cell_s,
        edge_hz=sync.edge_hz or 1 / cell_s,
        source=path.name,
        serial="",
        about=about,
        sync_kind=sync.kind,
    ) as writer:
        as_stamped.write(stamped, sync, writer)
        sync.levels.stamp(1 / cell_s, writer, notes)
    notes.append(stamped.note(path.name))
    if heading.beside is not None:
        beside = PowerBeside(heading.beside.name)
        beside.add(current, voltage, table["power"])
        notes += beside.notes(rows.options.supply_v)
    trace = Trace.open(folder / TRACE)
    if heading.counter is not None:
        notes += counted(rows.numbers, ROW, heading.counter.name, trace)
    if stamps.first_s:
        notes.append(f"time 0 is the file's {stamps.first_s} s")
    return Opened(
        trace,
        "table",
        tuple(notes),
        not heading.is_power,
        about=about | {"sync": sync.kind},
        stamped=stamped,
    )


def _stamped_sync(
    heading: Heading, times_s: NDArray[np.float64], table: NDArray[Any]
) -> as_stamped.SyncRows:
    """Return the SYNC line of rows at uneven times."""
    if heading.sync is None:
        return as_stamped.SyncRows("none", times_s, np.zeros(0))
    name = heading.sync.column.name
    if not heading.sync.is_voltage:
        return as_stamped.SyncRows(
            "stamps", times_s, table["level"], LevelStretches(name)
        )
    volts = table["sync_v"].astype(np.float64)
    known = np.isfinite(volts)
    return as_stamped.SyncRows("voltage", times_s[known], volts[known])


def _read(
    path: Path, form: Form, heading: Heading, numbers: Path, notes: list[str]
) -> Stamps:
    """Convert text to rows of numbers in SI units; return their stamps."""
    stamps = Stamps(round(1 / heading.time.factor) if heading.time else 1)
    cut = ""
    count = 0
    # Between commas, a comma is no decimal one.
    decimal = DecimalMark("." if form.delimiter == "," else "")
    with (
        path.open(encoding=form.encoding, errors="replace") as stream,
        numbers.open("wb") as out,
    ):
        for _ in range(form.skipped):
            stream.readline()
        at = form.skipped
        for lines in _pieces(stream, decimal):
            if not lines[-1].endswith("\n"):
                # A program that was stopped within a number leaves digits that may be a
                # number, too.
                lines.pop()
                cut = (
                    f"the last line, {at + len(lines) + 1}, does not end and may be cut"
                    " off: it is left out"
                )
                notes.append(cut)
                if not lines:
                    break
            rows = Piece(
                path=path,
                form=form,
                heading=heading,
                before=at,
                lines=lines,
                decimal=decimal,
            ).rows(stamps)
            at += len(lines)
            count += len(rows)
            out.write(rows.tobytes())
    if not count:
        raise DataError(f"{path} has a heading and no rows", evidence=cut)
    if heading.time is not None:
        notes += without_repeats(numbers, ROW)
    if decimal.mark == ",":
        notes.append("commas are decimal commas")
    return stamps


def _against_dates(rows: _Rows) -> RateComparison:
    """Compare a rate that was given with dates or times of day in a column that is not
    read, where there is one.
    """
    path, form, options = rows.path, rows.form, rows.options
    count = rows.count
    with path.open(encoding=form.encoding, errors="replace") as stream:
        lines = (line for line in islice(stream, form.skipped, None) if line.strip())
        dates = dated.find(form.names, split(next(lines), form.delimiter))
        if dates is None or count < 2:
            return RateComparison()
        last = next(islice(lines, count - 2, None))
    fitted = dates.fit(split(last, form.delimiter)[dates.at], count, options.rate_hz)
    if fitted is None:
        unsaid = (
            f"--rate {options.rate_hz:.10g} Hz is not compared with the column"
            f" {dates.name}, whose times are not understood"
        )
        return RateComparison((unsaid,))
    try:
        found = given_rate.of_times(path.name, dates.name, options.rate_hz, *fitted)
    except DataError as error:
        if options.time != "none":
            raise
        return RateComparison((f"{error.cause}: {error.evidence}",))
    return found if options.time != "none" else RateComparison()


def _laid_out(rows: _Rows) -> RowLayout | None:
    """Return how the rows lie, None where their times are not even. At a rate that was
    given each is one sample, and their times only say whether that can be.
    """
    rate_hz = rows.options.rate_hz
    if not rate_hz:
        try:
            return lay_out(rows.path, rows.times, rows.stamps.resolution_s)
        except DataError as error:
            if rows.count < 3:
                raise
            advice = _advice(rows)
            resample = "resample it at even times"
            hint = (
                f"{advice}; else {resample}"
                if advice
                else f"{resample}: no rate is within 1 % of these"
            )
            raise DataError(
                error.cause, evidence=error.evidence, try_next=hint
            ) from error
    if rows.heading.time is None:
        compared = _against_dates(rows)
    else:
        compared = given_rate.of_times(
            rows.path.name,
            rows.heading.time.name,
            given_hz=rate_hz,
            fit=rows.fit(rate_hz),
            resolution_s=max(rows.stamps.resolution_s, given_rate.JITTER / rate_hz),
            open_hz=rows.open_hz,
        )
    whole = [RowRun(rows.count, 0, 1)]
    return RowLayout(rate_hz, compared.off_ppm, whole, notes=compared.notes)


def _advice(rows: _Rows) -> str:
    """Return the option that takes each row for one sample; empty where none fits."""
    average_hz = rows.fit(1.0).average_hz
    if not average_hz:
        return ""
    rounded_s = max(rows.stamps.resolution_s, given_rate.JITTER / average_hz)
    return given_rate.advice(rows.fit(average_hz), rounded_s, rows.open_hz)


def _pieces(stream: IO[str], decimal: DecimalMark) -> Iterator[list[str]]:
    size = _PIECE if decimal.mark else _FIRST
    while lines := list(islice(stream, size)):
        yield lines
        size = _PIECE


def _write(
    rows: _Rows, runs: Sequence[RowRun], writer: TraceWriter
) -> tuple[LevelStretches, PowerBeside]:
    """Write the rows at the places of their times, with gaps between runs."""
    sync = rows.heading.sync
    levels = LevelStretches(sync.column.name if sync else "")
    beside = PowerBeside(rows.heading.beside.name if rows.heading.beside else "")
    with rows.numbers.open("rb") as stream:
        for run in runs:
            missing = run.first - writer.samples
            if missing:
                levels.lose(writer.samples)
                writer.skip(missing, f"no samples before line {run.line}")
            left = run.rows
            while left:
                count = min(left, _PIECE)
                # Of its own memory: the trace takes no other.
                table = np.fromfile(stream, dtype=ROW, count=count)
                if sync is not None and sync.is_voltage:
                    writer.sync_voltage(table["sync_v"])
                elif sync is not None:
                    levels.add(writer.samples, table["level"])
                current, voltage = table["current"], rows.voltage(table)
                writer.analog(current, voltage, unreadable=CAUSE)
                if rows.heading.beside is not None:
                    beside.add(current, voltage, table["power"])
                left -= count
    return levels, beside
