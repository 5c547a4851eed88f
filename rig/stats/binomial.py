# SPDX-License-Identifier: Apache-2.0
"""Counts of binary outcomes, independent or clustered: exact tails, and intervals of
shares.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cache

import scipy  # loads its special functions when they are first used: they take 0.2 s

#: Ends of intervals and quantiles of Student's t are rounded to this many decimals, so
#: that they are the same on every machine.
_DECIMALS = 12


@dataclass(frozen=True, slots=True)
class Share:
    """`count` successes of `n` independent outcomes; an effective count and size need
    not be integers.
    """

    count: float
    n: float

    @property
    def value(self) -> float:
        """The share; NaN for no outcomes."""
        return self.count / self.n if self.n else math.nan

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return the exact interval of the true share (Clopper and Pearson, Biometrika
        26, 1934, 404).

        It covers any true share with at least the stated probability, and has a width
        also if all outcomes are equal.
        """
        alpha = (1 - confidence) / 2
        missed = self.n - self.count
        if self.count <= 0:
            low = 0.0
        else:
            low = float(scipy.special.betaincinv(self.count, missed + 1, alpha))
        if missed <= 0:
            high = 1.0
        else:
            high = float(scipy.special.betaincinv(self.count + 1, missed, 1 - alpha))
        return round(low, _DECIMALS), round(high, _DECIMALS)


def student(freedom: float, confidence: float = 0.95) -> float:
    """Return the number of standard errors on each side that contain Student's t with
    the given probability; infinite without a degree of freedom.
    """
    if freedom > 0:
        return round(
            float(scipy.special.stdtrit(freedom, (1 + confidence) / 2)), _DECIMALS
        )
    return math.inf


def effective_size(value: float, variance: float, n: float, freedom: float) -> float:
    """Return the number of independent outcomes that determine a share as precisely as
    `n` clustered ones with the given variance.

    After Korn and Graubard (Survey Methodology 24, 1998, 193): p (1 - p) / variance, at
    most n, times the square of t(n - 1) / t(`freedom`), as the variance is known with
    `freedom` degrees of freedom.
    """
    if variance <= 0:
        return n
    widening = student(n - 1) / student(freedom)
    alike = min(value * (1 - value) / variance * widening**2, n)
    return max(alike, 1.0)


def chance(freedom: int, share: float = 0.75) -> float:
    """Return the largest ratio of a variance with some degrees of freedom to the true
    one, in such a share of cases.
    """
    return round(float(scipy.special.chdtri(freedom, 1 - share)) / freedom, _DECIMALS)


@cache
def places(n: int, share: float, confidence: float = 0.95) -> tuple[int, int]:
    """Return the ranks, from 1, of the two of `n` ordered values between which a
    quantile lies; 0 and n + 1 are no bound.

    The number of values below the quantile of a `share` is binomial (David and
    Nagaraja, Order Statistics, 7.1).
    """
    alpha = (1 - confidence) / 2
    # Both tails are monotonic in k.
    lower = (
        bisect_right(range(n + 1), alpha, key=lambda k: at_most(k - 1, n, share)) - 1
    )
    upper = (
        bisect_left(range(1, n + 1), True, key=lambda k: at_least(k, n, share) <= alpha)
        + 1
    )
    return lower, upper


def at_most(count: int, n: int, share: float) -> float:
    """Return the probability of `count` or fewer of `n`, each with probability
    `share`."""
    if count >= n:
        return 1.0
    return float(scipy.special.bdtr(count, n, share)) if count >= 0 else 0.0


def at_least(count: int, n: int, share: float) -> float:
    """Return the probability of `count` or more of `n`."""
    if count > n:
        return 0.0
    return float(scipy.special.bdtrc(count - 1, n, share)) if count > 0 else 1.0
