# SPDX-License-Identifier: Apache-2.0
"""Tests of a few values in order of time: is one of them odd, and do they drift?

Both tests use the instrument's own noise as a lower bound of the scatter: if five
values agree by accident to the last digit, the sixth digit of one of them is not odd.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import scipy

from rig.stats.binomial import student
from rig.stats.summary import mean

#: With fewer values, the scatter without the odd one is hardly known.
ODD_LEAST = 4
#: A straight line through two values has no residual, and therefore no interval.
TREND_LEAST = 3


@dataclass(frozen=True, slots=True)
class OddOne:
    """The value that is farthest from the others: its place, the mean of the others,
    its distance in their standard deviations (of one further value), and the
    probability of such a distance for any of so many normal values.
    """

    place: int
    others: float
    distance: float
    chance: float


@dataclass(frozen=True, slots=True)
class Trend:
    """A straight line through values in order: its slope with the 95 % interval, its
    value at 0, and the probability of such a slope without a drift.
    """

    slope: float
    low: float
    high: float
    at_zero: float
    chance: float


def odd_one(values: Sequence[float], noise: float = 0.0) -> OddOne | None:
    """Return the odd value by the studentised distance from the others, two-sided,
    times the number of values (Grubbs 1969 in another form; Bonferroni).

    The scatter of the others is at least `noise`, the known standard deviation of one
    value. None for fewer than four values, for values that are not finite, and without
    any scatter or noise.
    """
    if len(values) < ODD_LEAST or not all(map(math.isfinite, values)):
        return None
    odd: list[OddOne] = []
    for place, value in enumerate(values):
        others = [*values[:place], *values[place + 1 :]]
        centre = mean(others)
        scatter = max(_deviation(others, centre, len(others) - 1), noise)
        if not scatter:
            return None
        distance = (value - centre) / (scatter * math.sqrt(1 + 1 / len(others)))
        chance = min(_beyond(distance, len(others) - 1) * len(values), 1.0)
        odd.append(OddOne(place, centre, distance, chance))
    return max(odd, key=lambda one: abs(one.distance))


def trend(
    places: Sequence[float], values: Sequence[float], noise: float = 0.0
) -> Trend | None:
    """Fit a straight line by least squares, with Student's interval of its slope;
    residuals are at least `noise`. None for fewer than three values, for values that
    are not finite, and if all have one place.
    """
    if len(values) < TREND_LEAST or not all(map(math.isfinite, values)):
        return None
    middle = mean(places)
    spread = math.fsum((place - middle) ** 2 for place in places)
    if not spread:
        return None
    centre = mean(values)
    pairs = zip(places, values, strict=True)
    slope = (
        math.fsum((place - middle) * (value - centre) for place, value in pairs)
        / spread
    )
    residuals = [
        value - centre - slope * (place - middle)
        for place, value in zip(places, values, strict=True)
    ]
    freedom = len(values) - 2
    scatter = max(_deviation(residuals, 0.0, freedom), noise)
    error = scatter / math.sqrt(spread)
    half = student(freedom) * error
    chance = _beyond(slope / error, freedom) if error else (1.0 if not slope else 0.0)
    return Trend(slope, slope - half, slope + half, centre - slope * middle, chance)


def _deviation(values: Sequence[float], centre: float, freedom: int) -> float:
    """Return the standard deviation about a centre; rounding errors of equal values are
    ignored.
    """
    size = max(abs(value) for value in values)
    sum_of_squares = math.fsum((value - centre) ** 2 for value in values)
    deviation = math.sqrt(sum_of_squares / freedom)
    return 0.0 if deviation <= 1e-13 * size else deviation


def _beyond(distance: float, freedom: int) -> float:
    """Return the two-sided tail probability of Student's t."""
    return 2.0 * float(scipy.special.stdtr(freedom, -abs(distance)))
