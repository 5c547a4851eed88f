# SPDX-License-Identifier: Apache-2.0
"""Ends of intervals of quantities between 0 and 1: a share, an area under a curve.
Pure.
"""

from __future__ import annotations

import math

Ends = tuple[float, float]


def by_logit(at: float, half: float) -> Ends:
    """Return the ends around a value, symmetric on the logit scale, for a known
    half-width.

    The half-width of the logit is half / (p (1 - p)) (Brown, Cai and DasGupta,
    Statistical Science 16, 2001, 101). Both ends move outwards as `half` grows, and
    stay within 0 and 1. At 0 and 1, where there is no logit, the value itself is
    returned twice.
    """
    if not half or not 0 < at < 1:
        return at, at
    middle = math.log(at / (1 - at))
    away = half / (at * (1 - at))
    return _expit(middle - away), _expit(middle + away)


def unchanged(at: float, answers: float) -> Ends:
    """Return the ends of a share of answers that were all equal between repetitions.

    A rare change may have been missed: no change in n answers is compatible with a
    share of up to 1 - 0.025**(1/n), the upper end of Clopper and Pearson (1934), for
    right and for wrong answers each.
    """
    right = at * answers
    wrong = (1 - at) * answers
    return at * (1 - _missed(right)), at + (1 - at) * _missed(wrong)


def hull(*found: Ends) -> Ends:
    """Return the smallest and the largest of several ends."""
    return min(low for low, _ in found), max(high for _, high in found)


def _missed(count: float) -> float:
    return 1 - 0.025 ** (1 / count) if count > 0 else 0.0


def _expit(logit: float) -> float:
    if logit >= 0:
        return 1 / (1 + math.exp(-logit))
    rare = math.exp(max(logit, -700.0))
    return rare / (1 + rare)
