# SPDX-License-Identifier: Apache-2.0
"""Ends of skewed means, against the exact interval of exponential values and Student's
t."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy  # its statistics are imported where they are used: that takes a second
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.stats import skewed_mean
from rig.stats.strata import scatter
from tests.length import length


def test_exponential_values_have_about_the_exact_interval_of_their_mean() -> None:
    # 2 n mean / truth of n exponential values is chi-squared of 2 n degrees of freedom.
    values = scipy.stats.expon.ppf((np.arange(25) + 0.5) / 25)
    exact = [2 * values.sum() / scipy.stats.chi2.ppf(p, 50) for p in (0.975, 0.025)]
    result = skewed_mean.ends(float(values.mean()), scatter([values.tolist()]))
    assert result[0] == pytest.approx(exact[0], rel=0.1)
    assert result[1] == pytest.approx(exact[1], rel=0.2)


@pytest.mark.parametrize("scale", [1e-3, 1e-5, 1e-7])
def test_values_that_hardly_differ_have_students_interval(scale: float) -> None:
    away = np.array([-1.0, 0.3, 0.9, -0.4, 0.2])
    values = (1 + scale * away).tolist()
    low, high = scipy.stats.t.interval(
        0.95, 4, np.mean(values), scipy.stats.sem(values)
    )
    result = skewed_mean.ends(float(np.mean(values)), scatter([values]))
    assert result[0] - 1 == pytest.approx(low - 1, rel=0.01)
    # Hall's transformation adds what these five have of skewness, to the upper end
    # only.
    assert high - 1 <= result[1] - 1 < 1.2 * (high - 1)


@given(st.floats(1e-6, 30), st.floats(1, 3))
@settings(max_examples=length(200, 60))
def test_ends_move_apart_as_the_half_width_grows_and_never_pass_0(
    half_width: float, times: float
) -> None:
    low, high = skewed_mean.gamma_ends(1.0, half_width)
    wider = skewed_mean.gamma_ends(1.0, half_width * times)
    # Ends are rounded as any number is, also where the widths differ by one bit.
    rounding = 1e-12 * high
    assert 0 <= wider[0] <= low + rounding
    assert low <= 1 <= high <= wider[1] + rounding


def test_both_forms_of_the_ends_agree_where_one_takes_over() -> None:
    width = skewed_mean.NORMAL_95 / math.sqrt(skewed_mean._NORMAL_CUBE)
    before = skewed_mean.gamma_ends(1.0, width * (1 + 1e-9))
    after = skewed_mean.gamma_ends(1.0, width * (1 - 1e-9))
    assert before == pytest.approx(after, abs=1e-5 * width)


def test_the_ends_of_hall_give_the_quantiles_of_his_transform() -> None:
    result = scatter([[-3.0, 0.2, 0.1, 9.0, 0.4]])
    at, error, g = 1.34, math.sqrt(result.variance.value), result.skewness
    assert g > 0.1
    for end, sign in zip(
        skewed_mean.ends_without_bound(at, result), (1, -1), strict=True
    ):
        t = (at - end) / error
        output = t + g * t**2 / 3 + g**2 * t**3 / 27 + g / 6
        assert output == pytest.approx(sign * result.variance.coverage_factor)
