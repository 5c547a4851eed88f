# SPDX-License-Identifier: Apache-2.0
"""Tails and intervals of counts, against whole-number arithmetic and published
values."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.stats import binomial
from rig.stats.binomial import Share, at_least, at_most, places
from tests.length import length


def exact(count: int, n: int, share: Fraction) -> Fraction:
    """Return the probability of `count` or fewer, without rounding."""
    return sum(
        (math.comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(count + 1)),
        Fraction(0),
    )


@given(st.integers(1, 120), st.data(), st.integers(1, 999))
@settings(max_examples=length(100, 30))
def test_both_tails_are_those_of_exact_fractions(
    n: int, data: st.DataObject, thousandths: int
) -> None:
    count = data.draw(st.integers(0, n))
    share = Fraction(thousandths, 1000)
    below = exact(count - 1, n, share)
    assert at_most(count, n, float(share)) == pytest.approx(
        float(exact(count, n, share)), rel=1e-10, abs=1e-13
    )
    assert at_least(count, n, float(share)) == pytest.approx(
        float(1 - below), rel=1e-10, abs=1e-13
    )


@pytest.mark.parametrize(
    ("count", "n", "tenths"),
    [(1500, 16_240, 1), (14_500, 16_240, 9), (8_000, 16_240, 5)],
)
def test_the_tail_of_a_whole_test_split_is_as_exact(
    count: int, n: int, tenths: int
) -> None:
    # Fractions of so many digits take long: the same sum in whole numbers.
    first = count - 300
    term = math.comb(n, first) * tenths**first * (10 - tenths) ** (n - first)
    whole = term
    for k in range(first, count):  # each from the one before, without a remainder
        term = term * (n - k) * tenths // ((k + 1) * (10 - tenths))
        whole += term
    assert at_most(count, n, tenths / 10) == pytest.approx(
        float(Fraction(whole, 10**n)), rel=1e-9
    )


def test_certain_and_impossible_counts() -> None:
    assert (
        at_most(3, 3, 0.5),
        at_most(-1, 3, 0.5),
        at_least(0, 3, 0.5),
        at_least(4, 3, 0.5),
    ) == (1.0, 0.0, 1.0, 0.0)
    assert (
        at_most(0, 3, 0.0),
        at_least(3, 3, 1.0),
        at_least(1, 3, 0.0),
        at_most(2, 3, 1.0),
    ) == (1.0, 1.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("count", "n", "low", "high"),
    [
        # Agresti and Coull, The American Statistician 52 (1998) 119: none of n yields 1
        # - 0.025 ** (1 / n).
        (0, 10, 0.0, 1 - 0.025 ** (1 / 10)),
        (10, 10, 0.025 ** (1 / 10), 1.0),
        (16_240, 16_240, 0.025 ** (1 / 16_240), 1.0),
        # Newcombe, Statistics in Medicine 17 (1998) 857, table I, "exact".
        (81, 263, 0.2527, 0.3676),
        (15, 148, 0.0578, 0.1617),
        (0, 20, 0.0, 0.1684),
        (1, 29, 0.0009, 0.1776),
    ],
)
def test_the_interval_of_a_share_is_the_published_one(
    count: int, n: int, low: float, high: float
) -> None:
    assert Share(count, n).interval() == pytest.approx((low, high), abs=5.1e-5)


@pytest.mark.parametrize("share", [0.02, 0.3, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("n", [1, 7, 40])
def test_the_interval_holds_the_share_at_least_95_times_in_100_whatever_it_is(
    share: float, n: int
) -> None:
    held = 0.0
    for count in range(n + 1):
        low, high = Share(count, n).interval()
        held += (
            math.comb(n, count)
            * share**count
            * (1 - share) ** (n - count)
            * (low <= share <= high)
        )
    assert held >= 0.95 - 1e-9


def test_nothing_has_no_share() -> None:
    assert math.isnan(Share(0, 0).value)
    assert Share(0, 0).interval() == (0.0, 1.0)


@given(n=st.integers(1, 120), share=st.floats(0.01, 0.99))
def test_a_quantile_lies_between_the_places_outside_which_it_seldom_is(
    n: int, share: float
) -> None:
    lower, upper = places(n, share)
    assert lower == max(k for k in range(n + 1) if at_most(k - 1, n, share) <= 0.025)
    assert upper == min(
        [*(k for k in range(1, n + 1) if at_least(k, n, share) <= 0.025), n + 1]
    )


def test_the_places_of_the_official_number_of_samples_are_those_of_its_normal_limit():
    # 16 240 samples: sqrt(n p q) is 38.2 for the 90th percentile.
    assert places(16_240, 0.9) == pytest.approx(
        (14_616 - 1.96 * 38.23, 14_616 + 1.96 * 38.23), abs=1.5
    )


@pytest.mark.parametrize(
    ("value", "variance", "n", "freedom"),
    [(0.8, 0.01, 40, 5), (0.3, 0.002, 500, 11), (0.5, 0.2, 30, 2), (0.5, 1e-4, 30, 9)],
)
def test_clustered_outcomes_count_as_korn_and_graubard_have_it(
    value: float, variance: float, n: float, freedom: float
) -> None:
    exact = scipy.stats.t.ppf(0.975, n - 1) / scipy.stats.t.ppf(0.975, freedom)
    size = value * (1 - value) / variance * exact**2
    expected = min(max(size, 1.0), n)
    result = binomial.effective_size(value, variance, n, freedom)
    assert result == pytest.approx(expected, rel=1e-5)
    assert binomial.effective_size(value, 0.0, n, freedom) == n


def test_quantiles_of_students_and_chi_squared_are_those_of_tables() -> None:
    # t of 95 % and 90 %; chi-squared of 3 with 25 % below it.
    assert binomial.student(4) == pytest.approx(2.776, abs=5e-4)
    assert binomial.student(10, 0.9) == pytest.approx(1.812, abs=5e-4)
    assert binomial.student(0) == math.inf
    assert binomial.chance(3) == pytest.approx(4.108 / 3, abs=5e-4)
    assert binomial.chance(10, 0.95) == pytest.approx(18.307 / 10, abs=5e-4)
