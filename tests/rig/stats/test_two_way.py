# SPDX-License-Identifier: Apache-2.0
"""The scatter of a mean by its units and by repetitions of all of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rig.stats.binomial import student
from rig.stats.containing import Variance
from rig.stats.coverage_factor import coverage_factor
from rig.stats.two_way import TwoWay


def half_width(scatter: TwoWay) -> float:
    u = scatter.standard_uncertainty
    return coverage_factor([(u, scatter.shape)]) * u


@pytest.mark.parametrize("freedom", [1.0, 1.5, 4.0, 49.0])
def test_one_source_alone_is_students_t(freedom: float) -> None:
    result = half_width(TwoWay(Variance(4.0, freedom), Variance(0.0, 1.0)))
    assert result == pytest.approx(2 * student(freedom), rel=2e-3)


@pytest.mark.parametrize("chosen", [0.0001, 0.3, 1.0, 5.0])
@pytest.mark.parametrize(
    ("units", "trials"), [(2.0, 1), (3.0, 4), (11.0, 1), (49.0, 4)]
)
@pytest.mark.parametrize("both", [0.0, 0.5, math.inf])
def test_both_sources_are_at_least_as_wide_as_either_one(
    chosen: float, units: float, trials: float, both: float
) -> None:
    result = half_width(TwoWay(Variance(chosen, units), Variance(1.0, trials), both))
    assert result >= 0.998 * student(trials)
    assert result >= 0.998 * student(units) * math.sqrt(chosen)


def test_the_half_width_is_that_of_draws() -> None:
    """Drawn again: both variances a million times, and a normal value of their joint
    one.
    """
    random = np.random.default_rng(3)
    first = 11 * 1.5 / random.chisquare(11, 1_000_000)
    second = 4 * 1.0 / random.chisquare(4, 1_000_000)
    joint = np.maximum(np.maximum(first, second), first + second - 0.2)
    expected = np.quantile(
        np.abs(random.standard_normal(1_000_000)) * np.sqrt(joint), 0.95
    )
    result = half_width(TwoWay(Variance(1.5, 11), Variance(1.0, 4), 0.2))
    assert result == pytest.approx(expected, rel=0.01)


def test_sizes_in_another_unit_have_no_effect() -> None:
    item = half_width(TwoWay(Variance(1.5, 3), Variance(1.0, 4), 0.2))
    other = half_width(TwoWay(Variance(1.5e-12, 3), Variance(1e-12, 4), 0.2e-12))
    assert other == pytest.approx(1e-6 * item)
