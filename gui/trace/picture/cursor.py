# SPDX-License-Identifier: Apache-2.0
"""Time and values under the mouse, from the columns of the picture."""

from __future__ import annotations

import math

import numpy as np

from gui.picture.ticks import time_text
from gui.trace.picture.utc_ticks import utc_text
from gui.trace.shown.background import Pictures
from gui.trace.shown.state import SIGNALS, UNITS, TraceState
from rig.units import quantity


def cursor_text(state: TraceState, pictures: Pictures | None) -> str:
    """Return time and values under the mouse: one value, or least to most where a
    column has more samples.
    """
    at_s = state.cursor_s
    if at_s is None:
        return ""
    resolution_s = state.view.span_s / 2000
    began_ns = state.subject.trace.started_ns if state.utc else None
    at = time_text(at_s, resolution_s)
    parts = [at if began_ns is None else utc_text(at_s, began_ns, resolution_s)]
    columns = None if pictures is None or pictures.now is None else pictures.now.columns
    if columns is None or not len(columns):
        return parts[0]
    column = int(np.searchsorted(columns.start_s, at_s, side="right")) - 1
    if not 0 <= column < len(columns) or at_s > columns.stop_s[column]:
        return parts[0]
    for name in SIGNALS:
        band = getattr(columns, name)
        if band is None or not math.isfinite(band.mean[column]):
            continue
        least, most = float(band.least[column]), float(band.most[column])
        mean = quantity(float(band.mean[column]), UNITS[name])
        low, high = quantity(least, UNITS[name]), quantity(most, UNITS[name])
        parts.append(mean if low == high else f"{low} to {high}")
    spans = state.subject.spans_at(at_s)
    if spans:
        parts.append(min(spans, key=lambda span: span.stop_s - span.start_s).phase)
    return "   ".join(parts)
