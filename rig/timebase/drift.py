# SPDX-License-Identifier: Apache-2.0
"""Bend a line where two crystals drift: continuous straight pieces between knots,
fitted by least squares. Pure.

Knots are set only where several residuals in a row lie to one side by more than scatter
explains. Marks in step with the samples lie to one side by up to half a resolution
without any drift: the first knot needs a whole one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from rig.arrays import Float64s, Int64s

#: Numbers of groups of a piece, and the fewest points of a group that show its side of
#: the line.
_GROUPS = (4, 16, 64)
_GROUP_POINTS = 4
#: Pieces of fewer points are not halved.
_PIECE_POINTS = 16
#: Distance of a group from the line that needs a knot: in resolutions, for the first
#: one and for further ones, plus standard errors.
_BEGIN = 1.0
_GO_ON = 0.2
_SIGNIFICANT = 4.0
#: The standard error of a median of n is this over sqrt(n) standard deviations.
_MEDIAN_U = 1.2533
#: Half of all normal values lie within this many standard deviations.
_QUARTILE = 0.6745


@dataclass(frozen=True, slots=True)
class Bend:
    """A correction of the line at each knot; variance (of an edge of variance 1) of
    each, and its correlation with the next.
    """

    knots: Float64s
    added_s: Float64s
    variance: tuple[float, ...]
    correlation: tuple[float, ...]

    def at(self, x: Float64s) -> Float64s:
        """Return the correction at `x`, extrapolated straight beyond the outer
        knots.
        """
        piece, share = _place(self.knots, x)
        added_s: Float64s = (
            self.added_s[piece] * (1 - share) + self.added_s[piece + 1] * share
        )
        return added_s

    def range(self) -> float:
        """Return the range of the slopes between knots."""
        return float(np.ptp(np.diff(self.added_s) / np.diff(self.knots)))


def bend(x: Float64s, off_s: Float64s, resolution_s: float) -> Bend | None:
    """Bend a line from which points at ascending `x` are `off_s` away; None if it fits
    as it is.
    """
    if resolution_s <= 0 or len(x) < _PIECE_POINTS:
        return None
    cuts = [0, len(x) - 1]
    best = None
    rest_s = off_s
    scatter_s = noise_s(off_s, resolution_s)
    while True:
        limit_s = (_GO_ON if best else _BEGIN) * resolution_s
        halves = set()
        for first, last in pairwise(cuts):
            middle = _halve(
                x, rest_s, first, last, scatter_s=scatter_s, limit_s=limit_s
            )
            if middle:
                halves.add(middle)
        if not halves:
            return best
        cuts = sorted([*cuts, *halves])
        best = _fit(x[cuts], x, off_s)
        rest_s = off_s - best.at(x)


def noise_s(off_s: Float64s, resolution_s: float) -> float:
    """Return the scatter of points about a smooth line, by the differences of
    neighbours, and at least that of a resolution.
    """
    steps_s = np.abs(np.diff(off_s))
    scatter_s = float(np.median(steps_s)) / _QUARTILE / math.sqrt(2.0)
    return max(resolution_s / math.sqrt(12.0), scatter_s)


def _halve(
    x: Float64s,
    rest_s: Float64s,
    first: int,
    last: int,
    *,
    scatter_s: float,
    limit_s: float,
) -> int:
    """Return the point for a knot between two others, 0 if none is needed or has
    room.
    """
    points = last - first
    middle = (first + last) // 2
    if points < _PIECE_POINTS or not x[first] < x[middle] < x[last]:
        return 0
    for groups in _GROUPS:
        size = points // groups
        if size < _GROUP_POINTS:
            break
        in_groups = rest_s[first : first + groups * size].reshape(groups, size)
        aside_s = np.abs(np.median(in_groups, axis=1))
        if float(
            aside_s.max()
        ) > limit_s + _SIGNIFICANT * _MEDIAN_U * scatter_s / math.sqrt(size):
            return middle
    return 0


def _place(knots: Float64s, x: Float64s) -> tuple[Int64s, Float64s]:
    piece = np.clip(np.searchsorted(knots, x, side="right") - 1, 0, len(knots) - 2)
    return piece, (x - knots[piece]) / (knots[piece + 1] - knots[piece])


def _fit(knots: Float64s, x: Float64s, off_s: Float64s) -> Bend:
    """Fit values at the knots by least squares.

    Between knots the curve is a sum of hat functions, each of which overlaps only the
    next, so that the normal matrix is tridiagonal.
    """
    piece, share = _place(knots, x)
    count = len(knots)
    left = 1 - share
    right = share
    diagonal = np.bincount(piece, left**2, count)
    diagonal += np.bincount(piece + 1, right**2, count)
    beside = np.bincount(piece, left * right, count)
    right_side = np.bincount(piece, left * off_s, count)
    right_side += np.bincount(piece + 1, right * off_s, count)
    solution = solve_tridiagonal(
        diagonal.tolist(), beside.tolist()[: count - 1], right_side.tolist()
    )
    added_s = np.array(solution.values)
    return Bend(knots, added_s, solution.variance, solution.correlation)


@dataclass(frozen=True, slots=True)
class TridiagonalSolution:
    """Solution of a symmetric tridiagonal system; `variance` is the diagonal of the
    inverse matrix, `correlation` that of each value with the next.
    """

    values: list[float]
    variance: tuple[float, ...]
    correlation: tuple[float, ...]


def solve_tridiagonal(
    diagonal: list[float], beside: list[float], right_side: list[float]
) -> TridiagonalSolution:
    """Solve a symmetric, positive definite tridiagonal system.

    diagonal, right_side: n values
    beside: n - 1 values, the elements next to the diagonal

    The elimination is the Thomas algorithm, in plain Python and in a fixed order, so
    that the result is the same to the last bit on any machine; LAPACK's is not. The
    diagonal of the inverse follows from eliminating downwards and upwards: 1 / C[k, k]
    = down[k] + up[k] - diagonal[k], and C[k, k+1] = -beside[k] / down[k] * C[k+1, k+1].
    """
    count = len(diagonal)
    values = list(right_side)
    down = list(diagonal)
    for k in range(1, count):
        down[k] -= beside[k - 1] ** 2 / down[k - 1]
        values[k] -= beside[k - 1] / down[k - 1] * values[k - 1]
    up = list(diagonal)
    for k in reversed(range(count - 1)):
        up[k] -= beside[k] ** 2 / up[k + 1]
    values[-1] /= down[-1]
    for k in reversed(range(count - 1)):
        values[k] = (values[k] - beside[k] * values[k + 1]) / down[k]
    variance = []
    for k in range(count):
        variance.append(1 / (down[k] + up[k] - diagonal[k]))
    correlation = []
    for k in range(count - 1):
        ratio = math.sqrt(variance[k + 1] / variance[k])
        correlation.append(-beside[k] / down[k] * ratio)
    return TridiagonalSolution(values, tuple(variance), tuple(correlation))
