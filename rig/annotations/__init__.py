# SPDX-License-Identifier: Apache-2.0
"""Annotations of a trace: markers, notes and levels."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SingleMarker:
    """A vertical marker, in seconds from the trace's first sample."""

    at_s: float
    label: str = ""


@dataclass(frozen=True, slots=True)
class DualMarker:
    """Two vertical markers that belong together, the earlier one first."""

    start_s: float
    stop_s: float
    label: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """A text at an instant of a signal; `y` in the signal's unit, None where it is
    centred, and `shape` the number of its symbol in Joulescope UI.
    """

    at_s: float
    text: str
    signal: str = "current"
    y: float | None = None
    shape: int = 0


@dataclass(frozen=True, slots=True)
class Level:
    """A horizontal marker of a signal, in its unit; with `other` a dual one."""

    signal: str
    y: float
    other: float | None = None


@dataclass(frozen=True, slots=True)
class Annotations:
    """All annotations of a trace."""

    markers: tuple[SingleMarker | DualMarker, ...] = ()
    notes: tuple[Note, ...] = ()
    levels: tuple[Level, ...] = ()

    def __add__(self, other: Annotations) -> Annotations:
        return Annotations(
            self.markers + other.markers,
            self.notes + other.notes,
            self.levels + other.levels,
        )
