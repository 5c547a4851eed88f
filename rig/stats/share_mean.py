# SPDX-License-Identifier: Apache-2.0
"""Intervals of the mean of values between two bounds, such as scores between 0 and 1.
Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

from rig.stats.binomial import Share

LOGIT = "logit of the mean, its scatter by linearisation (Brown, Cai and DasGupta 2001)"
RARE = (
    "others may be as frequent as the exact interval of their count allows (Clopper and"
    " Pearson 1934)"
)


@dataclass(frozen=True, slots=True)
class ShareRange:
    """Bounds of the values: `least` and `most`; `most` is infinite if it is unknown."""

    least: float
    most: float


def rare_ends(
    mean: float, others: int, count: int, bounds: ShareRange
) -> tuple[float, float]:
    """Return the ends of the mean of `count` values, all but `others` of them at the
    least value. The others are as frequent as the exact interval of their count allows,
    and at worst at the most.
    """
    _, share = Share(others, count).interval()
    return bounds.least, max(bounds.least + share * (bounds.most - bounds.least), mean)


def equal_ends(mean: float, count: int, bounds: ShareRange) -> tuple[float, float]:
    """Return the ends of the mean of `count` equal values: other values are as rare as
    so many equal ones allow, and anywhere within the bounds.
    """
    _, share = Share(0, count).interval()
    return mean - share * (mean - bounds.least), mean + share * (bounds.most - mean)
