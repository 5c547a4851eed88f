# SPDX-License-Identifier: Apache-2.0
"""Edges of SYNC as a marker snaps to them: where a window begins or ends at an edge, at
the instant that the results have for it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rig.arrays import Bools
from rig.timebase.align import RESIDUAL_LIMIT_PERIODS

Array = NDArray[np.float64]

_UNIFORM = 1 / math.sqrt(12.0)


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge of SYNC.

    `at_s` is where a marker belongs: at the end of a window that the edge's mark made,
    as the results have it, else where the edge was seen, `seen_s`. `u_s` is the
    standard uncertainty of the edge as it was seen.
    """

    at_s: float
    seen_s: float
    falls: bool
    u_s: float
    is_window_end: bool = False


class EdgeTimes:
    """All edges of a trace in order, and the ends of the windows that its marks
    made."""

    def __init__(
        self,
        falls_s: Array,
        rises_s: Array,
        borders_s: Array,
        edge_hz: float,
        edge_limit_s: float,
    ) -> None:
        seen_s = np.concatenate([falls_s, rises_s])
        order = np.argsort(seen_s, kind="stable")
        self.seen_s: Array = seen_s[order]
        self.falls: Bools = order < len(falls_s)
        #: The standard uncertainty of an edge as it was seen: anywhere within a period
        #: of SYNC's samples, and what SYNC's path delays against that of the current at
        #: most.
        self.u_s = math.hypot(_UNIFORM / edge_hz, edge_limit_s / math.sqrt(3.0))
        self._borders_s = borders_s
        self._reach_s = (RESIDUAL_LIMIT_PERIODS + 1.0) / edge_hz

    def __len__(self) -> int:
        return len(self.seen_s)

    def edge(self, place: int) -> Edge:
        """Return an edge by its place in the order."""
        seen_s = float(self.seen_s[place])
        falls = bool(self.falls[place])
        border_s = self.border_near(seen_s) if falls else None
        at_s = seen_s if border_s is None else border_s
        return Edge(at_s, seen_s, falls, self.u_s, border_s is not None)

    def nearest(self, at_s: float, falls: bool | None = None) -> Edge | None:
        """Return the edge that is nearest to an instant; None where there is none at
        all. `falls` asks for falling edges, at which marks are, or for rising ones.
        """
        places, seen_s = self._of_kind(falls)
        after = int(np.searchsorted(seen_s, at_s))
        near = [place for place in (after - 1, after) if 0 <= place < len(places)]
        if not near:
            return None
        nearest = min(near, key=lambda place: abs(seen_s[place] - at_s))
        return self.edge(int(places[nearest]))

    def next(self, at_s: float, falls: bool | None = None) -> Edge | None:
        """Return the first edge after an instant: not the one that a marker there is
        on."""
        places, seen_s = self._of_kind(falls)
        # Where a marker belongs may be a little before or after where the edge was
        # seen.
        first = int(np.searchsorted(seen_s, at_s - self._reach_s))
        for place in places[first:]:
            edge = self.edge(int(place))
            if edge.at_s > at_s:
                return edge
        return None

    def previous(self, at_s: float, falls: bool | None = None) -> Edge | None:
        """Return the last edge before an instant: not the one that a marker there is
        on."""
        places, seen_s = self._of_kind(falls)
        last = int(np.searchsorted(seen_s, at_s + self._reach_s, side="right"))
        edges = (self.edge(int(place)) for place in places[:last][::-1])
        return next((edge for edge in edges if edge.at_s < at_s), None)

    def _of_kind(self, falls: bool | None) -> tuple[NDArray[np.intp], Array]:
        """Return the places of the edges that fall, or rise, and when they were
        seen."""
        if falls is None:
            return np.arange(len(self.seen_s)), self.seen_s
        places = np.flatnonzero(self.falls == falls)
        return places, self.seen_s[places]

    def on_edge(self, at_s: float) -> Edge | None:
        """Return the edge that an instant is exactly at; None where it is at none."""
        edge = self.nearest(at_s)
        return edge if edge is not None and at_s in (edge.at_s, edge.seen_s) else None

    def border_near(self, seen_s: float) -> float | None:
        """Return the end of a window that an edge seen at an instant made; None where
        none did."""
        after = int(np.searchsorted(self._borders_s, seen_s))
        near = self._borders_s[max(after - 1, 0) : after + 1]
        if not len(near):
            return None
        nearest_s = float(near[np.argmin(np.abs(near - seen_s))])
        return nearest_s if abs(nearest_s - seen_s) <= self._reach_s else None

    def is_border(self, at_s: float) -> bool:
        """Check whether an instant is exactly at an end of a window."""
        after = int(np.searchsorted(self._borders_s, at_s))
        return after < len(self._borders_s) and float(self._borders_s[after]) == at_s
