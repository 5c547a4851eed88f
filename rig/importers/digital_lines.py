# SPDX-License-Identifier: Apache-2.0
"""The digital lines of another program's file beside the one that is its SYNC."""

from __future__ import annotations

import re
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from rig.importers.joulescope import jls1, jls2_signals
from rig.importers.open import file_of, is_own, kind_of, open_any
from rig.importers.options import Options
from rig.importers.profilers import power_profiler
from rig.importers.tables.column_units import Named
from rig.importers.tables.csv_form import form_of
from rig.importers.tables.csv_heading import SYNC_NAMES, inputs_of
from rig.trace.edges import Edges
from rig.trace.jls_file import jls_state
from rig.trace.trace import reading

#: Columns of a table that are called as the inputs of an instrument: D0, gpi[3], GPI1.
_INPUT = re.compile(r"d\d|gpi\[?\d\]?|sync|trigger", re.IGNORECASE)


def line_names(path: Path, options: Options) -> tuple[str, ...]:
    """Return the names of the digital lines of a file, each as `Options.sync` takes it;
    none of a trace of the rig's own, whose one line is SYNC, or of a JLS file that was
    not closed. Raises DataError.
    """
    path = file_of(path)
    is_jls, is_closed = jls_state(path)
    if is_jls and not is_closed:
        return ()
    if is_jls:
        with reading(path) as reader:
            return () if is_own(reader) else _of_source(reader, options)
    kind = kind_of(path)
    if kind == "jls1":
        return jls1.LINES
    if kind in ("ppk1", "ppk2"):
        return power_profiler.LINES
    return _of_table(path) if kind == "table" else ()


def _of_source(reader: Any, options: Options) -> tuple[str, ...]:
    source = jls2_signals.source_of(reader, options)
    digital = filter(jls2_signals.is_digital, jls2_signals.signals_of(reader))
    return tuple(
        signal.name for signal in digital if signal.source_id == source.source_id
    )


def _of_table(path: Path) -> tuple[str, ...]:
    form = form_of(path)
    named = Named.of(form.names, form.cells)
    lines: list[str] = []
    for name, unit in zip(named.names, named.units, strict=True):
        lines += inputs_of(name)
        if not unit and _INPUT.fullmatch(name):
            lines.append(name)
    return tuple(lines)


def sync_name(path: Path, options: Options) -> str:
    """Return which of the lines is SYNC: the one that was asked for, or the one that is
    without an option; empty where none is.
    """
    if options.sync:
        return "" if options.sync == "none" else options.sync
    lines = line_names(path, options)
    if jls_state(file_of(path))[0] and len(lines) == 1:
        return lines[0]
    by_default = [line for line in lines if line.lower() in SYNC_NAMES]
    return by_default[0] if len(by_default) == 1 else ""


def line_edges(path: Path, options: Options, name: str) -> Edges:
    """Read the edges of a line; raises RigError as `open_any` does. A file to be
    converted is converted once more, with this line as its SYNC.
    """
    scratch = Path(tempfile.mkdtemp(prefix="rig-line-"))
    try:
        trace = open_any(path, scratch, replace(options, sync=name), lazily=True).trace
        return Edges(trace.falls_s, trace.rises_s)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
