# SPDX-License-Identifier: Apache-2.0
"""Attempts at a target, some without success: their share and their time to the target,
each with its interval. Pure.

For solvers that differ from seed to seed. No distribution of the times is assumed, nor
a continuation of attempts that ended at their limit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rig.stats.binomial import Share, places

#: 0.7 of 10 are 7, although the product in binary is a little more.
_ROUNDING = 1e-9
#: Of a success, in the time to solution.
_PROBABILITY = 0.99


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt that reached the target after `time_s`, or ended without it after
    `time_s`.
    """

    time_s: float
    reached: bool


@dataclass(frozen=True, slots=True)
class Quantile:
    """A quantile of the time to the target: `value_s`, None if the attempts do not
    determine it, and its interval. `high_s` is infinite without an upper bound: too few
    attempts, or too many without success.
    """

    value_s: float | None
    low_s: float
    high_s: float


def success(attempts: Sequence[Attempt]) -> Share:
    """Count the attempts that reached the target."""
    return Share(sum(attempt.reached for attempt in attempts), len(attempts))


def quantile(attempts: Sequence[Attempt], share: float) -> Quantile:
    """Return the time within which a `share` of all attempts reaches the target, with
    a 95 % interval by order statistics.

    An attempt without success counts with its duration for the lower end, and as
    infinite for the upper one, so that the interval holds for any continuation
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
    lower, upper = places(n, share)
    value_s = most[place - 1] if most[place - 1] == least[place - 1] else None
    low_s = least[lower - 1] if lower else 0.0
    return Quantile(
        value_s,
        low_s,
        most[upper - 1] if upper <= n else math.inf,
    )


def time_to_solution_s(limit_s: float, share: float) -> float:
    """Return the total time of attempts of `limit_s` each until one has succeeded with
    a probability p of 99 %.

    It is one attempt at least, and infinite for a `share` of successes of 0. As it
    falls with a rising share, the ends of one interval give the other. limit ln(1 - p)
    / ln(1 - share) (Ronnow et al., Science 345, 2014, 420).
    """
    if share <= 0.0:
        return math.inf
    attempts = 1.0
    if share < 1.0:
        attempts = max(math.log1p(-_PROBABILITY) / math.log1p(-share), 1.0)
    return limit_s * attempts
