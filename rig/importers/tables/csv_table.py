# SPDX-License-Identifier: Apache-2.0
"""Convert a text table (CSV) of current and voltage into a trace of the rig's own.

The text is read once, in pieces, into a file of numbers beside the trace; times tell
whether rows are even samples, their rate, and which are missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import IO

import numpy as np

from rig.arrays import Array, Float64s, Int64s
from rig.errors import ConfigError, DataError
from rig.importers import as_stamped, given_rate, rate_range
from rig.importers.advice import Advice, AdvisedNote, give
from rig.importers.conversion import Conversion
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
from rig.trace.writer import TraceWriter

_PIECE = 1 << 16
#: Lines whose cells are examined for the decimal mark, where it is not known.
_FIRST = 1 << 8


def convert(path: Path, scratch: Path, options: Options) -> Opened:
    """Convert a table; raises DataError that names the line, and ConfigError."""
    if options.source:
        raise ConfigError("a table has no sources", path="source")
    form = form_of(path)
    stated_hz = {}
    if form.interval_s:
        stated_hz[f"the file's {form.told_by}"] = 1 / form.interval_s
    compared = given_rate.compared(path.name, options.rate_hz, stated_hz)
    told = list(compared.notes)
    with_rate = _with_rate(options, form, told)
    heading = choose(form.names, with_rate, form.dates, form.cells)
    notes = list(heading.notes)
    untold_ppm = 0.0
    if heading.time is None:
        options = with_rate
        notes += told
        untold_ppm = compared.off_ppm
    short_lines.require(path)
    folder = scratch / "converted"
    folder.mkdir(parents=True, exist_ok=True)
    stamps = Stamps(round(1 / heading.time.factor) if heading.time else 1)
    table = _Table(
        path=path,
        scratch=scratch,
        form=form,
        heading=heading,
        options=options,
        numbers=folder / "rows.bin",
        stamps=stamps,
        notes=notes,
    )
    try:
        table.read()
        layout = table.layout()
        if layout is None:
            opened = table.unevenly()
        else:
            opened = table.evenly(layout, untold_ppm)
    finally:
        table.numbers.unlink(missing_ok=True)
    if stamps.first_s:
        notes.append(f"time 0 is the file's {stamps.first_s} s")
    return replace(opened, notes=tuple(notes))


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """A table whose rows are collected in the file `numbers`, in SI units; `notes` grow
    with each step."""

    path: Path
    scratch: Path
    form: Form
    heading: Heading
    options: Options
    numbers: Path
    stamps: Stamps
    notes: list[str]

    def read(self) -> None:
        """Convert the text to rows of numbers."""
        cut = ""
        count = 0
        # Between commas, a comma is no decimal one.
        decimal = DecimalMark("." if self.form.delimiter == "," else "")
        with self._text() as stream, self.numbers.open("wb") as out:
            for _ in range(self.form.skipped):
                stream.readline()
            at = self.form.skipped
            for lines in _pieces(stream, decimal):
                if not lines[-1].endswith("\n"):
                    # A program that was stopped within a number leaves digits that may
                    # be a number, too.
                    lines.pop()
                    cut = (
                        f"the last line, {at + len(lines) + 1}, does not end and may be"
                        " cut off: it is left out"
                    )
                    self.notes.append(cut)
                    if not lines:
                        break
                piece = Piece(
                    path=self.path,
                    form=self.form,
                    heading=self.heading,
                    before=at,
                    lines=lines,
                    decimal=decimal,
                )
                rows = piece.rows(self.stamps)
                at += len(lines)
                count += len(rows)
                out.write(rows.tobytes())
        if not count:
            raise DataError(f"{self.path} has a heading and no rows", evidence=cut)
        if self.heading.time is not None:
            self.notes.extend(without_repeats(self.numbers, ROW))
        if decimal.mark == ",":
            self.notes.append("commas are decimal commas")

    def layout(self) -> RowLayout | None:
        """Return how the rows lie, None where their times are not even. At a rate that
        was given each is one sample, and their times only say whether that can be.
        """
        rate_hz = self.options.rate_hz
        rows = self.numbers.stat().st_size // ROW.itemsize
        resolution_s = self.stamps.resolution_s
        if not rate_hz:
            try:
                return lay_out(self.path, self._times, resolution_s)
            except DataError as error:
                if rows < 3:
                    raise
                advice = self._advice()
                resample = "resample it at even times"
                hint = (
                    advice.or_else(resample)
                    if advice
                    else f"{resample}: no rate is within 1 % of these"
                )
                raise DataError(
                    error.cause, evidence=error.evidence, try_next=hint
                ) from error
        if self.heading.time is None:
            compared = self._against_dates(rows)
        else:
            compared = given_rate.of_times(
                self.path.name,
                self.heading.time.name,
                given_hz=rate_hz,
                fit=self._fit(rate_hz),
                resolution_s=max(resolution_s, given_rate.JITTER / rate_hz),
                open_hz=self._open_hz(),
            )
        whole = [RowRun(rows, 0, 1)]
        return RowLayout(rate_hz, compared.off_ppm, whole, notes=compared.notes)

    def evenly(self, layout: RowLayout, untold_ppm: float) -> Opened:
        """Convert rows that are even samples; the file contradicts a given rate by
        `untold_ppm`."""
        rate_hz = layout.rate_hz
        last = layout.runs[-1]
        conversion = self._conversion(rate_hz, last.first + last.rows)
        heading = self.heading
        beside = PowerBeside(heading.beside.name if heading.beside else "")
        with conversion.writer() as writer:
            self._write(layout.runs, writer, beside)
        opened = self._opened(conversion, beside, 1 / rate_hz)
        if heading.time is not None and not self.options.rate_hz:
            from_column = (
                f"{rate_hz:.10g} samples a second, from the column {heading.time.name}"
            )
            rate = ", ".join(filter(None, [from_column, layout.known]))
            self.notes.append(AdvisedNote(rate, layout.better))
        self.notes.extend(layout.notes)
        return replace(opened, rate_ppm=max(layout.rate_ppm, untold_ppm))

    def unevenly(self) -> Opened:
        """Convert rows at uneven times as they are stamped."""
        advice = self._advice()
        if advice:
            self.notes.append(advice)
        name = self.path.name
        table = np.fromfile(self.numbers, dtype=ROW)
        current, voltage = table["current"], self._voltage(table)
        times_s = table["time"] - table["time"][0]
        rows = as_stamped.Stamped.of(
            times_s, current, voltage, self.stamps.resolution_s, name
        )
        count, cell_s = rows.cells
        sync = self._stamped_sync(times_s, table)
        conversion = self._conversion(1 / cell_s, count, sync.edge_hz)
        with conversion.writer() as writer:
            as_stamped.write(rows, sync, writer)
            sync.levels.stamp(1 / cell_s, writer, self.notes)
        self.notes.append(rows.note(name))
        beside = PowerBeside(self.heading.beside.name if self.heading.beside else "")
        beside.add(current, voltage, table["power"])
        opened = self._opened(conversion, beside, 0.0)
        return replace(opened, stamped=rows, rate_advice=advice)

    def _conversion(
        self, rate_hz: float, samples: int, edge_hz: float = 0.0
    ) -> Conversion:
        name = self.path.name
        suggestion = give(", where the unit of the times is wrong", time="COLUMN:UNIT")
        require_rate(name, rate_hz, samples, Advice(suggestion))
        return Conversion(
            name=name,
            scratch=self.scratch,
            sample_hz=rate_hz,
            edge_hz=edge_hz,
            source=name,
            sync=self.heading.sync_kind,
        )

    def _opened(
        self, conversion: Conversion, beside: PowerBeside, last_s: float
    ) -> Opened:
        """Open the trace that was written, which continues for `last_s` after its last
        row; note what the file has beside its current and voltage."""
        heading = self.heading
        opened = conversion.opened("table", (), has_current=not heading.is_power)
        if heading.beside is not None:
            self.notes.extend(beside.notes(self.options.supply_v))
        if heading.counter is not None:
            name = heading.counter.name
            self.notes.extend(counted(self.numbers, ROW, name, opened.trace, last_s))
        return opened

    def _write(
        self, runs: list[RowRun], writer: TraceWriter, beside: PowerBeside
    ) -> None:
        """Write the rows at the places of their times, with gaps between runs."""
        sync = self.heading.sync
        levels = LevelStretches(sync.column.name if sync else "")
        with self.numbers.open("rb") as stream:
            for run in runs:
                missing = run.first - writer.samples
                if missing:
                    levels.lose(writer.samples)
                    writer.skip(missing, f"no samples before line {run.line}")
                for at in range(0, run.rows, _PIECE):
                    count = min(run.rows - at, _PIECE)
                    # Of its own memory: the trace takes no other.
                    rows = np.fromfile(stream, dtype=ROW, count=count)
                    if sync is not None and sync.is_voltage:
                        writer.sync_voltage(rows["sync_v"])
                    elif sync is not None:
                        levels.add(writer.samples, rows["level"])
                    current, voltage = rows["current"], self._voltage(rows)
                    writer.analog(current, voltage, unreadable=CAUSE)
                    if self.heading.beside is not None:
                        beside.add(current, voltage, rows["power"])
        levels.stamp(writer.sample_hz, writer, self.notes)

    def _voltage(self, rows: Array) -> Array:
        if self.heading.voltage is not None:
            return rows["voltage"]
        constant_v = 1.0 if self.heading.is_power else self.options.supply_v
        return np.full(len(rows), constant_v)

    def _stamped_sync(self, times_s: Float64s, rows: Array) -> as_stamped.SyncRows:
        """Return the SYNC line of rows at uneven times."""
        sync = self.heading.sync
        kind = self.heading.sync_kind
        if sync is None:
            return as_stamped.SyncRows(kind, times_s, np.zeros(0))
        if not sync.is_voltage:
            levels = LevelStretches(sync.column.name)
            return as_stamped.SyncRows(kind, times_s, rows["level"], levels)
        volts = rows["sync_v"].astype(np.float64)
        known = np.isfinite(volts)
        return as_stamped.SyncRows(kind, times_s[known], volts[known])

    def _against_dates(self, rows: int) -> RateComparison:
        """Compare a rate that was given with dates or times of day in a column that is
        not read, where there is one.
        """
        rate_hz = self.options.rate_hz
        dates = dated.find(self.form.names, self.form.cells)
        if dates is None or rows < 2:
            return RateComparison()
        with self._text() as stream:
            lines = (
                line for line in islice(stream, self.form.skipped, None) if line.strip()
            )
            last = next(islice(lines, rows - 1, None))
        fitted = dates.fit(split(last, self.form.delimiter)[dates.at], rows, rate_hz)
        if fitted is None:
            unsaid = (
                f"the given rate, {rate_hz:.10g} Hz, is not compared with the column"
                f" {dates.name}, whose times are not understood"
            )
            return RateComparison((unsaid,))
        is_asked = self.options.time != "none"
        try:
            compared = given_rate.of_times(self.path.name, dates.name, rate_hz, *fitted)
        except DataError as error:
            if is_asked:
                raise
            return RateComparison((f"{error.cause}: {error.evidence}",))
        return compared if is_asked else RateComparison()

    def _advice(self) -> Advice | None:
        """Return advice to take each row for one sample; None where that does not
        fit."""
        average_hz = self._fit(1.0).average_hz
        if not average_hz:
            return None
        rounded_s = max(self.stamps.resolution_s, given_rate.JITTER / average_hz)
        return given_rate.advice(self._fit(average_hz), rounded_s, self._open_hz())

    def _fit(self, rate_hz: float) -> given_rate.Fit:
        return given_rate.fit(self._seconds(), rate_hz)

    def _open_hz(self) -> RateRange | None:
        return rate_range.of_stamps(self._seconds, self.stamps.resolution_s)

    def _seconds(self) -> Iterator[Float64s]:
        return (times_s for times_s, _ in self._times())

    def _times(self) -> Iterator[tuple[Float64s, Int64s]]:
        """Yield the times of rows, and their lines in the table."""
        with self.numbers.open("rb") as stream:
            while content := stream.read(_PIECE * ROW.itemsize):
                rows = np.frombuffer(content, dtype=ROW)
                yield rows["time"], rows["line"]

    def _text(self) -> IO[str]:
        return self.path.open(encoding=self.form.encoding, errors="replace")


def _pieces(stream: IO[str], decimal: DecimalMark) -> Iterator[list[str]]:
    size = _PIECE if decimal.mark else _FIRST
    while lines := list(islice(stream, size)):
        yield lines
        size = _PIECE
