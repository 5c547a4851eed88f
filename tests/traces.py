# SPDX-License-Identifier: Apache-2.0
"""Writers of small traces."""

from __future__ import annotations

from pathlib import Path

from rig.trace.writer import TraceWriter


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
