# SPDX-License-Identifier: Apache-2.0
"""Writers of small traces, and of JLS files by the library alone."""

from __future__ import annotations

from pathlib import Path

import pyjls

from rig.trace.writer import TraceWriter

_UNITS = {"current": "A", "voltage": "V", "power": "W"}


def trace_writer(
    folder: Path,
    sample_hz: float,
    edge_hz: float | None = None,
    *,
    sync_kind: str = "digital",
    began_s: float = 0.0,
) -> TraceWriter:
    """Return a writer of a trace from the source "t"; SYNC has the samples' rate by
    default.
    """
    return TraceWriter(
        folder,
        sample_hz=sample_hz,
        edge_hz=sample_hz if edge_hz is None else edge_hz,
        source="t",
        serial="",
        about={},
        sync_kind=sync_kind,
        began_s=began_s,
    )


def jls_writer(
    path: Path, sample_hz: float, *names: str, first: int = 1, kind: str = "f32"
) -> pyjls.Writer:
    """Return a writer of a JLS file with these signals, numbered from `first`."""
    writer = pyjls.Writer(str(path))
    writer.source_def(
        source_id=1, name="s", vendor="-", model="-", version="-", serial_number="-"
    )
    for number, name in enumerate(names, start=first):
        writer.signal_def(
            signal_id=number,
            source_id=1,
            data_type=kind,
            sample_rate=int(sample_hz),
            name=name,
            units=_UNITS[name],
        )
    return writer
