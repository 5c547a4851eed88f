# SPDX-License-Identifier: Apache-2.0
"""What a few values in order of time tell: whether one of them is odd, and whether they
drift.

Both tests take the noise that the instrument alone must give as the least scatter: five
values that agree by accident to the last digit are no reason to call the sixth digit of
one of them odd.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import scipy

from rig.stats.binomial import student
from rig.stats.summary import mean

#: One value of fewer cannot be told from the others: without it, their scatter is
#: hardly known.
ODD_LEAST = 4
#: A straight line through two has no residual, and so no interval.
TREND_LEAST = 3


@dataclass(frozen=True, slots=True)
class OddOne:
    """The value that lies farthest from the others: its place, the mean of the others,
    how many of their standard deviations it is away (that of one further value), and
    the chance of as much in any of so many values of one normal distribution.
    """

    place: int
    others: float
    distance: float
    chance: float


@dataclass(frozen=True, slots=True)
class Trend:
    """A straight line through values in order: its slope with the 95 % interval, its
    value at 0, and the chance of as steep a one where nothing changes.
    """

    slope: float
    low: float
    high: float
    at_zero: float
    chance: float


def odd_one(values: Sequence[float], noise: float = 0.0) -> OddOne | None:
    """Return the odd value by the studentised distance from the others, two-sided,
    times as many values as there are (Grubbs 1969 in another form; Bonferroni).

    The scatter of the others counts, but no less than `noise`, the standard deviation
    of one value that is known beforehand. None below four values, where one is not
    finite, and where nothing scatters and no noise is known.
    """
    if len(values) < ODD_LEAST or not all(map(math.isfinite, values)):
        return None
    found: list[OddOne] = []
    for place, value in enumerate(values):
        others = [*values[:place], *values[place + 1 :]]
        centre = mean(others)
        scatter = max(_deviation(others, centre, len(others) - 1), noise)
        if not scatter:
            return None
        distance = (value - centre) / (scatter * math.sqrt(1 + 1 / len(others)))
        chance = min(_beyond(distance, len(others) - 1) * len(values), 1.0)
        found.append(OddOne(place, centre, distance, chance))
    return max(found, key=lambda one: abs(one.distance))


def trend(
    places: Sequence[float], values: Sequence[float], noise: float = 0.0
) -> Trend | None:
    """Return the straight line of least squares through values at places, with
    Student's interval of its slope; residuals count as no less than `noise`.

    None below three values, where one is not finite, and where all have one place.
    """
    if len(values) < TREND_LEAST or not all(map(math.isfinite, values)):
        return None
    middle = mean(places)
    spread = math.fsum((place - middle) ** 2 for place in places)
    if not spread:
        return None
    centre = mean(values)
    slope = (
        math.fsum(
            (place - middle) * (value - centre)
            for place, value in zip(places, values, strict=True)
        )
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
    """Return the standard deviation about a centre; rounding of equal values is
    none."""
    size = max(abs(value) for value in values)
    sum_of_squares = math.fsum((value - centre) ** 2 for value in values)
    deviation = math.sqrt(sum_of_squares / freedom)
    return 0.0 if deviation <= 1e-13 * size else deviation


def _beyond(distance: float, freedom: int) -> float:
    """Return the chance that Student's t lies farther from 0, to either side."""
    return 2.0 * float(scipy.special.stdtr(freedom, -abs(distance)))
