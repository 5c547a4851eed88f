# SPDX-License-Identifier: Apache-2.0
"""The half-width of an interval that takes in a second source of scatter, and is never
narrower than without it. Pure.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy  # loads its special functions when they are first used: they take 0.2 s

from rig.arrays import Float64s
from rig.stats.binomial import student

#: Parts of equal probability into which each chi-squared distribution is cut.
_PARTS = 40
#: The upper end of a central interval of 95 %.
_UPPER = 0.975
#: Newton's method needs five to eight steps.
_STEPS = 30
_CLOSE = 1e-12
#: Half-widths are rounded to so many digits, so that they are the same on every
#: machine.
_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Variance:
    """The variance of a mean, and with how many degrees of freedom it is known."""

    value: float
    freedom: float

    @property
    def coverage_factor(self) -> float:
        """Coverage factor of 95 %, by Student's t."""
        return student(self.freedom)

    @property
    def half_width(self) -> float:
        """The half-width of 95 % by Student's t; 0 where the variance is 0."""
        return self.coverage_factor * math.sqrt(self.value) if self.value > 0 else 0.0


def half_width(same: Variance, other: Variance) -> float:
    """Return the half-width of 95 % of a mean for other units, at least that for the
    same units.

    `same` is the variance of the mean when the same units are measured again, `other`
    that from the scatter of the units' means, which has `same` in it. In the model mean
    + unit + repetition the second expectation is never below the first, so the fiducial
    variance is the larger of both draws, V nu / chi2(nu) each (Weerahandi, JASA 88,
    1993, 899; Hannig, Iyer and Patterson, JASA 101, 2006, 254). Since it is so draw by
    draw, the result contains the interval of `same`.
    """
    least = same.half_width
    if other.value <= 0:
        return least
    if same.value <= 0:
        return max(other.half_width, least)
    draws = np.maximum(_draws(other)[:, None], _draws(same)[None, :])
    scales = np.sqrt(draws.ravel())
    least = max(least, other.half_width)
    half = least
    # The probability is concave above 0, so Newton's method comes to it from below.
    for _ in range(_STEPS):
        at = half / scales
        missing = _UPPER - float(np.mean(scipy.special.ndtr(at)))
        density = float(np.mean(np.exp(-(at**2) / 2) / scales))
        slope = density / math.sqrt(2 * math.pi)
        step = missing / slope
        half += step
        if abs(step) < _CLOSE * half:
            break
    return max(float(f"{half:.{_DIGITS - 1}e}"), least)


def _draws(variance: Variance) -> Float64s:
    """Return equally probable values of the true variance."""
    return variance.value * variance.freedom / _chi2(variance.freedom)


@lru_cache(maxsize=64)
def _chi2(freedom: float) -> Float64s:
    """Return the middles of parts of equal probability of chi-squared."""
    middles = (np.arange(_PARTS) + 0.5) / _PARTS
    quantiles: Float64s = 2 * scipy.special.gammaincinv(freedom / 2, middles)
    return quantiles
