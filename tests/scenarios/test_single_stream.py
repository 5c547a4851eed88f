# SPDX-License-Identifier: Apache-2.0
"""What Single-stream makes of a trial: LoadGen's estimate where there is one, and why
not where there is none.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from rig.model.metric import Prominence, Repeatability, Statistic
from rig.model.trial import Measured, Window
from scenarios.single_stream import EARLY_STOPPING, SingleStream
from tests.samples import sample_of

PHASES = ("infer",)


def measured(count: int, repeat: int = 1) -> Measured:
    """Return a trial of `count` samples of 1, 2, 3, ... ms, every tenth answered
    wrongly.
    """
    samples = []
    for number in range(1, count + 1):
        window = Window("infer", number, number + 0.5, number * 1e-3, 1e-3)
        samples.append(
            sample_of(
                number,
                [window],
                repeat=repeat,
                label="a",
                answer="b",
                correct=number % 10 != 0,
            )
        )
    return Measured(tuple(samples), (Window("idle", 0.0, 1.0, 1.0, 0.1),))


def test_from_64_samples_on_there_is_an_estimate_of_the_90th_percentile() -> None:
    scenario = SingleStream(SingleStream.Settings())
    assert scenario.summarise(measured(64), PHASES)[EARLY_STOPPING].value == 64e-3, (
        "of 64 the largest"
    )
    result = scenario.summarise(measured(1000), PHASES)
    assert result["latency_total_p90"].value < result[EARLY_STOPPING].value < 0.95
    assert scenario.absent(measured(1000)) == {}


@pytest.mark.parametrize(
    ("count", "repeat", "reason"),
    [(63, 1, "needs 64 samples, there are 63"), (64, 2, "mean of several runs")],
)
def test_where_there_is_none_the_reason_is_reported_and_nothing_stands_in(
    count: int, repeat: int, reason: str
) -> None:
    scenario = SingleStream(SingleStream.Settings())
    assert EARLY_STOPPING not in scenario.summarise(measured(count, repeat), PHASES)
    assert reason in scenario.absent(measured(count, repeat))[EARLY_STOPPING]


def test_accuracy_is_a_share_with_the_interval_of_its_count() -> None:
    accuracy = SingleStream(SingleStream.Settings()).summarise(measured(120), PHASES)[
        "accuracy"
    ]
    assert (accuracy.value, accuracy.n, accuracy.statistic) == (
        0.9,
        120,
        Statistic.SHARE,
    )
    low, high = accuracy.interval
    assert low < 0.9 < high and high - 0.9 < 0.9 - low, "towards 1 there is less room"


def test_totals_are_headlines_and_percentiles_and_parts_are_details_that_no_trial_repeats():
    metrics = SingleStream(SingleStream.Settings()).summarise(measured(64), PHASES)
    of: dict[Prominence, list[str]] = {prominence: [] for prominence in Prominence}
    for name, metric in metrics.items():
        of[metric.prominence].append(name)
    assert of[Prominence.HEADLINE] == [
        "accuracy", "latency_total", "power_active", "energy_total", "energy_dynamic",
    ]  # fmt: skip
    assert of[Prominence.MAIN] == [
        "latency_infer",
        "power_idle",
        "power_dynamic",
        "energy_infer",
    ]
    coarse = [
        name for name in metrics if metrics[name].repeatability is Repeatability.COARSE
    ]
    assert coarse == [
        name for name in metrics if metrics[name].statistic is Statistic.PERCENTILE
    ]
    assert (
        EARLY_STOPPING in coarse and "latency_total_p99" in coarse and len(coarse) == 7
    )
    assert [name for name in metrics if metrics[name].budget_shown] == [
        "latency_total", "power_idle", "power_active", "power_dynamic", "energy_total",
        "energy_dynamic",
    ]  # fmt: skip


def test_a_variation_has_the_same_values_and_counts_as_the_trial() -> None:
    scenario = SingleStream(SingleStream.Settings())
    lost = Window("infer", 70.0, 70.5, 70e-3, None)
    trial = measured(80)
    without_energy = replace(trial.samples[5], windows=(lost,))
    trial = replace(trial, samples=(*trial.samples, without_energy))
    whole = scenario.summarise(trial, PHASES)
    varied = scenario.summarise_variation(trial, PHASES)
    assert list(varied) == list(whole)
    for name, metric in whole.items():
        known = replace(metric, standard_error=varied[name].standard_error)
        assert varied[name] == known, name
