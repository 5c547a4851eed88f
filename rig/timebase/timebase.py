# SPDX-License-Identifier: Apache-2.0
"""The time base, from device ticks to bench seconds: a straight line fitted to SYNC
edges, bent at knots where the crystals drift, with its residual and uncertainty.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from rig.arrays import Bools, Float64s
from rig.errors import LocalProtocolError
from rig.timebase import drift
from rig.timebase.drift import Bend
from rig.timebase.residual_drift import unseen

#: If more points than this share lie beyond the limit, they are scatter and no
#: outliers.
_OUTLIER_SHARE = 0.2
_ROUNDS = 30
#: No crystal drifts this much: such edges belong to other marks, and the line stays
#: straight.
_DRIFT_LIMIT = 200e-6
#: A parabola through a straight piece of length h, at whose knots the rate changes by
#: r, differs by r * h over the first (root mean square), and in its rate by r over the
#: second.
_HIDDEN_OFFSET = 12 * math.sqrt(5.0)
_HIDDEN_RATE = math.sqrt(12.0)


@dataclass(frozen=True, slots=True)
class Timebase:
    """The line seconds = origin_s + (tick - origin_tick) * s_per_tick in the monitor's
    time, plus the correction at the knots.

    `points` edges were fitted: `residual_s` is their root mean square distance from the
    fit, `residual_max_s` the largest distance of any edge, outliers included.
    `offset_u_s` and `slope_u` are standard uncertainties of the line at its origin and
    of `s_per_tick` (relative), `scatter_s` that of one edge; `centre_ticks` is the
    place (from the origin) where the line is known best.

    A straight line has no knots. Else each knot has a tick (from the origin), its
    correction (s), the standard uncertainty of that (s), and its correlation with the
    next one; `drift_ppm` is the range of the rates between knots. For a straight line,
    `unseen_s` and `unseen_rate` (relative) are the size of a bend too faint for a knot
    (rig/timebase/residual_drift.py).
    """

    origin_tick: int
    origin_s: float
    s_per_tick: float
    points: int
    residual_s: float
    residual_max_s: float
    offset_u_s: float
    slope_u: float
    scatter_s: float = 0.0
    centre_ticks: float = 0.0
    drift_ppm: float = 0.0
    knot_ticks: tuple[int, ...] = ()
    knot_s: tuple[float, ...] = ()
    knot_u_s: tuple[float, ...] = ()
    knot_correlation: tuple[float, ...] = ()
    unseen_s: float = 0.0
    unseen_rate: float = 0.0

    @classmethod
    def fit(
        cls,
        ticks: Sequence[int],
        seconds: Sequence[float],
        edge_period_s: float = 0.0,
        tick_s: float = 0.0,
        outlier_s: float = math.inf,
    ) -> Timebase:
        """Fit ascending ticks by least squares.

        edge_period_s: sampling period of the SYNC input, 0 if unknown
        tick_s: one tick, 0 if unknown
        outlier_s: edges farther from the fit are left out, the farthest first, unless
            there are so many that this is the scatter of the edges

        The fit is bent where the residuals need it (rig/timebase/drift.py), and never
        if both periods are unknown. The scatter of one edge is the larger of the
        residual and hypot(edge_period_s, tick_s)/sqrt(12), the standard deviation of an
        edge anywhere between two samples and of a tick that began anywhere before it. A
        residual below the resolution is chance, or sampling in step with the marks,
        which the fit absorbs: no edge is known better than to its sample.

        Raises LocalProtocolError for fewer than two different ticks.
        """
        if len(ticks) != len(seconds) or len(set(ticks)) < 2:
            raise LocalProtocolError(
                "a time base needs two or more pairs of tick and edge, got"
                f" {len(ticks)} and {len(seconds)}"
            )
        origin_tick = int(ticks[len(ticks) // 2])
        x = np.array([tick - origin_tick for tick in ticks], dtype=np.float64)
        y = np.asarray(seconds, dtype=np.float64)
        resolution_s = math.hypot(edge_period_s, tick_s)
        kept, bend, off = _robust(x, y, resolution_s, outlier_s)
        slope, x_mean, y_mean, spread = _line(x[kept], y[kept])
        count = int(np.count_nonzero(kept))
        unknowns = len(bend.knots) if bend else 2
        rms = float(np.sqrt(np.mean(off[kept] ** 2)))
        rest_s = rms * float(np.sqrt(count / max(count - unknowns, 1)))
        scatter = max(rest_s, resolution_s / math.sqrt(12.0))
        unseen_s, unseen_per_tick = (
            (0.0, 0.0) if bend else unseen(x[kept], off[kept], resolution_s)
        )
        straight = cls(
            origin_tick=origin_tick,
            origin_s=y_mean - slope * x_mean,
            s_per_tick=slope,
            points=count,
            residual_s=rms,
            residual_max_s=float(np.max(np.abs(off))),
            offset_u_s=scatter * math.sqrt(1 / count + x_mean**2 / spread),
            slope_u=(
                scatter / float(np.sqrt(spread)) / abs(slope) if slope else float("inf")
            ),
            scatter_s=scatter,
            centre_ticks=x_mean,
            unseen_s=unseen_s,
            unseen_rate=unseen_per_tick / abs(slope) if slope else 0.0,
        )
        return straight if bend is None else _bent(straight, bend)

    def seconds(self, tick: int) -> float:
        """Return the bench time of a device tick, in seconds."""
        return (
            self.origin_s
            + (tick - self.origin_tick) * self.s_per_tick
            + self._added_s(tick)
        )

    def all_seconds(self, ticks: Sequence[int]) -> Float64s:
        """Return the bench times of many device ticks, in seconds."""
        x = np.array([tick - self.origin_tick for tick in ticks], dtype=np.float64)
        line_s: Float64s = self.origin_s + x * self.s_per_tick
        if not self.knot_ticks:
            return line_s
        knot_ticks = np.array(self.knot_ticks, dtype=np.float64)
        bend = Bend(knot_ticks, np.array(self.knot_s), (), ())
        return line_s + bend.at(x)

    def interval_s(self, start_tick: int, stop_tick: int) -> float:
        """Return the bench time between two device ticks, in seconds."""
        return (stop_tick - start_tick) * self.s_per_tick + (
            self._added_s(stop_tick) - self._added_s(start_tick)
        )

    def seconds_u_s(self, tick: int) -> float:
        """Return the standard uncertainty of `seconds(tick)`, without that of a mark
        within its tick.

        It is that of the least-squares fit for edges with independent errors, plus the
        difference of a straight piece from a curve between knots.
        """
        if not self.points:
            return math.inf
        if self.knot_ticks:
            at = self._weights(tick)
            of_knots_s = math.sqrt(max(self._covariance(at, at), 0.0))
            return math.hypot(of_knots_s, self._hidden_s(at[0][0]))
        away = (
            (tick - self.origin_tick - self.centre_ticks)
            * self.s_per_tick
            * self.slope_u
        )
        return math.hypot(self.scatter_s / math.sqrt(self.points), away, self.unseen_s)

    def interval_u_s(self, start_tick: int, stop_tick: int) -> float:
        """Return the standard uncertainty of `interval_s`, from which the common error
        of both ends cancels.
        """
        if not self.points:
            return math.inf
        if self.knot_ticks:
            start = self._weights(start_tick)
            stop = self._weights(stop_tick)
            ends = [(at, -share) for at, share in start] + stop
            pieces = (start[0][0], stop[0][0])
            of_rates_s = (
                max(self._rate_change(at) for at in pieces)
                * abs(stop_tick - start_tick)
                / _HIDDEN_RATE
            )
            hidden_s = min(
                of_rates_s, math.hypot(*(self._hidden_s(at) for at in pieces))
            )
            return math.hypot(
                math.sqrt(max(self._covariance(ends, ends), 0.0)), hidden_s
            )
        length_s = abs((stop_tick - start_tick) * self.s_per_tick)
        unseen_s = min(length_s * self.unseen_rate, math.sqrt(2.0) * self.unseen_s)
        return math.hypot(length_s * self.slope_u, unseen_s)

    def residuals_s(self, ticks: Sequence[int], seconds: Sequence[float]) -> Float64s:
        """Return the distance of each edge from the fit, in seconds."""
        return np.asarray(seconds, dtype=np.float64) - self.all_seconds(ticks)

    @classmethod
    def stated(
        cls,
        origin_tick: int,
        origin_s: float,
        tick_hz: float,
        offset_u_s: float,
        rate_u: float,
    ) -> Timebase:
        """Make a time base from one known instant and nominal rates that agree within
        `rate_u` (relative, standard).
        """
        return cls(
            origin_tick=origin_tick,
            origin_s=origin_s,
            s_per_tick=1.0 / tick_hz,
            points=1,
            residual_s=0.0,
            residual_max_s=0.0,
            offset_u_s=offset_u_s,
            slope_u=rate_u,
            scatter_s=offset_u_s,
        )

    @property
    def nominal_rate(self) -> bool:
        """Whether the rate was stated and not fitted, so that its error is the same in
        all trials.
        """
        return self.points == 1

    @classmethod
    def nominal(cls, origin_tick: int, tick_hz: float) -> Timebase:
        """Make the time base of the device's own clock, which no edge confirms; its
        zero is the first mark.
        """
        unknown = math.inf
        return cls(
            origin_tick=origin_tick,
            origin_s=0.0,
            s_per_tick=1.0 / tick_hz,
            points=0,
            residual_s=unknown,
            residual_max_s=unknown,
            offset_u_s=unknown,
            slope_u=unknown,
            scatter_s=unknown,
        )

    def _weights(self, tick: int) -> list[tuple[int, float]]:
        """Return the two knots around a tick, each with its weight; the last rate
        continues beyond the ends.
        """
        x = tick - self.origin_tick
        at = min(max(bisect_right(self.knot_ticks, x) - 1, 0), len(self.knot_ticks) - 2)
        share = (x - self.knot_ticks[at]) / (
            self.knot_ticks[at + 1] - self.knot_ticks[at]
        )
        return [(at, 1.0 - share), (at + 1, share)]

    def _added_s(self, tick: int) -> float:
        if self.knot_ticks:
            return sum(share * self.knot_s[at] for at, share in self._weights(tick))
        return 0.0

    def _covariance(
        self, first: list[tuple[int, float]], other: list[tuple[int, float]]
    ) -> float:
        total = 0.0
        for at, share in first:
            for other_at, other_share in other:
                total += (
                    share
                    * other_share
                    * self.knot_u_s[at]
                    * self.knot_u_s[other_at]
                    * self._correlation(at, other_at)
                )
        return total

    def _rate_change(self, piece: int) -> float:
        """Return the change of the rate at the knots of a piece, in seconds per tick,
        from its neighbours.
        """
        ticks = self.knot_ticks
        added_s = self.knot_s
        near = range(max(piece - 1, 0), min(piece + 2, len(ticks) - 1))
        rates = []
        for at in near:
            rise_s = added_s[at + 1] - added_s[at]
            rates.append(rise_s / (ticks[at + 1] - ticks[at]))
        return max(abs(later - earlier) for earlier, later in pairwise(rates))

    def _hidden_s(self, piece: int) -> float:
        return (
            self._rate_change(piece)
            * (self.knot_ticks[piece + 1] - self.knot_ticks[piece])
            / _HIDDEN_OFFSET
        )

    def _correlation(self, at: int, other: int) -> float:
        # A hat function overlaps its neighbours only, so that the normal matrix is
        # tridiagonal and the knots are a Markov chain.
        return math.prod(self.knot_correlation[min(at, other) : max(at, other)])


def _line(x: Float64s, y: Float64s) -> tuple[float, float, float, float]:
    """Return slope, both means, and the spread of x, of the least-squares line."""
    x_mean = float(x.mean())
    y_mean = float(y.mean())
    spread = float(np.sum((x - x_mean) ** 2))
    return float(np.sum((x - x_mean) * (y - y_mean))) / spread, x_mean, y_mean, spread


def _robust(
    x: Float64s,
    y: Float64s,
    resolution_s: float,
    outlier_s: float,
) -> tuple[Bools, Bend | None, Float64s]:
    """Return the mask of fitted points, the bend, and the distance of all points from
    the fit.
    """
    everything = np.ones(len(x), dtype=bool)
    kept = everything
    for _ in range(_ROUNDS):
        bend, off = _fitted(x, y, kept, resolution_s)
        inside = _inside(np.abs(off), outlier_s)
        if np.array_equal(inside, kept) or not np.any(inside) or np.ptp(x[inside]) == 0:
            break
        kept = inside
    outliers = np.count_nonzero(np.abs(off) > outlier_s)
    if outliers > _OUTLIER_SHARE * len(x) or not np.array_equal(inside, kept):
        return everything, *_fitted(x, y, everything, resolution_s)
    return kept, bend, off


def _fitted(
    x: Float64s,
    y: Float64s,
    kept: Bools,
    resolution_s: float,
) -> tuple[Bend | None, Float64s]:
    slope, x_mean, y_mean, _ = _line(x[kept], y[kept])
    off: Float64s = (y - y_mean) - slope * (x - x_mean)
    bend = drift.bend(x[kept], off[kept], resolution_s)
    if bend is None or bend.range() > _DRIFT_LIMIT * abs(slope):
        return None, off
    return bend, off - bend.at(x)


def _inside(away: Float64s, outlier_s: float) -> Bools:
    """Return the mask of points that are no outliers; the farthest go first, as a few
    may have pulled the line off all others.
    """
    for limit_s in (outlier_s, max(outlier_s, float(away.max()) / 2)):
        if np.count_nonzero(away > limit_s) <= _OUTLIER_SHARE * len(away):
            inside: Bools = away <= limit_s
            return inside
    return np.ones(len(away), dtype=bool)


def _bent(line: Timebase, bend: Bend) -> Timebase:
    """Return a line with the knots of a bend."""
    u_s = [line.scatter_s * math.sqrt(variance) for variance in bend.variance]
    return replace(
        line,
        drift_ppm=bend.range() / line.s_per_tick * 1e6,
        knot_ticks=tuple(int(knot) for knot in bend.knots),
        knot_s=tuple(bend.added_s.tolist()),
        knot_u_s=tuple(u_s),
        knot_correlation=bend.correlation,
    )
