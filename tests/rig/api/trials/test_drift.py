# SPDX-License-Identifier: Apache-2.0
"""The odd trial and drifting metrics: of a device that drifts by a known amount, and of
none."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

import rig
from rig.api.trials.drift import CHANCE, drifts, noise_of
from rig.problems import Problem
from rig.results.document import MetricResult, Results, TrialValue
from rig.session.session import open_bench
from tests.conftest import ROOT

FEWER = ["task.asc.samples=12", "scenario.single_stream.idle_s=0.2"]


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Results:
    with open_bench(ROOT / "benches" / "virtual-asc.toml", FEWER) as bench:
        return rig.open_session(
            bench.run(5, tmp_path_factory.mktemp("calm")).folder
        ).results


def test_the_shipped_bench_drifts_in_its_fourth_trial(drifting_session: Path) -> None:
    results = rig.open_session(drifting_session).results
    result = drifts(results)
    item = result.pointed
    assert item is not None
    assert item.trial == 4
    # Power grows linearly by 14 % in the course of the trial: half of that in its mean.
    power = result.odd["power_active"]
    assert power.trial == 4
    assert power.deviation == pytest.approx(0.07, abs=0.006)
    assert result.sentences[0].startswith("Trial 4 is the odd one: +")
    assert not any(row.found for row in result.drifts.values()), (
        "one odd trial is no trend"
    )
    assert not results.replication.ok


def test_of_a_calm_device_nothing_is_reported(calm: Results) -> None:
    result = drifts(calm)
    assert len(result.tested) >= 5
    assert result.pointed is None
    assert result.sentences == ()


def test_a_metric_that_grows_from_trial_to_trial_drifts(calm: Results) -> None:
    name = "energy_total"
    steps = [1 + 0.01 * position for position in range(-2, 3)]
    grown = calm.metrics | {name: _scaled(calm.metrics[name], steps)}
    result = drifts(dataclasses.replace(calm, metrics=grown))
    drift = result.drifts[name]
    assert drift.found
    assert drift.relative == pytest.approx(0.01)
    assert drift.low < drift.relative < drift.high
    assert any("drifts: +" in sentence for sentence in result.sentences)


def test_an_invalid_trial_is_not_tested(calm: Results) -> None:
    name = "energy_total"
    odd = _with(calm, name, [1.0, 1.0, 1.3, 1.0, 1.0])
    assert drifts(odd).pointed is not None
    trials = tuple(
        dataclasses.replace(trial, valid=trial.number != 3) for trial in odd.trials
    )
    problems = (Problem("rule", "by hand", trial=3),)
    invalid = dataclasses.replace(odd, trials=trials, problems=problems)
    assert drifts(invalid).pointed is None


def test_the_noise_of_one_trial_is_that_of_the_mean_times_the_root_of_trials(
    calm: Results,
) -> None:
    metric = calm.metrics["energy_total"]
    random = [
        part.standard_uncertainty**2
        for part in metric.budget
        if part.component != "scatter of trials" and not part.counted
    ]
    assert random, "the scatter of trials counts, and contains the noise"
    assert noise_of(metric) == pytest.approx(sum(random) ** 0.5 * 5**0.5)


def test_a_statement_of_nothing_is_made_once_in_a_hundred_sessions_at_most(
    calm: Results,
) -> None:
    import random

    source = random.Random(3)
    metrics = calm.metrics
    tested = drifts(calm).tested
    sessions = 400
    output = 0
    for _ in range(sessions):
        made = {}
        for name in tested:
            factors = [source.gauss(1.0, 0.02) for _ in range(5)]
            made[name] = _scaled(metrics[name], factors)
        output += drifts(dataclasses.replace(calm, metrics=made)).pointed is not None
    # 400 sessions at 1 %: more than 11 would come by chance once in a thousand such
    # tests.
    assert output <= 11
    assert CHANCE == 0.01


def _with(results: Results, name: str, factors: list[float]) -> Results:
    """Return results with a metric of one trial after the other changed by a factor."""
    metric = results.metrics[name]
    changed = [
        dataclasses.replace(single, value=(single.value or 0.0) * factor)
        for single, factor in zip(metric.per_trial, factors, strict=True)
    ]
    made = dataclasses.replace(metric, per_trial=tuple(changed))
    return dataclasses.replace(results, metrics=results.metrics | {name: made})


def _scaled(metric: MetricResult, factors: list[float]) -> MetricResult:
    values = [
        TrialValue(number, (metric.value or 1.0) * factor, None, None, 1)
        for number, factor in enumerate(factors, start=1)
    ]
    return dataclasses.replace(metric, per_trial=tuple(values))
