# SPDX-License-Identifier: Apache-2.0
"""Export of a stretch of a trace at its full rate: JLS, CSV or Parquet, with an
estimate of its size beforehand.

A file is written whole or not at all. Times are seconds from the trace's first sample.
"""

from __future__ import annotations

import dataclasses
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rig.api.traces.place import TracePlace
from rig.api.traces.samples import blocks, levels_at
from rig.arrays import Float64s, Uint8s
from rig.errors import ConfigError, DataError, StorageFull, storage_error
from rig.files import table_file
from rig.files.plain_text import one_line
from rig.importers.start_time import DATED
from rig.results.labels import SIMULATED, beside
from rig.trace.levels import Progress, Stopped
from rig.trace.trace import TRACE, Trace
from rig.trace.write_room import RESERVE_B
from rig.trace.writer import TraceWriter

FORMS = ("jls", "csv", "parquet")
_BLOCK = 1 << 18
#: Of a JLS file: bytes of a sample of current and voltage and of a level of the line,
#: summaries included, and of the file itself (tests/rig/api/traces/test_export.py).
_JLS_SAMPLE_B = 8.25
_JLS_LEVEL_B = 1 / 7
_JLS_FRAME_B = 5_000
#: Of a table, so many rows at so many places are made to see how long they are; what
#: Parquet spares is seen in longer stretches only.
_TRIED = {"csv": (200, 16), "parquet": (1 << 14, 4)}
#: Ratio of the requested room to the stated size.
_SPARE = 1.1

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class StretchOrigin:
    """What an exported file says of its samples: the labels that must stand beside
    them, and where in a session they are from.
    """

    labels: tuple[str, ...] = ()
    place: TracePlace | None = None

    @property
    def about(self) -> dict[str, Any]:
        """Return it as a JLS file has it."""
        content = {"labels": list(self.labels), "session": self.place_text}
        return {"simulated": SIMULATED in self.labels} | {
            k: v for k, v in content.items() if v
        }

    @property
    def place_text(self) -> str:
        """Return session, trial, rail and segment in words; empty where there is no
        session."""
        if self.place is None:
            return ""
        parts = [one_line(self.place.session.name), f"trial {self.place.trial}"]
        parts += [f"rail {one_line(self.place.rail)}"] if self.place.rail else []
        parts += [f"segment {self.place.segment}"] if self.place.segment > 1 else []
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class ExportStretch:
    """Samples first <= k < last of a trace; `has_current` as the trace has it.
    `started_ns` is when the trace began, None where that is not known.
    """

    trace: Trace
    first: int
    last: int
    has_current: bool
    has_sync: bool
    origin: StretchOrigin = StretchOrigin()
    started_ns: int | None = None

    @property
    def count(self) -> int:
        """Number of samples."""
        return self.last - self.first


def export_bytes(stretch: ExportStretch, form: str) -> int:
    """Return about how large a file will be: right to 10 %; raises DataError for
    Parquet where pyarrow is not installed.
    """
    _require_form(form)
    if form != "jls":
        return _table_b(stretch, form)
    levels = (
        stretch.trace.edge_hz / stretch.trace.sample_hz if stretch.has_sync else 0.0
    )
    return round(_JLS_FRAME_B + stretch.count * (_JLS_SAMPLE_B + levels * _JLS_LEVEL_B))


def export(
    path: Path,
    stretch: ExportStretch,
    form: str,
    progress: Progress | None = None,
    stopped: Stopped | None = None,
    replace: bool = False,
) -> None:
    """Write a stretch into a file; raises DataError, ConfigError, StorageFull, and
    Cancelled where `stopped` says so.

    Samples that are lost are NaN, in a table empty. SYNC of a trace that has stamps of
    its edges becomes a line at `edge_hz`.
    """
    _require_form(form)
    if not stretch.count:
        raise DataError("there is no sample to export", try_next="a longer stretch")
    if path.exists() and not replace:
        raise DataError(
            f"{path} is there already", try_next="another name, or replace it"
        )
    if not path.parent.is_dir():
        raise DataError(
            f"{path.parent} is no folder", try_next="a folder that is there"
        )
    need_b = export_bytes(stretch, form)
    free_b = shutil.disk_usage(path.parent).free
    if _SPARE * need_b + RESERVE_B > free_b:
        raise StorageFull(
            f"there is no room for {path.name}",
            evidence=(
                f"about {need_b / 1e6:.0f} MB are needed, {free_b / 1e6:.0f} MB are"
                " free"
            ),
            try_next="a shorter stretch, or another disk",
        )
    write = {"jls": _jls, **_TABLES}[form]
    scratch = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        made = write(scratch, stretch, _blocks(stretch, progress, stopped))
        made.replace(path)
    except OSError as error:
        raise storage_error(error, path.parent) from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


Blocks = Iterator[tuple[int, Floats, Floats]]


def _blocks(
    stretch: ExportStretch, progress: Progress | None, stopped: Stopped | None
) -> Blocks:
    """Yield number, current and voltage of samples, NaN where they are lost."""
    bounds = stretch.first, stretch.last
    for block in blocks(stretch.trace, *bounds, _BLOCK, stopped):
        yield block
        if progress is not None:
            at, current, _ = block
            progress((at + len(current) - stretch.first) / stretch.count)


