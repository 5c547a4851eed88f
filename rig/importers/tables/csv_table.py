# SPDX-License-Identifier: Apache-2.0
"""Convert a text table (CSV) of evenly sampled current and voltage into a trace of the
rig's own.

The text is read once, in pieces, into a file of numbers beside the trace; times give
the rate and which samples are missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
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
#: Lines of which each cell is looked at, for the decimal mark, where it is not known.
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
        layout = _laid_out(
            path, form, numbers=numbers, stamps=stamps, heading=heading, options=options
        )
        if layout is None:
            advice = _advice(numbers, stamps.resolution_s)
            notes += [advice] if advice else []
            return _stamped(
                path,
                folder,
                numbers=numbers,
                stamps=stamps,
                heading=heading,
                options=options,
                notes=notes,
            )
        about = _evenly(
            path,
            folder,
            numbers=numbers,
            layout=layout,
            heading=heading,
            options=options,
            notes=notes,
        )
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


def _evenly(
    path: Path,
    folder: Path,
    numbers: Path,
    layout: RowLayout,
    heading: Heading,
    options: Options,
    notes: list[str],
) -> dict[str, Any]:
    """Write a trace of rows that are even samples; return its metadata."""
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
        levels, beside = _write(numbers, runs, heading, options, writer)
        levels.stamp(rate_hz, writer, notes)
    if heading.beside is not None:
        notes += beside.notes(options.supply_v)
    if heading.counter is not None:
        trace = Trace.open(folder / TRACE)
        notes += counted(numbers, ROW, heading.counter.name, trace, last=1 / rate_hz)
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
    table = np.fromfile(numbers, dtype=ROW)
    stamped_s, current = table["time"], table["current"]
    times_s = stamped_s - stamped_s[0]
    constant_v = 1.0 if heading.is_power else options.supply_v
    voltage = table["voltage"] if heading.voltage else np.full(len(table), constant_v)
    rows = as_stamped.Stamped.of(
        times_s, current, voltage, stamps.resolution_s, path.name
    )
    count, cell_s = rows.cells
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
        as_stamped.write(rows, sync, writer)
        sync.levels.stamp(1 / cell_s, writer, notes)
    notes.append(rows.note(path.name))
    if heading.beside is not None:
        beside = PowerBeside(heading.beside.name)
        beside.add(current, voltage, table["power"])
        notes += beside.notes(options.supply_v)
    trace = Trace.open(folder / TRACE)
    if heading.counter is not None:
        notes += counted(numbers, ROW, heading.counter.name, trace)
    if stamps.first_s:
        notes.append(f"time 0 is the file's {stamps.first_s} s")
    return Opened(
        trace,
        "table",
        tuple(notes),
        not heading.is_power,
        about=about | {"sync": sync.kind},
        stamped=rows,
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


def _against_dates(
    path: Path, form: Form, rows: int, options: Options
) -> RateComparison:
    """Compare a rate that was given with dates or times of day in a column that is not
    read, where there is one.
    """
    with path.open(encoding=form.encoding, errors="replace") as stream:
        lines = (line for line in islice(stream, form.skipped, None) if line.strip())
        dates = dated.find(form.names, split(next(lines), form.delimiter))
        if dates is None or rows < 2:
            return RateComparison()
        last = next(islice(lines, rows - 2, None))
    fitted = dates.fit(split(last, form.delimiter)[dates.at], rows, options.rate_hz)
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


def _laid_out(
    path: Path,
    form: Form,
    numbers: Path,
    stamps: Stamps,
    heading: Heading,
    options: Options,
) -> RowLayout | None:
    """Return how the rows lie, None where their times are not even. At a rate that was
    given each is one sample, and their times only say whether that can be.
    """
    rows = numbers.stat().st_size // ROW.itemsize
    if not options.rate_hz:
        try:
            return lay_out(path, lambda: _times(numbers), stamps.resolution_s)
        except DataError as error:
            if rows < 3:
                raise
            advice = _advice(numbers, stamps.resolution_s)
            resample = "resample it at even times"
            hint = (
                f"{advice}; else {resample}"
                if advice
                else f"{resample}: no rate is within 1 % of these"
            )
            raise DataError(
                error.cause, evidence=error.evidence, try_next=hint
            ) from error
    if heading.time is None:
        compared = _against_dates(path, form, rows, options)
    else:
        rate_hz = options.rate_hz
        compared = given_rate.of_times(
            path.name,
            heading.time.name,
            given_hz=rate_hz,
            fit=_fit(numbers, rate_hz),
            resolution_s=max(stamps.resolution_s, given_rate.JITTER / rate_hz),
            open_hz=_open_hz(numbers, stamps.resolution_s),
        )
    whole = [RowRun(rows, 0, 1)]
    return RowLayout(options.rate_hz, compared.off_ppm, whole, notes=compared.notes)


def _advice(numbers: Path, resolution_s: float) -> str:
    """Return the option that takes each row for one sample; empty where none fits."""
    average_hz = _fit(numbers, 1.0).average_hz
    if not average_hz:
        return ""
    rounded_s = max(resolution_s, given_rate.JITTER / average_hz)
    average = _fit(numbers, average_hz)
    return given_rate.advice(average, rounded_s, _open_hz(numbers, resolution_s))


def _fit(numbers: Path, rate_hz: float) -> given_rate.Fit:
    return given_rate.fit((times_s for times_s, _ in _times(numbers)), rate_hz)


def _open_hz(numbers: Path, resolution_s: float) -> RateRange | None:
    def times_s() -> Iterator[NDArray[np.float64]]:
        return (times_s for times_s, _ in _times(numbers))

    return rate_range.of_stamps(times_s, resolution_s)


def _times(
    numbers: Path,
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.int64]]]:
    """Yield the times of rows, and their lines in the table."""
    with numbers.open("rb") as stream:
        while content := stream.read(_PIECE * ROW.itemsize):
            rows = np.frombuffer(content, dtype=ROW)
            yield rows["time"], rows["line"]


def _pieces(stream: IO[str], decimal: DecimalMark) -> Iterator[list[str]]:
    size = _PIECE if decimal.mark else _FIRST
    while lines := list(islice(stream, size)):
        yield lines
        size = _PIECE


def _write(
    numbers: Path,
    runs: Sequence[RowRun],
    heading: Heading,
    options: Options,
    writer: TraceWriter,
) -> tuple[LevelStretches, PowerBeside]:
    """Write the rows at the places of their times, with gaps between runs."""
    levels = LevelStretches(heading.sync.column.name if heading.sync else "")
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
                    stream, dtype=ROW, count=count
                )  # of its own memory: the trace takes no other
                if heading.sync is not None:
                    if heading.sync.is_voltage:
                        writer.sync_voltage(rows["sync_v"])
                    else:
                        levels.add(writer.samples, rows["level"])
                constant_v = 1.0 if heading.is_power else options.supply_v
                voltage = (
                    rows["voltage"] if heading.voltage else np.full(count, constant_v)
                )
                current = rows["current"]
                writer.analog(current, voltage, unreadable=CAUSE)
                if heading.beside is not None:
                    beside.add(current, voltage, rows["power"])
                left -= count
    return levels, beside
