# SPDX-License-Identifier: Apache-2.0
"""Means, standard errors, percentiles and ratios against values from other sources."""

from __future__ import annotations

import math
import statistics as reference

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rig.stats.summary import (
    NORMAL_95,
    mean,
    percentile,
    percentile_error,
    ratio,
    standard_error,
)
from tests.length import length

values = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=50)


@given(values)
@settings(max_examples=length(100, 40))
def test_mean_and_standard_error_equal_the_standard_library(xs: list[float]) -> None:
    assert mean(xs) == pytest.approx(reference.fmean(xs), rel=1e-12, abs=1e-9)
    error = standard_error(xs)
    assert error is not None
    assert error == pytest.approx(
        reference.stdev(xs) / math.sqrt(len(xs)), rel=1e-9, abs=1e-9
    )


def test_one_value_has_no_standard_error_and_none_no_mean() -> None:
    assert standard_error([1.0]) is None
    assert math.isnan(mean([]))
    assert math.isnan(percentile([], 50))


def test_percentiles_interpolate() -> None:
    assert percentile([1, 2, 3, 4], 50) == 2.5
    assert percentile(list(range(101)), 90) == 90
    assert percentile([7.0], 99) == 7.0


@given(
    st.lists(st.floats() | st.sampled_from([0.0, -0.0, 1.0]), min_size=1, max_size=30),
    st.sampled_from([0.0, 50.0, 90.0, 95.0, 99.0, 99.9, 100.0]) | st.floats(0, 100),
)
@example([math.inf], 0.0)
@settings(max_examples=length(100, 40))
def test_a_percentile_is_numpys_to_the_last_bit(
    values: list[float], percent: float
) -> None:
    with np.errstate(all="ignore"):
        expected = float(np.percentile(np.asarray(values), percent))
    result = percentile(values, percent)
    assert result == expected or (math.isnan(result) and math.isnan(expected))


@pytest.mark.parametrize(("percent", "needed"), [(50, 6), (90, 36), (99, 368)])
def test_a_percentile_of_too_few_values_has_no_standard_error(
    percent: int, needed: int
) -> None:
    # 0.5**5, 0.9**35 and 0.99**367 are above 2.5 %: beyond the largest of so few there
    # may be anything.
    assert percentile_error(range(needed - 1), percent) is None
    assert percentile_error(range(needed), percent) is not None


@pytest.mark.parametrize(
    ("count", "low", "high"), [(6, 1, 6), (10, 2, 9), (20, 6, 15), (100, 40, 61)]
)
def test_a_median_lies_between_the_places_that_tables_give(
    count: int, low: int, high: int
) -> None:
    # Conover, Practical Nonparametric Statistics, and others: 95 % limits of a median
    # by order statistics.
    values = [2.0**position for position in range(count)]
    middle = percentile(values, 50)
    expected = max(middle - values[low - 1], values[high - 1] - middle) / NORMAL_95
    assert percentile_error(values, 50) == pytest.approx(expected)


def test_mean_power_is_total_energy_over_total_time() -> None:
    value, error = ratio([2.0, 6.0], [1.0, 2.0])
    assert value == pytest.approx(8 / 3)
    assert error is not None and error > 0
    assert ratio([3.0, 6.0], [1.0, 2.0]) == (3.0, 0.0)
    assert ratio([], [])[1] is None
