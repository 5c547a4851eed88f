# SPDX-License-Identifier: Apache-2.0
"""Intervals of the mean of values between two bounds, as scores between 0 and 1 are.
Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rig.stats.binomial import Share

LOGIT = "logit of the mean, its scatter by linearisation (Brown, Cai and DasGupta 2001)"
RARE = (
    "others may be as frequent as the exact interval of their count allows (Clopper and"
    " Pearson 1934)"
)


@dataclass(frozen=True, slots=True)
class ShareRange:
    """What values can be: `least` and `most`; `most` is infinite where none is
    known."""

    least: float
    most: float


def logit_ends(mean: float, half_width: float) -> tuple[float, float]:
    """Return the ends of 95 % of a mean between 0 and 1, excluded, whose symmetric
    interval would have this half-width.

    The ends move apart as that grows, and stay within 0 and 1.
    """
    if half_width <= 0:
        return mean, mean
    at = math.log(mean / (1 - mean))
    step = half_width / (mean * (1 - mean))
    return _expit(at - step), _expit(at + step)


def rare_ends(
    mean: float, others: int, count: int, bounds: ShareRange
) -> tuple[float, float]:
    """Return the ends of the mean of `count` values, all of which but `others` are at
    the least.

    The others are as frequent as the exact interval of their count allows, and each is
    the most at worst.
    """
    _, share = Share(others, count).interval()
    return bounds.least, max(bounds.least + share * (bounds.most - bounds.least), mean)


def equal_ends(mean: float, count: int, bounds: ShareRange) -> tuple[float, float]:
    """Return the ends of the mean of `count` values that were all equal: another one is
    as rare as so many equal ones allow, but anywhere within the bounds.
    """
    _, share = Share(0, count).interval()
    return mean - share * (mean - bounds.least), mean + share * (bounds.most - mean)


def _expit(at: float) -> float:
    return 1 / (1 + math.exp(-at)) if at >= 0 else math.exp(at) / (1 + math.exp(at))
