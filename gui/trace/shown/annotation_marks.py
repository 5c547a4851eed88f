# SPDX-License-Identifier: Apache-2.0
"""Markers of the screen <-> annotations of a file; what is not shown stays in the file."""

from __future__ import annotations

from dataclasses import replace

from gui.trace.shown.markers import Mark
from rig.annotations import Annotations, DualMarker, SingleMarker


def marks(annotations: Annotations) -> list[tuple[float, float | None, str]]:
    """Return the markers of a file: first instant, second one or None, label."""
    return [
        (marker.at_s, None, marker.label)
        if isinstance(marker, SingleMarker)
        else (marker.start_s, marker.stop_s, marker.label)
        for marker in annotations.markers
    ]


def as_annotations(shown: tuple[Mark, ...], file: Annotations) -> Annotations:
    """Return the markers that are shown, with the notes and levels of the file they came from."""
    markers = tuple(
        SingleMarker(mark.a_s, mark.label)
        if mark.b_s is None
        else DualMarker(*mark.span, mark.label)
        for mark in shown
    )
    return replace(file, markers=markers)
