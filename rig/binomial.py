# SPDX-License-Identifier: Apache-2.0
"""Counts of independent yes-or-no outcomes: exact tails, and the interval of the share they come from."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

#: What follows adds less than this part of the sum.
_NEGLIGIBLE = 1e-18
_HALVINGS = 60


@dataclass(frozen=True, slots=True)
class Share:
    """`count` of `n` independent outcomes were so."""

    count: int
    n: int

    @property
    def value(self) -> float:
        """Return the share; NaN of nothing."""
        return self.count / self.n if self.n else math.nan

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return the exact interval of the share behind, after Clopper and Pearson (Biometrika 26, 1934, 404).

        It holds that share at least so often, whatever it is, and has a width also where all or none were so.
        """
        alpha = (1 - confidence) / 2
        low = 0.0 if self.count == 0 else _crossing(lambda p: at_least(self.count, self.n, p), alpha)
        high = 1.0 if self.count == self.n else 1 - _crossing(lambda q: at_least(self.n - self.count, self.n, q), alpha)
        return low, high


@cache
def places(n: int, share: float, confidence: float = 0.95) -> tuple[int, int]:
    """Return between which of `n` values, counted in order from 1, a quantile lies; 0 and n + 1 are no bound.

    A `share` of all values that there might be is below the quantile: how many of n are is a binomial count (David and Nagaraja,
    Order Statistics, 7.1).
    """
    alpha = (1 - confidence) / 2
    # Both tails are monotonic in k.
    lower = bisect_right(range(n + 1), alpha, key=lambda k: at_most(k - 1, n, share)) - 1
    upper = bisect_left(range(1, n + 1), True, key=lambda k: at_least(k, n, share) <= alpha) + 1
    return lower, upper


def at_most(count: int, n: int, share: float) -> float:
    """Return the probability of `count` or fewer of `n`, each with probability `share`."""
    if count >= n:
        return 1.0
    if count < 0:
        return 0.0
    # From the larger side the sum is of small terms: their complement would keep none of their digits.
    if count > share * n:
        return 1 - at_least(count + 1, n, share)
    return _falling(count, n, share)


def at_least(count: int, n: int, share: float) -> float:
    """Return the probability of `count` or more of `n`."""
    if count <= 0:
        return 1.0
    if count > n:
        return 0.0
    if count < share * n:
        return 1 - at_most(count - 1, n, share)
    return _falling(n - count, n, 1 - share)


def _falling(count: int, n: int, share: float) -> float:
    """Sum the terms from `count` down to 0: each is smaller than the one before, by a ratio that falls as well."""
    if share <= 0.0 or share >= 1.0:
        return 1.0 if share <= 0.0 else 0.0
    term = total = math.exp(
        math.lgamma(n + 1) - math.lgamma(count + 1) - math.lgamma(n - count + 1)
        + count * math.log(share) + (n - count) * math.log1p(-share)
    )  # fmt: skip
    odds = (1 - share) / share
    for k in range(count, 0, -1):
        term *= k / (n - k + 1) * odds
        total += term
        if term < _NEGLIGIBLE * total:
            break
    return min(total, 1.0)


def _crossing(rising: Callable[[float], float], level: float) -> float:
    """Return where a function that rises from 0 to 1 over 0 to 1 reaches a level, by halving."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < level else (low, middle)
    return (low + high) / 2
