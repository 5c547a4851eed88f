# SPDX-License-Identifier: Apache-2.0
"""rig measure: the energy of windows on a trace of any origin."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.markup import escape
from rich.table import Table

from rig.cli.terminal import Terminal
from rig.errors import ConfigError, DataError
from rig.importers import markers
from rig.importers.open import accuracy_beside, open_any
from rig.importers.opened import LONGEST_S, Opened, Options
from rig.measure import trace_windows
from rig.measure.trace_windows import TraceSpan, WindowRow
from rig.uncertainty import accuracy
from rig.uncertainty.accuracy import Accuracy
from rig.units import scale

SCHEMA = "neurorig-measure-1"
#: Exit code when a window has no energy.
_INCOMPLETE = 1
#: Heading, field of a row, unit; uncertainties share the prefix of what they belong to.
_COLUMNS = (
    ("start", "start_s", "s", "start_s"),
    ("time", "duration_s", "s", "duration_s"),
    ("energy", "energy_j", "J", "energy_j"),
    ("±", "energy_u_j", "J", "energy_j"),
    ("charge", "charge_c", "C", "charge_c"),
    ("power", "mean_w", "W", "mean_w"),
    ("±", "mean_u_w", "W", "mean_w"),
    ("min", "least_w", "W", "mean_w"),
    ("max", "most_w", "W", "mean_w"),
    ("current", "mean_a", "A", "mean_a"),
)
#: Significant digits, where not four.
_DIGITS = {"start": 7, "time": 5, "±": 2, "min": 3, "max": 3}
_NO_NUMBERS = "samples in it are no numbers, and no gap tells of them"
_UNKNOWN = "uncertainty unknown: --calibration FILE says what the instrument promises"


@click.command()
@click.argument("path", metavar="TRACE", type=click.Path(path_type=Path))
@click.option(
    "--edges",
    type=click.Choice(trace_windows.PATTERNS),
    help="Windows between edges of SYNC [default: fall-fall].",
)
@click.option(
    "--markers",
    "by_markers",
    is_flag=True,
    help="Windows between markers: 1a to 1b, or each to the next.",
)
@click.option(
    "--times",
    multiple=True,
    metavar="START-STOP",
    help="A window in seconds from the first sample; may be repeated.",
)
@click.option("--whole", is_flag=True, help="The whole trace as one window.")
@click.option("--source", default="", metavar="NAME", help="Source in a JLS file that has several.")
@click.option(
    "--current",
    default="",
    metavar="NAME",
    help="Signal or column of the current; a column's unit after a colon: I:mA.",
)
@click.option("--voltage", default="", metavar="NAME", help="Signal or column of the voltage.")
@click.option(
    "--supply-v",
    type=float,
    default=0.0,
    metavar="VOLTS",
    help="The voltage, where none was recorded.",
)
@click.option(
    "--power",
    default="",
    metavar="NAME",
    help="Signal or column of the power, instead of current and voltage.",
)
@click.option(
    "--sync", default="", metavar="NAME", help="Digital signal or column of SYNC, or 'none'."
)
@click.option(
    "--time", default="", metavar="NAME", help="Column of the times, or 'none' with --rate."
)
@click.option(
    "--rate",
    "rate_hz",
    type=float,
    default=0.0,
    metavar="HZ",
    help="Sampling rate, where the file says none; it may not contradict its times by more than 1 "
    "%.",
)
@click.option(
    "--calibration",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="What the instrument promises: docs/UNCERTAINTY.md.",
)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV, SI units, all digits.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, SI units, all digits.")
@click.option(
    "--scratch",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Where files of other origin are converted [default: the system's].",
)
def measure(
    path: Path,
    edges: str | None,
    by_markers: bool,
    times: tuple[str, ...],
    whole: bool,
    calibration: Path | None,
    as_csv: bool,
    as_json: bool,
    scratch: Path | None,
    **signals: Any,
) -> int:
    """Print energy, charge and power of windows on a trace of any origin.

    TRACE is a trace of the rig's own, the folder of a trial, a JLS file of another program
    (Joulescope UI), a .ppk2 file (Nordic Power Profiler), or a CSV table (any with named columns).
    Exit code 1 says that a window has no energy.
    """
    if sum((bool(edges), by_markers, bool(times), whole)) > 1:
        raise ConfigError(
            "windows can be chosen in one way at a time",
            try_next="one of --edges, --markers, --times, --whole",
        )
    if as_csv and as_json:
        raise ConfigError("--csv and --json are two formats", try_next="one of them")
    options = Options(**signals)
    promised = accuracy.load(calibration) if calibration else None
    with _folder(scratch) as folder:
        opened = open_any(path, Path(folder), options)
        notes = list(opened.notes)
        promised = _promised(promised or accuracy_beside(path), opened, options, notes)
        spans = _spans(opened, edges, by_markers, times, whole, notes)
        limits = opened.promised(promised) if promised else None
        rows = [
            _told(row)
            for row in trace_windows.tabulate(opened.trace, spans, limits, opened.has_current)
        ]
        content = _content(path, opened, promised, notes, rows)
    out = Terminal()
    err = Terminal(stderr=True)
    if as_json:
        out.out(json.dumps(content, indent=1, allow_nan=False), highlight=False)
        return _code(rows)
    if as_csv:
        out.out(_csv_text(rows), end="", highlight=False)
    else:
        _print_table(out, path, opened, rows)
    for note in [*notes, *([] if promised or not opened.has_current else [_UNKNOWN])]:
        (err if as_csv else out).print(f"[dim]{escape(note)}[/]", soft_wrap=True)
    return _code(rows)


def _promised(
    promised: Accuracy | None, opened: Opened, options: Options, notes: list[str]
) -> Accuracy | None:
    """Return the accuracy that may be used: limits of current and voltage say nothing of a power
    that the instrument computed.
    """
    if promised is not None and not opened.has_current:
        notes.append(
            "uncertainty unknown: the calibration has ranges of current and voltage, the trace "
            "power alone"
        )
        return None
    if promised is not None and options.supply_v:
        notes.append(
            "the voltage was not measured: its uncertainty is what the calibration says of "
            "[[voltage]]"
        )
    return promised


def _folder(scratch: Path | None) -> tempfile.TemporaryDirectory[str]:
    try:
        return tempfile.TemporaryDirectory(prefix="rig-measure-", dir=scratch)
    except OSError as error:
        raise ConfigError(
            f"{scratch} cannot be written",
            evidence=error.strerror or str(error),
            try_next="--scratch FOLDER",
        ) from error


def _spans(
    opened: Opened,
    edges: str | None,
    by_markers: bool,
    times: Sequence[str],
    whole: bool,
    notes: list[str],
) -> list[TraceSpan]:
    trace = opened.trace
    if times:
        spans = trace_windows.by_times(times)
        for span, text in zip(spans, times, strict=True):
            if span.stop_s > LONGEST_S:
                long = f"the trace is {trace.duration_s:.6g} s long"
                raise ConfigError(
                    f"--times {text}",
                    evidence=long,
                    try_next="seconds from the first sample, as --times 0.1-0.35",
                )
        return spans
    if by_markers:
        if opened.marked is None:
            raise DataError(
                f"a file of this kind ({opened.origin}) has no markers",
                try_next="--times or --edges",
            )
        return _apart(trace_windows.by_markers(markers.read(opened.marked, trace)), notes)
    if edges or (not whole and (len(trace.falls_s) or len(trace.rises_s))):
        return trace_windows.by_edges(trace, edges or trace_windows.PATTERNS[0])
    if not whole:
        notes.append("no edges of SYNC: the whole trace is one window")
    return trace_windows.whole(trace)


def _apart(spans: Sequence[TraceSpan], notes: list[str]) -> list[TraceSpan]:
    """Leave out windows without a length; raises DataError when nothing is left."""
    empty = [span.name for span in spans if span.stop_s <= span.start_s]
    said = f"markers at the same place make no window: {', '.join(empty)}"
    if len(empty) == len(spans):
        raise DataError(said, try_next="markers that stand apart, or --times")
    if empty:
        notes.append(said)
    return [span for span in spans if span.stop_s > span.start_s]


def _told(row: WindowRow) -> WindowRow:
    """Return the row without what is no finite number: JSON has none for it. A window may be
    shorter than rounding.
    """
    values = dataclasses.asdict(row)
    unknown = [
        name
        for name, value in values.items()
        if isinstance(value, float) and not math.isfinite(value)
    ]
    if not unknown:
        return row
    why = _NO_NUMBERS if "energy_j" in unknown else f"too short: it has no {', '.join(unknown)}"
    problem = row.problem or why
    return WindowRow(**values | dict.fromkeys(unknown) | {"problem": problem})


def _code(rows: Sequence[WindowRow]) -> int:
    return _INCOMPLETE if any(row.energy_j is None for row in rows[:-1]) else 0


def _content(
    path: Path,
    opened: Opened,
    promised: Accuracy | None,
    notes: list[str],
    rows: Sequence[WindowRow],
) -> dict[str, Any]:
    trace = opened.trace
    return {
        "schema": SCHEMA,
        "trace": str(path),
        "origin": opened.origin,
        "simulated": bool(opened.about.get("simulated", False)),
        "sample_hz": trace.sample_hz,
        "edge_hz": trace.edge_hz,
        "duration_s": trace.duration_s,
        "sync": opened.sync,
        "gaps": [
            {
                "start_s": gap.start / trace.sample_hz,
                "stop_s": gap.stop / trace.sample_hz,
                "cause": gap.cause,
            }
            for gap in trace.gaps
        ],
        "accuracy": dataclasses.asdict(promised) if promised else None,
        "notes": notes,
        "windows": [dataclasses.asdict(row) for row in rows[:-1]],
        "total": dataclasses.asdict(rows[-1]),
    }


def _csv_text(rows: Sequence[WindowRow]) -> str:
    names = [field.name for field in dataclasses.fields(WindowRow)]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(
        [["" if (value := getattr(row, name)) is None else value for name in names] for row in rows]
    )
    return text.getvalue()


def _print_table(out: Terminal, path: Path, opened: Opened, rows: Sequence[WindowRow]) -> None:
    """Print the windows within 80 columns: one prefix a column, four digits."""
    badge = "  [black on yellow] SIMULATED [/]" if opened.about.get("simulated") else ""
    table = Table(
        title=f"{escape(path.name)}{badge}",
        title_justify="left",
        box=None,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    table.add_column("\nwindow", no_wrap=True, max_width=7)
    scales = {}
    for heading, name, unit, like in _COLUMNS:
        values = [getattr(row, like) for row in rows[:-1]]
        largest = max((abs(value) for value in values if value is not None), default=None)
        scales[name] = _scale(largest, unit)
        table.add_column(f"{heading}\n{scales[name][1]}", justify="right", no_wrap=True)
    for row in rows:
        cells = [
            _cell(getattr(row, name), scales[name][0], _DIGITS.get(heading, 4))
            for heading, name, _, _ in _COLUMNS
        ]
        table.add_row(escape(row.name), *cells, style="bold" if row is rows[-1] else "")
    out.print(table)
    for row in rows:
        if row.problem:
            without = "energy" if row.energy_j is None else "uncertainty"
            out.print(
                f"[red]{escape(row.name)}: no {without}[/], {escape(row.problem)}", soft_wrap=True
            )


def _scale(value: float | None, unit: str) -> tuple[float, str]:
    # A coulomb is an ampere second, and takes its prefixes.
    factor, name = scale(value, "A" if unit == "C" else unit)
    return factor, name[:-1] + unit


def _cell(value: float | None, factor: float, digits: int) -> str:
    if value is None:
        return "-"
    scaled = value * factor
    if 10**digits <= abs(scaled) < 1e5:
        return f"{scaled:.0f}"  # not 2.8e+02
    return f"{scaled:.0e}" if 0 < abs(scaled) < 1e-4 else f"{scaled:#.{digits}g}".rstrip(".")
