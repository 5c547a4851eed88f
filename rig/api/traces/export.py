# SPDX-License-Identifier: Apache-2.0
"""Export of a stretch of a trace at its full rate: JLS, CSV or Parquet, with its size said first.

A file is there whole or not at all. Times are seconds from the trace's first sample.
"""

from __future__ import annotations

import dataclasses
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rig.api.traces.samples import levels_at
from rig.api.traces.statistics import Cancelled, Stopped
from rig.errors import ConfigError, DataError, StorageFull, storage_error
from rig.importers.start_time import DATED
from rig.trace.levels import Hidden, Progress
from rig.trace.trace import TRACE, Trace, reading
from rig.trace.write_room import RESERVE_B
from rig.trace.writer import TraceWriter

FORMS = ("jls", "csv", "parquet")
_BLOCK = 1 << 18
#: Bytes of a sample, a little more than needed (tests/rig/api/traces/test_export.py).
_SAMPLE_B = {"jls": 8.5, "parquet": 21.5}
#: Bytes of any file besides.
_FRAME_B = 1 << 20
#: Of a table of text, so many rows at so many places are made to see how long they are.
_TRIED = 200
_PLACES = 16

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Samples first <= k < last of a trace; `has_current` as the trace has it. `started_ns` is when
    the trace began, None where that is not known.
    """

    trace: Trace
    first: int
    last: int
    has_current: bool
    has_sync: bool
    started_ns: int | None = None

    @property
    def count(self) -> int:
        """Return how many samples there are."""
        return self.last - self.first


def export_bytes(stretch: Stretch, form: str) -> int:
    """Return about how large a file will be, rather a little too much."""
    _require_form(form)
    row_b = _row_b(stretch) if form == "csv" else _SAMPLE_B[form]
    size = _FRAME_B + stretch.count * row_b
    if form == "jls" and stretch.has_sync:
        size += stretch.count * stretch.trace.edge_hz / stretch.trace.sample_hz / 7.5
    return int(size)


def export(
    path: Path,
    stretch: Stretch,
    form: str,
    progress: Progress | None = None,
    stopped: Stopped | None = None,
    replace: bool = False,
) -> None:
    """Write a stretch into a file; raises DataError, ConfigError, StorageFull, and Cancelled where
    `stopped` says so.

    Samples that are lost are NaN, in a table empty. SYNC of a trace that has stamps of its edges
    becomes a line at `edge_hz`.
    """
    _require_form(form)
    if not stretch.count:
        raise DataError("there is no sample to export", try_next="a longer stretch")
    if path.exists() and not replace:
        raise DataError(f"{path} is there already", try_next="another name, or replace it")
    if not path.parent.is_dir():
        raise DataError(f"{path.parent} is no folder", try_next="a folder that is there")
    need_b = export_bytes(stretch, form)
    free_b = shutil.disk_usage(path.parent).free
    if need_b + RESERVE_B > free_b:
        raise StorageFull(
            f"there is no room for {path.name}",
            evidence=f"about {need_b / 1e6:.0f} MB are needed, {free_b / 1e6:.0f} MB are free",
            try_next="a shorter stretch, or another disk",
        )
    write = {"jls": _jls, "csv": _csv, "parquet": _parquet}[form]
    scratch = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        made = write(scratch, stretch, _blocks(stretch, progress, stopped))
        made.replace(path)
    except OSError as error:
        raise storage_error(error, path.parent) from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


Blocks = Iterator[tuple[int, Floats, Floats]]


def _blocks(stretch: Stretch, progress: Progress | None, stopped: Stopped | None) -> Blocks:
    """Yield number, current and voltage of samples, NaN where they are lost."""
    hidden = Hidden(stretch.trace.gaps)
    with reading(stretch.trace.path) as reader:
        for at in range(stretch.first, stretch.last, _BLOCK):
            if stopped is not None and stopped():
                raise Cancelled
            count = min(_BLOCK, stretch.last - at)
            current, voltage = stretch.trace.samples(reader, at, count)
            hidden.hide(at, current, voltage)
            yield at, current, voltage
            if progress is not None:
                progress((at + count - stretch.first) / stretch.count)


def _jls(folder: Path, stretch: Stretch, blocks: Blocks) -> Path:
    trace = stretch.trace
    sync = "digital" if stretch.has_sync else "none"
    about = {
        "exported_from": trace.path.name,
        "first_sample": stretch.first,
        DATED: stretch.started_ns is not None,
    }
    began_s = 0.0
    if stretch.started_ns is not None:
        began_s = stretch.started_ns / 1e9 + stretch.first / trace.sample_hz
    rates = {"sample_hz": trace.sample_hz, "edge_hz": trace.edge_hz}
    with TraceWriter(
        folder, **rates, source="export", serial="", about=about, sync_kind=sync, began_s=began_s
    ) as writer:
        done = round(stretch.first / trace.sample_hz * trace.edge_hz)
        for at, current, voltage in blocks:
            writer.analog(current, voltage)
            if stretch.has_sync:
                until = round((at + len(current)) / trace.sample_hz * trace.edge_hz)
                writer.sync(_sync(trace, np.arange(done, until) / trace.edge_hz))
                done = until
    return folder / TRACE


def _csv(folder: Path, stretch: Stretch, blocks: Blocks) -> Path:
    heads = {"time_s": "time (s)", "current_a": "current (A)", "voltage_v": "voltage (V)"}
    heads |= {"power_w": "power (W)", "sync": "sync"}
    path = folder / "table.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        for columns in _tables(stretch, blocks):
            if not stream.tell():
                stream.write(",".join(heads[name] for name in _shown(columns)) + "\n")
            stream.write(_rows(columns))
    return path


def _shown(columns: dict[str, NDArray[Any]]) -> list[str]:
    """Return the columns of a table of text: of current, voltage and power two, so that it is clear
    which are measured.
    """
    return [name for name in columns if name != "power_w" or "current_a" not in columns]


def _rows(columns: dict[str, NDArray[Any]]) -> str:
    names = _shown(columns)
    forms = {"time_s": "%.12g", "sync": "%d"}
    form = ",".join(forms.get(name, "%.9g") for name in names)
    cells = zip(*(columns[name].tolist() for name in names), strict=True)
    # A sample that is lost is an empty cell.
    return "\n".join(map(form.__mod__, cells)).replace("nan", "") + "\n"


def _row_b(stretch: Stretch) -> float:
    """Return how long a row of text is, as rows here and there are."""
    if not stretch.count:
        return 0.0
    places = np.linspace(stretch.first, max(stretch.last - _TRIED, stretch.first), _PLACES)
    size_b = rows = 0
    with reading(stretch.trace.path) as reader:
        for at in np.unique(places.astype(np.int64)).tolist():
            count = min(_TRIED, stretch.last - at)
            # The line costs as much whatever its level.
            silent = dataclasses.replace(stretch, has_sync=False)
            [columns] = _tables(silent, iter([(at, *stretch.trace.samples(reader, at, count))]))
            size_b += len(_rows(columns)) + 2 * count * stretch.has_sync
            rows += count
    return 1.02 * size_b / rows


def _parquet(folder: Path, stretch: Stretch, blocks: Blocks) -> Path:
    try:
        import pyarrow
        from pyarrow.parquet import ParquetWriter
    except ImportError as error:
        raise DataError(
            "Parquet files need pyarrow, which is not installed",
            try_next="pip install 'neurorig[parquet]', or export CSV or JLS",
        ) from error
    path = folder / "table.parquet"
    trace = stretch.trace
    about = {"sample_hz": repr(trace.sample_hz), "exported_from": trace.path.name}
    writer = None
    try:
        for columns in _tables(stretch, blocks):
            table = pyarrow.table(columns)
            if writer is None:
                # Dictionaries of measured values are longer than the values.
                writer = ParquetWriter(
                    path, table.schema.with_metadata(about), use_dictionary=["sync"]
                )
            writer.write_table(table.cast(writer.schema))
    finally:
        if writer is not None:
            writer.close()
    return path


def _tables(stretch: Stretch, blocks: Blocks) -> Iterator[dict[str, NDArray[Any]]]:
    """Yield the columns of a table for each block; times are of the middles of samples."""
    trace = stretch.trace
    for at, current, voltage in blocks:
        times_s: NDArray[np.float64] = np.arange(at, at + len(current), dtype=np.float64) + 0.5
        times_s /= trace.sample_hz
        columns: dict[str, NDArray[Any]] = {"time_s": times_s}
        if stretch.has_current:
            columns |= {"current_a": current, "voltage_v": voltage}
        columns["power_w"] = current * voltage
        if stretch.has_sync:
            columns["sync"] = _sync(trace, times_s)
        yield columns


def _sync(trace: Trace, times_s: NDArray[np.float64]) -> NDArray[np.uint8]:
    return levels_at(trace.falls_s, trace.rises_s, times_s)


def _require_form(form: str) -> None:
    if form not in FORMS:
        raise ConfigError(f"export as {form!r}", try_next=f"one of {', '.join(FORMS)}")
