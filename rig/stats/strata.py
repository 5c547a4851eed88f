# SPDX-License-Identifier: Apache-2.0
"""Scatter of a mean over strata: its variance, the degrees of freedom of that, and its
skewness. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rig.stats.containing import Variance
from rig.stats.summary import mean

#: Number of values that the third central moment of a stratum needs.
_SKEWNESS_LEAST = 3
#: Values that differ by less than this share of their size are equal but for rounding.
_ROUNDING = 1e-13


@dataclass(frozen=True, slots=True)
class Scatter:
    """The variance of a mean, and the skewness of its distribution; 0 if unknown."""

    variance: Variance
    skewness: float


def scatter(strata: Sequence[Sequence[float]]) -> Scatter:
    """Return the scatter of the mean of all values of strata of two values or more
    each.

    Only the scatter within strata counts. The degrees of freedom are those of
    Satterthwaite (Biometrics Bulletin 2, 1946, 110), with the estimate of the fourth
    power of a standard deviation put right (E s^4 = sigma^4 (n + 1) / (n - 1)): with
    two values a stratum the plain ones are too few. They lie between those of one
    stratum and those of all.
    """
    count = sum(map(len, strata))
    parts = [_part(own, len(own) / count) for own in strata]
    variance = math.fsum(part.variance for part in parts)
    most = float(count - len(strata))
    if not variance:
        return Scatter(Variance(0.0, most), 0.0)
    pairs = zip(parts, strata, strict=True)
    squares = math.fsum(part.variance**2 / (len(own) + 1) for part, own in pairs)
    least = float(min(map(len, strata)) - 1)
    freedom = min(max(variance**2 / squares - 2, least), most)
    third = math.fsum(part.third for part in parts)
    return Scatter(Variance(variance, freedom), third / variance**1.5)


@dataclass(frozen=True, slots=True)
class _Part:
    """Contribution of one stratum to the variance and to the third central moment of
    the mean.
    """

    variance: float
    third: float


def _part(values: Sequence[float], weight: float) -> _Part:
    count = len(values)
    centre = mean(values)
    away = [value - centre for value in values]
    if max(map(abs, away)) <= _ROUNDING * max(map(abs, values)):
        return _Part(0.0, 0.0)
    variance = math.fsum(each**2 for each in away) / (count - 1)
    third = 0.0
    if count >= _SKEWNESS_LEAST:
        cubes = math.fsum(each**3 for each in away)
        third = count * cubes / ((count - 1) * (count - 2))
    return _Part(weight**2 * variance / count, weight**3 * third / count**2)
