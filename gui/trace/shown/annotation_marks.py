# SPDX-License-Identifier: Apache-2.0
"""Conversion between markers of the screen and annotations of a file; annotations that
the screen does not show stay in the file.
"""

from __future__ import annotations

from dataclasses import replace

from gui.trace.shown.markers import TraceMarker
from rig.annotations import Annotations, DualMarker, SingleMarker
from rig.api.traces.trace import SessionTrace


def marks(annotations: Annotations) -> list[tuple[float, float | None, str]]:
    """Return the markers of a file: first instant, second one or None, label."""
    shown: list[tuple[float, float | None, str]] = []
    for marker in annotations.markers:
        if isinstance(marker, SingleMarker):
            shown.append((marker.at_s, None, marker.label))
        else:
            shown.append((marker.start_s, marker.stop_s, marker.label))
    return shown


def saved(trace: SessionTrace, content: Annotations) -> str:
    """Write annotations, and return in words where they are; raises DataError."""
    path = trace.annotate(content)
    other = trace.joulescope_path
    return f"saved as {path}" + (
        f"; Joulescope UI shows them with {other}" if other else ""
    )


def as_annotations(shown: tuple[TraceMarker, ...], file: Annotations) -> Annotations:
    """Return the markers that are shown, with the notes and levels of the file they
    came from."""
    markers: list[SingleMarker | DualMarker] = []
    for mark in shown:
        if mark.b_s is None:
            markers.append(SingleMarker(mark.a_s, mark.label))
        else:
            markers.append(DualMarker(*mark.span, mark.label))
    return replace(file, markers=tuple(markers))
