# SPDX-License-Identifier: Apache-2.0
"""Intervals for the same samples, against tables and arithmetic by hand."""

from __future__ import annotations

import math

import pytest
import scipy

from rig.model.metric import Metric, Statistic
from rig.uncertainty import same_samples
from rig.uncertainty.budget import Budget

BUDGET = Budget(0.5, 2.0, ())


def means(*values: float) -> list[Metric]:
    return [Metric(value, "s") for value in values]


def shares(*values: float, n: int = 50) -> list[Metric]:
    return [Metric(each, "1", None, n, statistic=Statistic.SHARE) for each in values]


def medians(*trials: list[float]) -> list[Metric]:
    return [Metric.of_percentile(values, 50, "s") for values in trials]


@pytest.mark.parametrize(
    ("percent", "values"),
    # The least n with 0.5**n, 0.9**n, 0.99**n of at most 2.5 %.
    [(50, 6), (90, 36), (10, 36), (95, 72), (99, 368)],
)
def test_a_percentile_needs_so_many_values_a_trial(percent: float, values: int) -> None:
    assert same_samples.needed(percent) == values


def test_a_metric_has_the_mean_of_its_trials_or_the_percentile_of_all_values() -> None:
    assert same_samples.value(means(1.0, 2.0, 6.0)) == 3.0
    assert same_samples.value(medians([1, 2, 3], [4, 50, 60])) == 3.5


def test_a_mean_has_the_interval_of_its_budget() -> None:
    result = same_samples.interval(means(1.0, 3.0), BUDGET, shared=True)
    assert (result.low, result.high) == (1.0, 3.0)
    assert (result.standard_uncertainty, result.coverage_factor) == (0.5, 2.0)
    assert (result.method, result.units) == (same_samples.GUM, "2 trials")
    own = same_samples.interval(means(1.0, 3.0), BUDGET, shared=False)
    assert own.method.startswith(same_samples.GUM)
    assert own.method.endswith("their choice is in it")
    single = same_samples.interval(means(1.0), BUDGET, shared=False)
    assert (single.method, single.units) == (same_samples.GUM, "1 trial")


def test_a_bounded_mean_has_ends_at_equal_distances_of_its_logit() -> None:
    metrics = [Metric(0.8, "1", bounded=True)] * 2
    budget = Budget(0.02, 2.0, ())
    result = same_samples.interval(metrics, budget, shared=True)
    # The slope of the logit at 0.8 is 1 / (0.8 * 0.2).
    logit = scipy.special.logit(0.8)
    assert result.low == pytest.approx(scipy.special.expit(logit - 0.04 / 0.16))
    assert result.high == pytest.approx(scipy.special.expit(logit + 0.04 / 0.16))
    assert result.standard_uncertainty == 0.02
    assert result.method.endswith(same_samples.LOGIT)


@pytest.mark.parametrize(
    ("metrics", "budget", "reason"),
    [
        (means(1.0, math.nan), BUDGET, "not every trial has a value"),
        (means(1.0), None, same_samples.ONE_TRIAL),
        (means(1.0, 2.0), None, "its budget is not known"),
        (shares(0.5), None, same_samples.ONE_TRIAL),
        (shares(0.5, 0.5, n=0), None, "nothing was counted"),
        (
            medians([1.0] * 6, [1.0] * 5),
            None,
            "5 values a trial, the percentile needs 6",
        ),
    ],
)
def test_an_interval_that_is_not_known_has_its_reason(
    metrics: list[Metric], budget: Budget | None, reason: str
) -> None:
    result = same_samples.interval(metrics, budget, shared=True)
    assert not result.known
    assert result.reason == reason


def test_a_percentile_without_its_percent_is_a_bound() -> None:
    bound = [Metric(1.0, "s", statistic=Statistic.PERCENTILE)]
    result = same_samples.interval(bound, BUDGET, shared=True)
    assert result.reason == same_samples.A_BOUND


def test_a_share_has_students_interval_of_its_logit_or_that_of_no_difference() -> None:
    result = same_samples.interval(shares(0.7, 0.9), None, shared=True)
    # The standard error of 0.7 and 0.9 is 0.1; t of one degree of freedom is 12.7.
    half = scipy.stats.t.ppf(0.975, 1) * 0.1
    logit = scipy.special.logit(0.8)
    assert result.low == pytest.approx(
        scipy.special.expit(logit - half / 0.16), rel=1e-5
    )
    assert result.high == pytest.approx(
        scipy.special.expit(logit + half / 0.16), rel=1e-5
    )
    # 80 of 100 answers were right in both trials: 80 right ones and 20 wrong ones may
    # each hide a change.
    equal = same_samples.interval(shares(0.8, 0.8), None, shared=True)
    assert equal.low == pytest.approx(0.8 * 0.025 ** (1 / 80))
    assert equal.high == pytest.approx(1 - 0.2 * 0.025 ** (1 / 20))
    assert equal.units == "2 trials"


def test_the_percentile_of_one_trial_lies_between_its_order_statistics() -> None:
    values = [float(k * k) for k in range(1, 11)]
    result = same_samples.interval(medians(values), None, shared=True)
    # Of ten values: the second and the ninth (binomial, 2.1 %).
    assert (result.low, result.high) == (4.0, 81.0)
    assert (result.method, result.units) == (same_samples.RANKS, "10 values")
    wide = same_samples.interval(medians(values), BUDGET, shared=True)
    at = 30.5
    assert wide.low == pytest.approx(at - math.hypot(at - 4, 1.0))
    assert wide.high == pytest.approx(at + math.hypot(81 - at, 1.0))


def test_the_percentile_of_several_trials_has_their_scatter_bias_and_budget() -> None:
    trials = ([1.0] * 5 + [2.0] * 2, [3.0] * 7, [5.0] * 7)
    result = same_samples.interval(medians(*trials), BUDGET, shared=False)
    # Medians 1, 3 and 5: their standard error is 2 / sqrt(3); that of all values is 3.
    half = math.hypot(scipy.stats.t.ppf(0.975, 2) * 2 / math.sqrt(3), 0.0, 1.0)
    assert result.low == pytest.approx(3 - half, rel=1e-5)
    assert result.high == pytest.approx(3 + half, rel=1e-5)
    assert "2 degrees of freedom" in result.method
    biased = same_samples.interval(medians([1.0] * 9, [9.0] * 6), None, shared=True)
    # The median of all is 1, four from the mean of both.
    half = math.hypot(scipy.stats.t.ppf(0.975, 1) * 4, 4.0)
    assert (biased.low, biased.high) == pytest.approx((1 - half, 1 + half), rel=1e-5)
    assert "one degree of freedom" in biased.method
