# SPDX-License-Identifier: Apache-2.0
"""Device ticks <-> bench seconds: a straight line fitted to SYNC edges, with its residual and uncertainty."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rig.errors import LocalProtocolError


@dataclass(frozen=True, slots=True)
class Timebase:
    """The line seconds = origin_s + (tick - origin_tick) * s_per_tick, in the monitor's time.

    `residual_s` is the root mean square distance of the fitted edges from the line, `residual_max_s` the largest one;
    `offset_u_s` and `slope_u` are standard uncertainties of the line at its origin and of `s_per_tick` (relative).
    """

    origin_tick: int
    origin_s: float
    s_per_tick: float
    points: int
    residual_s: float
    residual_max_s: float
    offset_u_s: float
    slope_u: float

    @classmethod
    def fit(cls, ticks: Sequence[int], seconds: Sequence[float], edge_period_s: float = 0.0, tick_s: float = 0.0) -> Timebase:
        """Fit by least squares; `edge_period_s` is the sampling period of the SYNC input, `tick_s` one tick of the device.

        The scatter of one edge is taken as the larger of the residual and hypot(edge_period_s, tick_s)/sqrt(12), the standard
        deviation of an edge that lies anywhere between two samples and of a tick that began anywhere before it. Raises
        LocalProtocolError for fewer than two different ticks.
        """
        if len(ticks) != len(seconds) or len(set(ticks)) < 2:
            raise LocalProtocolError(f"a time base needs two or more pairs of tick and edge, got {len(ticks)} and {len(seconds)}")
        origin_tick = int(ticks[len(ticks) // 2])
        x = np.array([tick - origin_tick for tick in ticks], dtype=np.float64)
        y = np.asarray(seconds, dtype=np.float64)
        x_mean, y_mean = float(x.mean()), float(y.mean())
        spread = float(np.sum((x - x_mean) ** 2))
        slope = float(np.sum((x - x_mean) * (y - y_mean))) / spread
        residuals = (y - y_mean) - slope * (x - x_mean)
        rms = float(np.sqrt(np.mean(residuals**2)))
        scatter = max(rms * float(np.sqrt(len(x) / max(len(x) - 2, 1))), math.hypot(edge_period_s, tick_s) / math.sqrt(12.0))
        return cls(
            origin_tick=origin_tick,
            origin_s=y_mean - slope * x_mean,
            s_per_tick=slope,
            points=len(x),
            residual_s=rms,
            residual_max_s=float(np.max(np.abs(residuals))),
            offset_u_s=scatter * math.sqrt(1 / len(x) + x_mean**2 / spread),
            slope_u=scatter / float(np.sqrt(spread)) / abs(slope) if slope else float("inf"),
        )

    def seconds(self, tick: int) -> float:
        """Return the bench time of a device tick, in seconds."""
        return self.origin_s + (tick - self.origin_tick) * self.s_per_tick

    def residuals_s(self, ticks: Sequence[int], seconds: Sequence[float]) -> NDArray[np.float64]:
        """Return the distance of each edge from the line, in seconds."""
        return np.array([edge - self.seconds(tick) for tick, edge in zip(ticks, seconds, strict=True)])

    @classmethod
    def nominal(cls, origin_tick: int, tick_hz: int) -> Timebase:
        """Return the device's own word: no edge confirms it, and its zero is the first mark."""
        unknown = math.inf
        return cls(origin_tick, 0.0, 1.0 / tick_hz, 0, unknown, unknown, unknown, unknown)
