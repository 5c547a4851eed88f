# SPDX-License-Identifier: Apache-2.0
"""A metric says of itself what rules, tables and the report ask."""

from __future__ import annotations

import pytest

from rig.model.metric import Deviation, Metric, Prominence, Repeatability, Statistic


def test_a_plain_metric_is_a_mean_in_the_table_which_trials_repeat() -> None:
    metric = Metric(2.0, "V")
    assert (metric.statistic, metric.prominence) == (Statistic.MEAN, Prominence.MAIN)
    assert (metric.repeatability, metric.deviation) == (
        Repeatability.REPEATED,
        Deviation.RELATIVE,
    )
    assert metric.higher_is_better is None and not metric.budget_shown


def test_a_percentile_is_a_detail_which_trials_need_not_repeat() -> None:
    metric = Metric.of_percentile([1.0, 2.0, 3.0], 50, "s", higher_is_better=False)
    assert (metric.value, metric.percent, metric.values) == (2.0, 50, (1.0, 2.0, 3.0))
    assert (metric.statistic, metric.prominence, metric.repeatability) == (
        Statistic.PERCENTILE,
        Prominence.DETAIL,
        Repeatability.COARSE,
    )


def test_a_share_lies_within_0_and_1_and_has_the_interval_of_its_count() -> None:
    metric = Metric.of_share([True] * 9 + [False], higher_is_better=True)
    assert (metric.value, metric.unit, metric.bounded) == (0.9, "1", True)
    assert metric.statistic is Statistic.SHARE and metric.prominence is Prominence.MAIN
    assert metric.interval == (
        pytest.approx(0.5550, abs=1e-4),
        pytest.approx(0.9975, abs=1e-4),
    )


@pytest.mark.parametrize("statistic", list(Statistic))
def test_what_leaving_out_samples_tells_nothing_of_is_reported_by_the_statistic(
    statistic: Statistic,
) -> None:
    assert statistic.smooth is (statistic not in (Statistic.TOTAL, Statistic.MEDIAN))
