# SPDX-License-Identifier: Apache-2.0
"""Attempts at a target, some of which never got there: how often, and how long it
takes, each with its interval. Pure.

For solvers that differ from seed to seed. Nothing is assumed of how the times are
distributed, and nothing of how an attempt that ended at its limit would have gone on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rig.stats.binomial import Share, places

#: 0.7 of 10 are 7, although the product in binary is a little more.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt: it reached the target after `time_s`, or had not when it was ended
    after `time_s`.
    """

    time_s: float
    reached: bool


@dataclass(frozen=True, slots=True)
class Quantile:
    """A quantile of the time to the target: `value_s`, None where the attempts do not
    determine it, and its interval.

    `high_s` is infinite where there is no upper bound: too few attempts, or too many
    that did not reach the target.
    """

    value_s: float | None
    low_s: float
    high_s: float


def success(attempts: Sequence[Attempt]) -> Share:
    """Return how many reached the target."""
    return Share(sum(attempt.reached for attempt in attempts), len(attempts))


def quantile(
    attempts: Sequence[Attempt], share: float, confidence: float = 0.95
) -> Quantile:
    """Return the time within which a `share` of all attempts reaches the target, with
    an interval by order statistics.

    An attempt without success counts as long as it lasted for the lower end, and as
    endless for the upper one: wherever it belongs, the interval holds
    (rig/stats/binomial.py, places).
    """
    if not attempts:
        raise ValueError("no attempts")
    n = len(attempts)
    least = sorted(attempt.time_s for attempt in attempts)
    most = sorted(
        attempt.time_s if attempt.reached else math.inf for attempt in attempts
    )
    place = max(math.ceil(share * n - _ROUNDING), 1)
    lower, upper = places(n, share, confidence)
    value_s = most[place - 1] if most[place - 1] == least[place - 1] else None
    return Quantile(
        value_s,
        least[lower - 1] if lower else 0.0,
        most[upper - 1] if upper <= n else math.inf,
    )


def time_to_solution_s(limit_s: float, share: float, wanted: float = 0.99) -> float:
    """Return how long attempts of `limit_s` each must be repeated until one has
    succeeded with probability `wanted`.

    One attempt at least; infinite for a `share` of successes of 0. It falls as that
    rises: the ends of one interval give the other.

    limit ln(1 - wanted) / ln(1 - share) (Ronnow et al., Science 345, 2014, 420).
    """
    if share <= 0.0:
        return math.inf
    return limit_s * (
        max(math.log1p(-wanted) / math.log1p(-share), 1.0) if share < 1.0 else 1.0
    )
