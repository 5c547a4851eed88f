# SPDX-License-Identifier: Apache-2.0
"""rig measure: the energy of windows on a trace of any origin."""

from __future__ import annotations

import dataclasses
import json
import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from rig.api.traces.surroundings import Surroundings
from rig.cli.measure_names import with_names
from rig.cli.measure_windows import CHOICES, WindowChoice, window_options
from rig.cli.options import FILE
from rig.cli.printed.terminal import Terminal, escape, escape_lines, say
from rig.cli.printed.window_table import print_windows
from rig.cli.trace_options import trace_options
from rig.errors import ConfigError
from rig.files import table_file
from rig.importers.open import accuracy_beside, open_any
from rig.importers.opened import Opened
from rig.importers.options import Options
from rig.measure import trace_windows
from rig.measure.spread import EnergySpread, spread_of
from rig.measure.trace_windows import WindowRow
from rig.measure.with_stamps import with_stamps
from rig.uncertainty import accuracy
from rig.uncertainty.accuracy import Accuracy

SCHEMA = "neurorig-measure-1"
#: Exit code when a window has no energy.
_INCOMPLETE = 1
_NO_NUMBERS = "samples in it are no numbers, and no gap tells of them"
_UNKNOWN = "uncertainty unknown: --calibration FILE says what the instrument promises"


@click.command()
@click.argument("path", metavar="TRACE", type=FILE)
@window_options
@trace_options
@click.option(
    "--calibration",
    type=FILE,
    metavar="FILE",
    help="Limits of error of the instrument: docs/explanation/UNCERTAINTY.md.",
)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV, SI units, all digits.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print JSON, SI units, all digits."
)
@click.option(
    "--scratch",
    type=FILE,
    metavar="FOLDER",
    help="Folder for converted files of other programs [default: the system's].",
)
def measure(
    path: Path,
    calibration: Path | None,
    as_csv: bool,
    as_json: bool,
    scratch: Path | None,
    **signals: Any,
) -> int:
    """Print energy, charge and power of windows on a trace of any origin.

    TRACE is a trace of the rig's own, the folder of a trial, a JLS file of another
    program (Joulescope UI), a .ppk2 file (Nordic Power Profiler), or a CSV table (any
    with named columns). The exit code is 1 if a window has no energy.
    """
    chosen = WindowChoice(**{name: signals.pop(name) for name in CHOICES})
    chosen.check()
    if as_csv and as_json:
        raise ConfigError("--csv and --json are two formats", try_next="one of them")
    options = Options(**signals)
    promised = accuracy.load(calibration) if calibration else None
    _refuse_correcting(promised, calibration)
    with _folder(scratch) as folder:
        foreseen = chosen.foreseen(promised)
        opened = open_any(path, Path(folder), options, in_place=True, foreseen=foreseen)
        notes = list(opened.notes)
        promised = _promised(promised or accuracy_beside(path), opened, options, notes)
        spans = chosen.spans(opened, notes)
        if chosen.are_edges and opened.origin == "rig":
            spans = with_names(spans, path)
        limits = opened.promised(promised) if promised else None
        found = trace_windows.tabulate(opened.trace, spans, limits, opened.has_current)
        if opened.stamped is not None:
            found = with_stamps(found, spans, opened.stamped)
        rows = [_told(trace_windows.with_intervals(row)) for row in found]
        spread = spread_of(rows[:-1], chosen.per)
        if chosen.per > 1 and spread is None:
            notes.append("--per: there are no two windows with an energy")
        labels = Surroundings(path, opened.origin == "rig").labels or opened.labels
        content = _content(
            path=path,
            opened=opened,
            promised=promised,
            notes=notes,
            rows=rows,
            spread=spread,
            labels=labels,
        )
    out = Terminal()
    err = Terminal(stderr=True)
    if as_json:
        out.out(json.dumps(content, indent=1, allow_nan=False), highlight=False)
        return _code(rows)
    if as_csv:
        out.out(_csv_text(rows, labels), end="", highlight=False)
    else:
        print_windows(out, path.name, labels, rows)
    if spread is not None:
        (err if as_csv else out).print(escape_lines(spread.text()), soft_wrap=True)
    for note in [*notes, *([] if promised or not opened.has_current else [_UNKNOWN])]:
        say(err if as_csv else out, f"[dim]{escape(note)}[/]")
    return _code(rows)


def _refuse_correcting(promised: Accuracy | None, path: Path | None) -> None:
    """Raise ConfigError for limits that hold of corrected readings alone."""
    calibration = promised.calibration if promised else None
    if calibration is None or not calibration.corrects:
        return
    raise ConfigError(
        f"{path} corrects readings while they are recorded",
        path="--calibration",
        evidence="its limits do not hold of a trace that was recorded without it",
        try_next="the folder of the session or recording that used it, which has them",
    )


def _promised(
    promised: Accuracy | None, opened: Opened, options: Options, notes: list[str]
) -> Accuracy | None:
    """Return the accuracy that applies: limits of current and voltage do not apply to
    power that the instrument computed.
    """
    if promised is not None and not opened.has_current:
        notes.append(
            "uncertainty unknown: the calibration has ranges of current and voltage,"
            " the trace power alone"
        )
        return None
    if promised is not None and options.supply_v:
        notes.append(
            "the voltage was not measured: its uncertainty is what the calibration says"
            " of [[voltage]]"
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


def _told(row: WindowRow) -> WindowRow:
    """Return a row with None for numbers that are not finite: JSON cannot express them.
    A window may be shorter than rounding.
    """
    values = dataclasses.asdict(row)
    unknown = []
    for name, value in values.items():
        if isinstance(value, float) and not math.isfinite(value):
            unknown.append(name)
    if not unknown:
        return row
    why = (
        _NO_NUMBERS
        if "energy_j" in unknown
        else f"too short: it has no {', '.join(unknown)}"
    )
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
    spread: EnergySpread | None,
    labels: tuple[str, ...],
) -> dict[str, Any]:
    trace = opened.trace
    gaps = []
    for gap in trace.gaps:
        start_s, stop_s = gap.start / trace.sample_hz, gap.stop / trace.sample_hz
        gaps.append({"start_s": start_s, "stop_s": stop_s, "cause": gap.cause})
    return {
        "schema": SCHEMA,
        "trace": str(path),
        "origin": opened.origin,
        "simulated": bool(opened.about.get("simulated", False)),
        "labels": labels,
        "sample_hz": trace.sample_hz,
        "edge_hz": trace.edge_hz,
        "duration_s": trace.duration_s,
        "sync": opened.sync,
        "gaps": gaps,
        "accuracy": dataclasses.asdict(promised) if promised else None,
        "notes": notes,
        "windows": [dataclasses.asdict(row) for row in rows[:-1]],
        "total": dataclasses.asdict(rows[-1]),
        "spread": dataclasses.asdict(spread) if spread else None,
    }


def _csv_text(rows: Sequence[WindowRow], labels: Sequence[str]) -> str:
    marked = {"labels": "; ".join(labels)}
    return table_file.of_records([dataclasses.asdict(row) | marked for row in rows])