def _jls(folder: Path, stretch: ExportStretch, blocks: Blocks) -> Path:
    trace = stretch.trace
    sync = "digital" if stretch.has_sync else "none"
    about = {
        "exported_from": trace.path.name,
        "first_sample": stretch.first,
        DATED: stretch.started_ns is not None,
    }
    about |= stretch.origin.about
    # The name of the source is what Joulescope UI shows beside the signals.
    source = f"export{beside(stretch.origin.labels)}"
    began_s = 0.0
    if stretch.started_ns is not None:
        began_s = stretch.started_ns / 1e9 + stretch.first / trace.sample_hz
    with TraceWriter(
        folder,
        sample_hz=trace.sample_hz,
        edge_hz=trace.edge_hz,
        source=source,
        serial="",
        about=about,
        sync_kind=sync,
        began_s=began_s,
    ) as writer:
        done = round(stretch.first / trace.sample_hz * trace.edge_hz)
        for at, current, voltage in blocks:
            writer.analog(current, voltage)
            if stretch.has_sync:
                until = round((at + len(current)) / trace.sample_hz * trace.edge_hz)
                writer.sync(_sync(trace, np.arange(done, until) / trace.edge_hz))
                done = until
    return folder / TRACE


def _csv(folder: Path, stretch: ExportStretch, blocks: Blocks) -> Path:
    heads = {
        "time_s": "time (s)",
        "current_a": "current (A)",
        "voltage_v": "voltage (V)",
    }
    heads |= {"power_w": "power (W)", "sync": "sync"}
    path = folder / "table.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        for columns in _tables(stretch, blocks):
            if not stream.tell():
                stream.write(
                    table_file.labels_line(
                        stretch.origin.labels, stretch.origin.place_text
                    )
                )
                stream.write(",".join(heads[name] for name in _shown(columns)) + "\n")
            stream.write(_rows(columns))
    return path


def _shown(columns: dict[str, NDArray[Any]]) -> list[str]:
    """Return the columns of a table of text: of current, voltage and power two, so that
    it is clear which are measured.
    """
    return [name for name in columns if name != "power_w" or "current_a" not in columns]


def _rows(columns: dict[str, NDArray[Any]]) -> str:
    names = _shown(columns)
    forms = {"time_s": "%.12g", "sync": "%d"}
    form = ",".join(forms.get(name, "%.9g") for name in names)
    cells = zip(*(columns[name].tolist() for name in names), strict=True)
    # A sample that is lost is an empty cell.
    return "\n".join(map(form.__mod__, cells)).replace("nan", "") + "\n"


def _table_b(stretch: ExportStretch, form: str) -> int:
    """Return how large a table is: as rows here and there are, where it has many."""
    rows, places = _TRIED[form]
    tried = _here_and_there(stretch, rows, places)
    count = sum(one.count for one in tried)
    if not count:
        return 0
    blocks = chain.from_iterable(_blocks(part, None, None) for part in tried)
    with tempfile.TemporaryDirectory() as folder:
        size_b = _TABLES[form](Path(folder), stretch, blocks).stat().st_size
    return round(size_b / count * stretch.count)


def _here_and_there(
    stretch: ExportStretch, rows: int, places: int
) -> list[ExportStretch]:
    """Return so many short stretches of a long one, else the stretch itself."""
    if stretch.count <= rows * places:
        return [stretch]
    evenly = np.linspace(stretch.first, stretch.last - rows, places)
    firsts = evenly.astype(np.int64).tolist()
    return [dataclasses.replace(stretch, first=at, last=at + rows) for at in firsts]


def _parquet(folder: Path, stretch: ExportStretch, blocks: Blocks) -> Path:
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
    about |= {
        "labels": ", ".join(stretch.origin.labels),
        "session": stretch.origin.place_text,
    }
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


def _tables(
    stretch: ExportStretch, blocks: Blocks
) -> Iterator[dict[str, NDArray[Any]]]:
    """Yield the columns of a table for each block; times are of the middles of
    samples."""
    trace = stretch.trace
    for at, current, voltage in blocks:
        times_s = np.arange(at, at + len(current), dtype=np.float64)
        times_s += 0.5
        times_s /= trace.sample_hz
        columns: dict[str, NDArray[Any]] = {"time_s": times_s}
        if stretch.has_current:
            columns |= {"current_a": current, "voltage_v": voltage}
        columns["power_w"] = current * voltage
        if stretch.has_sync:
            columns["sync"] = _sync(trace, times_s)
        yield columns


def _sync(trace: Trace, times_s: Float64s) -> Uint8s:
    return levels_at(trace.falls_s, trace.rises_s, times_s)


_TABLES = {"csv": _csv, "parquet": _parquet}


def _require_form(form: str) -> None:
    if form not in FORMS:
        raise ConfigError(f"export as {form!r}", try_next=f"one of {', '.join(FORMS)}")
