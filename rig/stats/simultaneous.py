# SPDX-License-Identifier: Apache-2.0
"""Intervals that hold together: each of several comparisons at a level at which all of
them are right in 95 % of cases (Bonferroni; Miller, Simultaneous Statistical Inference,
1981, 1.2).

The comparisons may depend on each other, as those of many sessions with one do: then
all are right more often.
"""

from __future__ import annotations

import scipy  # loads its special functions when they are first used: they take 0.2 s

from rig.stats.coverage_factor import LEVEL

_TAIL = (1 + LEVEL) / 2
_NORMAL = 1.959963984540054


def level(comparisons: int) -> float:
    """Return the level of each of several comparisons: 0.95 of one alone."""
    return 1 - (1 - LEVEL) / comparisons


def factor(single: float, comparisons: int) -> float:
    """Return the coverage factor of each of several comparisons, from that of one.

    Above the normal distribution's factor it is that of Student's t with the degrees of
    freedom which have the factor `single` at 95 % (GUM, G.4); below, as of a rectangle,
    the normal distribution's widening. A sum in which a short tail dominates a long one
    needs more: `coverage_factor` at the level of each.
    """
    if comparisons == 1:
        return single
    tail = (1 + level(comparisons)) / 2
    if single <= _NORMAL:
        return single * float(scipy.special.ndtri(tail)) / _NORMAL
    freedom = scipy.special.stdtridf(_TAIL, single)
    return float(scipy.special.stdtrit(freedom, tail))
