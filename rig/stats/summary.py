# SPDX-License-Identifier: Apache-2.0
"""Means, standard errors and percentiles of measured values."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rig.arrays import Float64s
from rig.stats.binomial import places

#: Standard deviations to each side that hold 95 % of a normal distribution.
NORMAL_95 = 1.959964


def mean(values: Sequence[float]) -> float:
    """Return the arithmetic mean, correctly rounded; NaN for no values."""
    return math.fsum(values) / len(values) if values else math.nan


def standard_error(values: Sequence[float]) -> float | None:
    """Return s/sqrt(n) with the sample standard deviation s (n - 1), or None below two
    values.

    ASC.md: "mean [...] with standard error" over all test samples.
    """
    if len(values) < 2:
        return None
    centre = mean(values)
    squares = [(value - centre) ** 2 for value in values]
    variance = math.fsum(squares) / (len(values) - 1)
    return math.sqrt(variance / len(values))


def percentile_error(values: Sequence[float], percent: float) -> float | None:
    """Return the standard error of a percentile, or None for too few values: 6 for a
    median, 368 for the 99th.

    It follows from the values between which the percentile lies with 95 %
    (rig/stats/binomial.py, places), from the farther of the two, as long tails have
    one.
    """
    low, high = places(len(values), percent / 100)
    if not low or high > len(values):
        return None
    ordered = ascending(values)
    at = of_ordered(ordered, percent)
    return max(at - ordered[low - 1], ordered[high - 1] - at) / NORMAL_95


def half_width(uncertainty: float | None) -> float | None:
    """Return the half-width of the 95 % interval of a normal error from its standard
    uncertainty; None for None.
    """
    return None if uncertainty is None else NORMAL_95 * uncertainty


def percentile(values: Sequence[float], percent: float) -> float:
    """Return a percentile by linear interpolation between order statistics (Hyndman and
    Fan, type 7); NaN for no values.

    The result equals numpy.percentile's to the last bit, in a part of the time for a
    few values: an uncertainty budget asks for thousands.
    """
    return of_ordered(ascending(values), percent)


def ascending(values: Sequence[float] | Float64s) -> tuple[float, ...]:
    """Return values in ascending order, NaN last."""
    return tuple(np.sort(np.asarray(values, np.float64)).tolist())


def of_ordered(ordered: Sequence[float], percent: float) -> float:
    """Return a percentile of values that are `ascending`; NaN where one of them is."""
    if not ordered or math.isnan(ordered[-1]):
        return math.nan
    if len(ordered) == 1 and math.isfinite(ordered[0]):
        return float(ordered[0])
    place = (len(ordered) - 1) * (percent / 100)
    at = math.floor(place)
    below = ordered[at]
    above = ordered[min(at + 1, len(ordered) - 1)]
    weight = place - at
    step = above - below
    return float(below + step * weight if weight < 0.5 else above - step * (1 - weight))


def ratio(above: Sequence[float], below: Sequence[float]) -> tuple[float, float | None]:
    """Return sum(above)/sum(below) and its standard error by linearisation: mean power
    is total energy over total time.

    The scatter is that of above_i - ratio * below_i (Cochran, Sampling Techniques,
    6.3).
    """
    total = math.fsum(below)
    if not total:
        return math.nan, None
    value = math.fsum(above) / total
    error = standard_error([a - value * b for a, b in zip(above, below, strict=True)])
    return value, None if error is None else error / mean(below)


def ratio_value(above: Sequence[float], below: Sequence[float]) -> float:
    """Return sum(above)/sum(below); NaN if the sum below is 0."""
    total = math.fsum(below)
    return math.fsum(above) / total if total else math.nan
