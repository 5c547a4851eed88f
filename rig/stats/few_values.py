# SPDX-License-Identifier: Apache-2.0
"""Intervals of the mean of few independent values: of any, and of times, which are skewed. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import scipy  # loads its special functions when they are first used: they take 0.2 s
from numpy.typing import NDArray

from rig.stats.binomial import student
from rig.stats.summary import mean, standard_error

Floats = NDArray[np.float64]

#: Parts of equal probability into which each of two distributions is cut.
_PARTS = 100
#: Ends are rounded to so many digits, so that they are the same on every machine.
_DIGITS = 9
STUDENT = "Student's t"
FOURTH_ROOT = (
    "fiducial interval of the mean of times whose fourth root is taken for normal, as that of "
    "exponential ones nearly is "
    "(Hawkins and Wixley, The American Statistician 40, 1986, 296)"
)


def of_any(values: Sequence[float]) -> tuple[float, float]:
    """Return where the mean behind two values or more lies with 95 %, by Student's t."""
    error = standard_error(values)
    at = mean(values)
    if error is None:
        return -math.inf, math.inf
    half = student(len(values) - 1) * error
    return at - half, at + half


def of_times(values: Sequence[float]) -> tuple[float, float]:
    """Return where the mean behind two times or more lies with 95 %; none of them is negative.

    Times that searches need are about exponential (Hoos and Stutzle, Artificial Intelligence 112,
    1999, 213), and so are energies: Student's t has the truth in 89 % of intervals from five of
    these, this method in 94 %. Where times hardly differ, the two are the same. It is too narrow
    where all times have a long part in common (as long as the exponential one: 89 % of five), or
    where single times are far longer than most (lognormal ones of sigma 1: 91 %).
    """
    if len(values) < 2:
        return 0.0, math.inf
    roots = np.sqrt(np.sqrt(np.asarray(values, dtype=np.float64)))
    freedom = len(values) - 1
    normal, chi2 = _cut(freedom)
    # The mean of X where its fourth root has mean m and variance v.
    variance = freedom * float(roots.var(ddof=1)) / chi2
    middle = float(roots.mean()) - normal * np.sqrt(variance / len(values))
    low, high = np.quantile(middle**4 + 6 * middle**2 * variance + 3 * variance**2, [0.025, 0.975])
    return max(_rounded(float(low)), 0.0), _rounded(float(high))


@lru_cache(maxsize=64)
def _cut(freedom: int) -> tuple[Floats, Floats]:
    """Return the middles of parts of equal probability: of the normal distribution as a column, of
    chi-squared as a row.
    """
    middles = (np.arange(_PARTS) + 0.5) / _PARTS
    normal: Floats = scipy.special.ndtri(middles)[:, None]
    chi2: Floats = 2 * scipy.special.gammaincinv(freedom / 2, middles)[None, :]
    return normal, chi2


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS - 1}e}")
