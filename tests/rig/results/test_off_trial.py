# SPDX-License-Identifier: Apache-2.0
"""The one trial without which a verdict would hold."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from rig.model.metric import Deviation, Prominence
from rig.results import off_trial
from rig.results.off_trial import OffTrial
from rig.results.replication import self_consistency_check


def results(
    *, failed: tuple[str, ...] = ("latency",), audit: bool = False, **metrics: list
) -> Any:
    """Return results with the values of each trial, by metric."""
    rows = {}
    for name, values in metrics.items():
        headline = name == "energy"
        rows[name] = SimpleNamespace(
            deviation=Deviation.RELATIVE,
            prominence=Prominence.HEADLINE if headline else Prominence.MAIN,
            per_trial=[
                SimpleNamespace(trial=number, value=value)
                for number, value in enumerate(values, start=1)
            ],
        )
    columns = []
    for values in metrics.values():
        columns.append([math.nan if value is None else value for value in values])
    trials = [
        dict(zip(metrics, row, strict=True)) for row in zip(*columns, strict=False)
    ]
    verdicts = {}
    for name, row in self_consistency_check(trials).per_metric.items():
        verdicts[name] = replace(row, ok=name not in failed)
    count = max(map(len, metrics.values()))
    return SimpleNamespace(
        audit=audit or None,
        metrics=rows,
        replication=SimpleNamespace(per_metric=verdicts),
        trials=[SimpleNamespace(number=number) for number in range(1, count + 1)],
    )


def test_a_trial_is_off_if_the_others_agree_about_their_own_mean() -> None:
    # 95 to 105 lie 5 % from their mean of 100; the mean of all five is 106.
    result = off_trial.find(results(latency=[95.0, 100.0, 105.0, 130.0, 100.0]))
    assert result is not None
    assert (result.number, result.others) == (4, 4)
    assert result.away == pytest.approx({"latency": 24 / 106})
    assert result.rest == pytest.approx(0.05)
    assert result.lines[0] == "trial 4 is off the mean: latency +22.6 %  (limit 5 %)"
    assert result.lines[1].startswith("the other 4 agree within 5")


@pytest.mark.parametrize(
    ("values", "options"),
    [
        ([94.9, 100.0, 105.1, 130.0], {}),
        ([100.0, 130.0], {}),
        ([100.0, None, 100.0, 130.0], {}),
        ([100.0, 100.0, 100.0, 130.0], {"audit": True}),
        ([100.0, 100.0, 100.0, 130.0], {"failed": ()}),
    ],
)
def test_otherwise_no_single_trial_is_off(
    values: list[float | None], options: dict[str, Any]
) -> None:
    assert off_trial.find(results(latency=values, **options)) is None


def test_every_metric_that_fails_has_to_agree_and_the_farthest_comes_first() -> None:
    far, near = [1.0, 1.0, 1.0, 0.5], [1.0, 1.0, 1.0, 1.1]
    both = ("latency", "energy", "power")
    result = off_trial.find(results(failed=both, power=near, latency=far, energy=near))
    assert result is not None
    assert list(result.away) == ["latency", "power", "energy"]
    other = [0.5, 1.0, 1.0, 1.0]
    assert off_trial.find(results(failed=both, latency=far, energy=other)) is None


def test_three_metrics_are_named_and_the_rest_is_counted() -> None:
    away = {"a": 0.1, "b": -0.2, "c": 0.3, "d": 0.4, "e": 0.5}
    (first, _) = OffTrial(2, 4, away, 0.01).lines
    assert first == (
        "trial 2 is off the mean: a +10.0 %, b -20.0 %, c +30.0 % and 2 more  (limit 5 %)"
    )


def test_the_number_beside_the_limit_is_the_one_that_the_rule_refuses() -> None:
    latency, energy = [100.0] * 4 + [130.0], [1.0] * 4 + [1.1]
    pairs = zip(latency, energy, strict=True)
    trials = [{"latency": one, "energy": other} for one, other in pairs]
    refused = self_consistency_check(trials).reason
    failed = ("latency", "energy")
    result = off_trial.find(results(failed=failed, latency=latency, energy=energy))
    assert result is not None
    assert refused.startswith("latency deviates by +22.6% (limit 5.0%)")
    assert result.lines[0] == (
        "trial 5 is off the mean: latency +22.6 %, energy +7.8 %  (limit 5 %)"
    )


def test_no_trial_is_off_where_another_is_farther_from_the_mean() -> None:
    # Without the first trial, too, the others are within 5 % of their mean.
    result = off_trial.find(results(latency=[105.0, 104.8, 100.0, 100.0, 95.2]))
    assert result is not None
    assert result.number == 5
