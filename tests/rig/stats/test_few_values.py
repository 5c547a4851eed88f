# SPDX-License-Identifier: Apache-2.0
"""Intervals of means of few values, against what is known of exponential and normal ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy  # its statistics are imported where they are used: that takes a second
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.stats import few_values
from tests.length import length


def test_any_values_have_students_interval() -> None:
    values = [1.0, 2.0, 4.0, 8.0, 5.0]
    low, high = scipy.stats.t.interval(0.95, 4, np.mean(values), scipy.stats.sem(values))
    assert few_values.of_any(values) == pytest.approx((low, high), rel=1e-9)
    assert few_values.of_any([3.0]) == (-math.inf, math.inf)


@pytest.mark.parametrize("count", [2, 5, 20])
def test_times_that_hardly_differ_have_students_interval(count: int) -> None:
    values = (1 + 1e-4 * np.random.default_rng(count).standard_normal(count)).tolist()
    low, high = few_values.of_any(values)
    found = few_values.of_times(values)
    # The tails of few parts of equal probability are cut short: one degree of freedom shows it
    # most.
    assert found[0] - 1 == pytest.approx(low - 1, rel=0.02 if count > 2 else 0.15)
    assert found[1] - 1 == pytest.approx(high - 1, rel=0.02 if count > 2 else 0.15)


def test_exponential_times_have_about_the_exact_interval_of_their_mean() -> None:
    # Of n exponential values, 2 n mean / truth is chi-squared of 2 n degrees of freedom: no
    # interval without that can be as narrow.
    for number in range(20):
        values = np.random.default_rng(number).exponential(1.0, 25)
        exact = [2 * values.sum() / scipy.stats.chi2.ppf(p, 50) for p in (0.975, 0.025)]
        low, high = few_values.of_times(values.tolist())
        assert low == pytest.approx(exact[0], rel=0.25) and high == pytest.approx(
            exact[1], rel=0.35
        )


@given(st.lists(st.floats(0, 1e3), min_size=2, max_size=8))
@settings(max_examples=length(100, 40))
def test_the_interval_of_times_is_not_negative_holds_their_order_and_scales(
    values: list[float],
) -> None:
    low, high = few_values.of_times(values)
    assert 0 <= low <= high
    milli = few_values.of_times([value / 1024 for value in values])
    assert milli == pytest.approx((low / 1024, high / 1024), rel=1e-6, abs=1e-12)


def test_one_time_tells_no_upper_end() -> None:
    assert few_values.of_times([2.0]) == (0.0, math.inf)
