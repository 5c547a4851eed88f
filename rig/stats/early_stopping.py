# SPDX-License-Identifier: Apache-2.0
"""LoadGen's early stopping: a percentile of latency that is, with confidence, not
better than the truth, from however many queries.

MLPerf LoadGen, early_stopping.cc: for n queries, the largest t with BetaRegularized(p -
d; h, t +
1) <= 1 - c, where h = n - t, the confidence c is 0.99 and the tolerance d 0; the
   estimate is the
t-th largest latency. With d = 0 that is: t or fewer of n queries lie above the
percentile p with a probability of at most 0.01.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from rig.stats.binomial import at_most

CONFIDENCE = 0.99


@cache
def discardable(n: int, percent: float) -> int:
    """Return the largest t; 0 where `n` queries are too few for any estimate."""
    above = 1 - percent / 100
    # A probability that rises with t: halving finds the last one that is small enough.
    low = -1
    high = n
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (
            (middle, high)
            if at_most(middle, n, above) <= 1 - CONFIDENCE
            else (low, middle)
        )
    return max(low, 0)


@cache
def needed(percent: float) -> int:
    """Return the smallest number of queries that gives an estimate."""
    high = 1
    while not discardable(high, percent):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if discardable(middle, percent) else (middle, high)
    return high


def estimate(values: Sequence[float], percent: float) -> float | None:
    """Return the estimate of a percentile, one of `values`; None where they are fewer
    than `needed`.
    """
    place = discardable(len(values), percent)
    return sorted(values)[-place] if place else None
