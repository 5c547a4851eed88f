# SPDX-License-Identifier: Apache-2.0
"""Intervals of the mean of skewed values, such as times, energies and costs above a
bound. Pure.
"""

from __future__ import annotations

import math

import scipy  # loads its special functions when they are first used: they take 0.2 s

from rig.stats.strata import Scatter
from rig.stats.summary import NORMAL_95

GAMMA_HALL = (
    "gamma distribution with the shape that its scatter shows, upper end by Hall's"
    " transformation where that is higher (JRSS B 54, 1992, 221)"
)
HALL = "Hall's transformation (JRSS B 54, 1992, 221)"
_LOW = 0.025
_HIGH = 0.975
#: From this shape on the cube root of a gamma variable is sufficiently normal (Wilson
#: and Hilferty, PNAS 17, 1931, 684), and the quantiles of scipy lose digits.
_NORMAL_CUBE = 1e6
#: Near the shape (0.042) at which shape / quantile(0.975) is least.
_TURN = 0.05


def gamma_ends(mean: float, half_width: float) -> tuple[float, float]:
    """Return the ends of 95 % of a mean above 0 whose estimate is gamma distributed,
    and whose symmetric interval would have this half-width.

    Both ends are positive, and they move apart as the half-width grows; the upper one
    is infinite where the half-width is many times the mean. A mean of exponential
    values has exactly such an estimate.
    """
    if half_width <= 0 or mean <= 0:
        return mean, mean
    shape = (NORMAL_95 * mean / half_width) ** 2
    if shape > _NORMAL_CUBE:
        step = NORMAL_95 / (3 * math.sqrt(shape))
        middle = 1 - 1 / (9 * shape)
        return mean / (middle + step) ** 3, mean / (middle - step) ** 3
    # For smaller shapes the quotient below grows again, with more and more of the
    # probability at 0.
    turn = max(shape, _TURN)
    most = float(scipy.special.gammaincinv(turn, _HIGH))
    least = float(scipy.special.gammaincinv(shape, _LOW))
    return mean * shape / most, mean * shape / least if least > 0 else math.inf


def ends(mean: float, scatter: Scatter) -> tuple[float, float]:
    """Return the ends of 95 % of a mean above 0 by the gamma distribution, the upper
    one by Hall's transformation where that is higher.

    Hall's skewness is the one found, or that of the gamma distribution if more: a few
    values with long tails show too little of it. Coverage:
    docs/decisions/2026-11-24-intervals-of-searches.md.
    """
    low, high = gamma_ends(mean, scatter.variance.half_width)
    if mean <= 0 or not scatter.variance.value:
        return low, high
    skewness = scatter.skewness
    of_gamma = 2 * math.sqrt(scatter.variance.value) / mean
    candidates = {skewness, max(skewness, of_gamma)}
    by_skewness = [_hall(mean, scatter, -1, each) for each in candidates]
    return low, max(high, *by_skewness)


def ends_without_bound(mean: float, scatter: Scatter) -> tuple[float, float]:
    """Return the ends of 95 % of a mean of any sign, by Hall's transformation;
    Student's t where the skewness is not known.
    """
    low = _hall(mean, scatter, 1, scatter.skewness)
    high = _hall(mean, scatter, -1, scatter.skewness)
    return min(low, mean), max(high, mean)


def _hall(mean: float, scatter: Scatter, sign: int, skewness: float) -> float:
    """Return the mean for which the studentised estimate is the quantile of that
    sign.
    """
    quantile = sign * scatter.variance.coverage_factor
    error = math.sqrt(scatter.variance.value)
    if abs(skewness) < 1e-9:
        return mean - error * quantile
    cube = 1 + skewness * (quantile - skewness / 6)
    return mean - error * 3 / skewness * (math.cbrt(cube) - 1)
