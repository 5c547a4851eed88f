# SPDX-License-Identifier: Apache-2.0
"""Texts of the picture of throughput, read from its SVG; the numbers are made by hand."""

from __future__ import annotations

from rig.results.document import IntervalResult, MetricResult, TrialValue
from scenarios.common.plots import throughput
from tests.drawings import drawn, texts
from tests.results_by_hand import trial


def test_throughput_without_a_value_is_not_drawn() -> None:
    assert throughput(metric(None), [trial(1)]).figure is None
    picture = throughput(metric(20.0), [trial(1)])
    assert (
        "samples per second" in texts(drawn(picture))
        and "within 5% of it" in picture.caption
    )


def metric(value: float | None) -> MetricResult:
    none = IntervalResult(
        None,
        None,
        "",
        "",
        reason="one trial",
        standard_uncertainty=None,
        coverage_factor=None,
        expanded_uncertainty=None,
    )
    return MetricResult(
        value=value,
        unit="1/s",
        higher_is_better=True,
        standard_error_over_samples=None,
        same_samples=none,
        other_samples=none,
        budget=(),
        per_trial=(TrialValue(1, value, None, None, 1),),
    )
