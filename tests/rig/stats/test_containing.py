# SPDX-License-Identifier: Apache-2.0
"""Half-widths that contain one another, against bisection on a finer grid."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy

from rig.stats.containing import Variance, half_width


@pytest.mark.parametrize(
    ("same", "other"),
    [
        (Variance(1.0, 4.0), Variance(2.0, 11.0)),
        (Variance(3.0, 2.0), Variance(0.5, 30.0)),
        (Variance(1e-12, 4.0), Variance(1e-12, 4.0)),
    ],
)
def test_the_half_width_holds_95_percent_of_the_larger_of_both_draws(
    same: Variance, other: Variance
) -> None:
    places = (np.arange(120) + 0.5) / 120
    first, second = (
        each.value * each.freedom / scipy.special.chdtri(each.freedom, 1 - places)
        for each in (same, other)
    )
    deviations = np.sqrt(np.maximum.outer(first, second)).ravel()

    def missing(half: float) -> float:
        return float(np.mean(scipy.special.ndtr(half / deviations))) - 0.975

    exact = scipy.optimize.bisect(missing, 1e-9, 1e3 * math.sqrt(other.value))
    result = half_width(same, other)
    assert result == pytest.approx(exact, rel=0.02)
    assert result >= max(same.half_width, other.half_width)


def test_one_variance_alone_is_students() -> None:
    known, none = Variance(4.0, 4.0), Variance(0.0, 4.0)
    half = 2 * scipy.stats.t.ppf(0.975, 4)
    assert known.half_width == pytest.approx(half)
    assert known.coverage_factor == pytest.approx(half / 2)
    assert none.half_width == 0.0
    assert half_width(known, none) == pytest.approx(half)
    assert half_width(none, known) == pytest.approx(half)
    assert half_width(none, none) == 0.0
