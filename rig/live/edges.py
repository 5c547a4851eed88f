# SPDX-License-Identifier: Apache-2.0
"""Edges of SYNC, block by block as they come: near enough for a picture."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rig.trace.edges import SWING_V

#: A line has changed when it passes the middle of high and low by so much of their
#: distance: noise about the middle makes no edges.
_HYSTERESIS = 0.1
#: A swing that makes a signal in a whole trace may be noise at its beginning.
_SWINGS = 2.0


class VoltageEdges:
    """Edges of a sampled voltage, at the middle between the least and the most that was
    seen."""

    def __init__(self, rate_hz: float) -> None:
        self._rate_hz = rate_hz
        self._low_v = np.inf
        self._high_v = -np.inf
        self._level: int | None = None
        self._last_v: float | None = None

    def feed(
        self, at: int, voltage_v: NDArray[np.float32]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return falls and rises in the next samples, which begin at number `at`, in
        seconds."""
        finite = voltage_v[np.isfinite(voltage_v)]
        none = np.zeros(0)
        if not len(finite):
            return none, none
        self._low_v = min(self._low_v, float(finite.min()))
        self._high_v = max(self._high_v, float(finite.max()))
        # The block of the first change may begin with the edge.
        rested_v = float(finite[0]) if self._last_v is None else self._last_v
        self._last_v = float(finite[-1])
        swing_v = self._high_v - self._low_v
        if swing_v < _SWINGS * SWING_V:
            # Noise of a quiet line is no change of level.
            self._level = None
            return none, none
        middle_v = (self._high_v + self._low_v) / 2
        beyond_v = _HYSTERESIS * swing_v
        sure = np.flatnonzero(np.abs(voltage_v - middle_v) > beyond_v)
        if not len(sure):
            return none, none
        levels = (voltage_v[sure] > middle_v).astype(np.int8)
        before = int(rested_v > middle_v) if self._level is None else self._level
        change = np.diff(levels, prepend=np.int8(before))
        self._level = int(levels[-1])
        edges_s = (sure + at) / self._rate_hz
        return edges_s[change < 0], edges_s[change > 0]
