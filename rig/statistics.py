# SPDX-License-Identifier: Apache-2.0
"""Means, standard errors and percentiles of what was measured."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


def mean(values: Sequence[float]) -> float:
    """Return the arithmetic mean, correctly rounded; NaN for no values."""
    return math.fsum(values) / len(values) if values else math.nan


def standard_error(values: Sequence[float]) -> float | None:
    """Return s/sqrt(n) with the sample standard deviation s (n - 1), or None below two values.

    ASC.md: "mean [...] with standard error" over all test samples.
    """
    if len(values) < 2:
        return None
    centre = mean(values)
    variance = math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1)
    return math.sqrt(variance / len(values))


def percentile(values: Sequence[float], percent: float) -> float:
    """Return a percentile by linear interpolation between order statistics (Hyndman and Fan, type 7); NaN for no values."""
    return float(np.percentile(np.asarray(values, dtype=np.float64), percent)) if values else math.nan


def ratio(above: Sequence[float], below: Sequence[float]) -> tuple[float, float | None]:
    """Return sum(above)/sum(below) and its standard error by linearisation: mean power is total energy over total time.

    The scatter is that of above_i - ratio * below_i (Cochran, Sampling Techniques, 6.3).
    """
    if not math.fsum(below):
        return math.nan, None
    value = math.fsum(above) / math.fsum(below)
    error = standard_error([a - value * b for a, b in zip(above, below, strict=True)])
    return value, None if error is None else error / mean(below)
