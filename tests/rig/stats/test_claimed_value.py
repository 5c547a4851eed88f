# SPDX-License-Identifier: Apache-2.0
"""A claim against a measurement, where both scatter: false alarms, power, direction,
Holm."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from rig.stats.binomial import student
from rig.stats.claimed_value import (
    ALPHA,
    Spread,
    compare,
    compare_bounded,
    compare_counts,
    freedom_of,
    holm,
)

SEARCHES = 20


def of_searches(values: np.ndarray) -> Spread:
    return Spread(
        float(values.mean()),
        float(values.std(ddof=1)) / math.sqrt(len(values)),
        len(values) - 1,
    )


def refused(rng: np.random.Generator, factor: float, runs: int) -> float:
    """Return the share of sessions that refuse a claim so many times too good:
    exponential costs, lower is better, both sides of as many searches.
    """
    count = 0
    for _ in range(runs):
        measured = of_searches(rng.exponential(1.0, SEARCHES))
        claimed = of_searches(rng.exponential(1.0 / factor, SEARCHES))
        count += compare(measured, claimed, False).chance < ALPHA
    return count / runs


def test_an_honest_claim_with_its_own_uncertainty_is_refused_about_as_often_as_stated():
    rng = np.random.default_rng(20261124)
    # 2000 runs: 5 % +- 1.5 points are three standard errors.
    assert refused(rng, 1.0, 2000) == pytest.approx(0.05, abs=0.015)


def test_a_claim_is_refused_in_80_percent_at_the_factor_that_would_have_been_noticed():
    rng = np.random.default_rng(7)
    values = rng.exponential(1.0, (400, SEARCHES))
    tests = [
        compare(of_searches(row), of_searches(other), False)
        for row, other in zip(values[:200], values[200:], strict=True)
    ]
    factors = [test.noticeable(ALPHA) or math.nan for test in tests]
    assert refused(rng, float(np.median(factors)), 1000) == pytest.approx(0.8, abs=0.08)


@given(
    st.floats(1e-6, 1e6), st.floats(0.01, 0.5), st.floats(0.1, 10), st.floats(1e-3, 1e3)
)
def test_the_unit_has_no_effect_and_the_direction_turns_it_round(
    value: float, share: float, ratio: float, unit: float
) -> None:
    measured, claimed = (
        Spread(value, share * value, 4),
        Spread(value * ratio, share * value, 9),
    )
    scaled = [
        Spread(item.value * unit, item.u * unit, item.freedom)
        for item in (measured, claimed)
    ]
    lower = compare(measured, claimed, False).chance
    assert compare(scaled[0], scaled[1], False).chance == pytest.approx(
        lower, rel=1e-6, abs=1e-12
    )
    assert compare(measured, claimed, True).chance == pytest.approx(1 - lower, abs=1e-9)
    both = compare(measured, claimed, None).chance
    assert both == pytest.approx(2 * min(lower, 1 - lower), abs=1e-9)


def test_a_claim_that_is_too_bad_is_not_refused() -> None:
    assert compare(Spread(1.0, 0.1, 4), Spread(100.0, 1.0, 4), False).chance > 0.99


def test_of_a_value_that_is_not_positive_the_difference_is_tested() -> None:
    result = compare(Spread(-0.02, 0.01, 9), Spread(-0.5, 0.01, 9), False)
    assert result.chance < 1e-6 and result.noticeable(ALPHA) is None


def test_a_share_between_0_and_1_is_tested_by_its_logit() -> None:
    # 0.5 against 0.9: logits 0 and 2.197, uncertainties 0.2 and 0.556.
    result = compare_bounded(Spread(0.5, 0.05, 1e6), Spread(0.9, 0.05, 1e6), True)
    u = math.hypot(0.05 / 0.25, 0.05 / 0.09)
    assert result.chance == pytest.approx(
        float(scipy.stats.norm.sf(math.log(9) / u)), rel=1e-4
    )


@given(st.integers(1, 40), st.integers(1, 40), st.data())
def test_counts_are_compared_as_fisher_does(
    n: int, other: int, data: st.DataObject
) -> None:
    count = data.draw(st.integers(0, n))
    claimed = data.draw(st.integers(0, other))
    table = [[count, n - count], [claimed, other - claimed]]
    expected = float(scipy.stats.fisher_exact(table, alternative="less").pvalue)
    assert compare_counts((count, n), (claimed, other), True).chance == pytest.approx(
        expected, abs=1e-9
    )
    opposite = float(scipy.stats.fisher_exact(table, alternative="greater").pvalue)
    both = compare_counts((count, n), (claimed, other), None).chance
    assert both == pytest.approx(min(2 * min(expected, opposite), 1.0), abs=1e-9)


@given(st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0, 1), min_size=1))
def test_holm_refuses_no_claim_that_bonferroni_keeps_beyond_the_first(
    chances: dict[str, float],
) -> None:
    levels = holm(chances)
    refused = [name for name in chances if chances[name] < levels[name]]
    ordered = sorted(chances.values())
    expected = 0
    while expected < len(ordered) and ordered[expected] < ALPHA / (
        len(ordered) - expected
    ):
        expected += 1
    assert len(refused) == expected


@given(st.floats(0.6, 1000))
def test_degrees_of_freedom_are_found_from_the_coverage_factor(freedom: float) -> None:
    assert freedom_of(student(freedom)) == pytest.approx(freedom, rel=1e-3)


def test_two_values_without_scatter_are_not_compared() -> None:
    with pytest.raises(ValueError, match="scatters"):
        compare(Spread(1.0, 0.0, 4), Spread(1.0, 0.0, 4), False)
