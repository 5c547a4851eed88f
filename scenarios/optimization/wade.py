# SPDX-License-Identifier: Apache-2.0
"""WADE, one number for how soon a search reaches a set of thresholds, after equation
(2) of its paper. Pure.

WADE = sum of alpha / T(alpha) over the sum of alpha, for thresholds alpha of a set A;
T(alpha) is the smallest number of whole steps after which alpha is reached, infinite
where it never is, and then alpha / T(alpha) is 0. So 0 <= WADE <= 1 (Cisneros, Mikolov,
Sivic, Benchmarking Learning Efficiency in Deep Reservoir Computing, CoLLAs 2022,
arXiv:2210.02549). The paper takes more than ten thresholds, evenly spaced; a metric of
others says so in its name.

The paper counts steps of training and thresholds of accuracy. Here a step is STEP_S of
time, and alpha is 1 - gap, the share of the target cost: more of both is better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

#: The shortest time-out of the rules.
STEP_S = 1e-3
#: Eleven thresholds 0.09, 0.18, ..., 0.99, as gaps: the last one is the smallest gap of
#: the rules, and 0.1 is one of them too.
GAPS = (0.91, 0.82, 0.73, 0.64, 0.55, 0.46, 0.37, 0.28, 0.19, 0.1, 0.01)
#: The paper: more than ten.
MORE_THAN = 10
#: Gaps are stated to six decimals.
_EVEN = 2e-6
#: A latency that is a whole number of steps but for rounding is no further step.
_ROUNDING = 1e-9


def name(gaps: Sequence[float]) -> str:
    """Return wade; wade_of_4 where the thresholds are too few, or not evenly spaced: 4
    of the bench's choice.
    """
    return "wade" if is_as_published(gaps) else f"wade_of_{len(gaps)}"


def is_as_published(gaps: Sequence[float]) -> bool:
    """Check whether the thresholds are more than ten, and evenly spaced."""
    ordered = sorted(gaps)
    apart = [after - before for before, after in pairwise(ordered)]
    return len(ordered) > MORE_THAN and max(apart) - min(apart) <= _EVEN


def steps(latency_s: float) -> int:
    """Return the smallest number of whole steps, one or more, after which a latency is
    over."""
    return max(math.ceil(latency_s / STEP_S * (1 - _ROUNDING)), 1)


def value(latencies_s: Sequence[float | None], gaps: Sequence[float]) -> float:
    """Return the WADE of one search that reached each gap after so long, None:
    never."""
    alphas = [1 - gap for gap in gaps]
    reached = [
        alpha / steps(at_s)
        for alpha, at_s in zip(alphas, latencies_s, strict=True)
        if at_s is not None
    ]
    return math.fsum(reached) / math.fsum(alphas)
