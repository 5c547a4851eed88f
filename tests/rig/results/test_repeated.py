# SPDX-License-Identifier: Apache-2.0
"""A metric of repeated sessions: scatter by Student's t, common errors whole."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest
from scipy import stats

from rig.errors import DataError
from rig.model.metric import Statistic
from rig.results import repeated
from rig.results.document import IntervalResult, MetricResult
from rig.uncertainty.budget import Part

SHARE = IntervalResult(
    low=0.2,
    high=0.8,
    method="m",
    units="samples",
    reason="",
    standard_uncertainty=None,
    coverage_factor=None,
    expanded_uncertainty=None,
)


def part(component: str, size: float, type_: str, shape: str) -> Part:
    return Part(
        component=component,
        standard_uncertainty=size,
        type=type_,
        shape=shape,
        counted=True,
    )


def metric(value: float, *parts: Part) -> MetricResult:
    u = math.hypot(*(each.standard_uncertainty for each in parts))
    own = replace(
        SHARE,
        low=value - 2 * u,
        high=value + 2 * u,
        standard_uncertainty=u,
        coverage_factor=2.0,
        expanded_uncertainty=2 * u,
    )
    return MetricResult(
        value=value,
        unit="J",
        higher_is_better=False,
        standard_error_over_samples=None,
        same_samples=own,
        other_samples=SHARE,
        budget=parts,
        per_trial=(),
    )


def test_one_session_keeps_its_own_interval() -> None:
    row = metric(1.0, part("current gain", 0.1, "B", "rectangular"))
    assert repeated.of_sessions([row]) is row


def test_scatter_alone_is_the_t_interval_of_the_values() -> None:
    values = [1.0, 1.2, 0.9, 1.1, 1.05]
    found = repeated.of_sessions([metric(value) for value in values])
    mean, error = sum(values) / 5, stats.sem(values)
    low, high = stats.t.interval(0.95, 4, mean, error)
    assert found.value == pytest.approx(mean)
    assert found.same_samples.low == pytest.approx(low, rel=2e-3)
    assert found.same_samples.high == pytest.approx(high, rel=2e-3)


def test_an_error_of_the_instrument_is_not_averaged_out() -> None:
    gain = part("current gain", 0.1, "B", "normal")
    found = repeated.of_sessions([metric(1.0, gain)] * 100)
    assert found.same_samples.standard_uncertainty == pytest.approx(0.1)
    assert found.same_samples.expanded_uncertainty == pytest.approx(0.196, rel=1e-3)


def test_sessions_that_agree_by_accident_count_with_their_own_scatter() -> None:
    scatter = part("scatter of trials", 0.3, "A", "t4")
    found = repeated.of_sessions([metric(1.0, scatter)] * 9)
    assert found.same_samples.standard_uncertainty == pytest.approx(0.1)


def test_the_truth_is_inside_in_95_of_100() -> None:
    # A gain that all sessions of a campaign share, and a scatter of each: the interval
    # of their mean holds the truth as often as it says.
    draw = random.Random(7)
    inside = 0
    for _ in range(1000):
        gain = draw.gauss(0, 0.2)
        rows = []
        for _ in range(4):
            value = 1.0 + gain + draw.gauss(0, 0.3)
            rows.append(metric(value, part("current gain", 0.2, "B", "normal")))
        found = repeated.of_sessions(rows).same_samples
        assert found.low is not None
        assert found.high is not None
        inside += found.low <= 1.0 <= found.high
    assert 935 <= inside <= 975


def test_intervals_without_an_uncertainty_are_joined() -> None:
    one = replace(metric(0.5), statistic=Statistic.SHARE, same_samples=SHARE)
    other = replace(one, value=0.7, same_samples=replace(SHARE, low=0.4, high=0.9))
    found = repeated.of_sessions([one, other])
    assert found.value == pytest.approx(0.6)
    assert (found.same_samples.low, found.same_samples.high) == (0.2, 0.9)


def test_an_interval_that_is_not_known_stays_unknown() -> None:
    unknown = replace(SHARE, low=None, high=None, reason="2 cities")
    rows = [replace(metric(0.5), same_samples=unknown), metric(0.5)]
    assert repeated.of_sessions(rows).same_samples.reason == "2 cities"


def test_other_units_and_missing_values_are_refused() -> None:
    with pytest.raises(DataError):
        repeated.of_sessions([metric(1.0), replace(metric(1.0), unit="W")])
    with pytest.raises(DataError):
        repeated.of_sessions([metric(1.0), replace(metric(1.0), value=None)])
