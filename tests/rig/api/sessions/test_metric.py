# SPDX-License-Identifier: Apache-2.0
"""Comparisons of a metric with a limit know its interval."""

from __future__ import annotations

import dataclasses
import math

import pytest

from rig.api.sessions.metric import Metrics, SessionMetric
from rig.stats.interval import Interval

AROUND = Interval.around(621e-6, 0.8e-6, 2.0, "GUM", "5 trials")


def metric(same: Interval = AROUND, other: Interval = AROUND) -> SessionMetric:
    return SessionMetric(
        "energy",
        621e-6,
        "J",
        0.8e-6,
        same_samples=same,
        other_samples=other,
        per_trial=(621e-6,) * 5,
        verdict=True,
        higher_is_better=False,
    )


@pytest.mark.parametrize(
    ("limit", "below", "surely", "possibly"),
    [
        (630e-6, True, True, True),
        (622e-6, True, False, True),
        (620e-6, False, False, True),
        (619e-6, False, False, False),
    ],
)
def test_below(limit: float, below: bool, surely: bool, possibly: bool) -> None:
    assert (metric() < limit) is below
    assert bool(metric().surely_below(limit)) is surely
    assert bool(metric().possibly_below(limit)) is possibly


@pytest.mark.parametrize(
    ("limit", "above", "surely", "possibly"),
    [
        (619e-6, True, True, True),
        (620e-6, True, False, True),
        (622e-6, False, False, True),
        (630e-6, False, False, False),
    ],
)
def test_above(limit: float, above: bool, surely: bool, possibly: bool) -> None:
    assert (metric() > limit) is above
    assert bool(metric().surely_above(limit)) is surely
    assert bool(metric().possibly_above(limit)) is possibly


def test_the_text_has_value_interval_and_verdict_in_one_line() -> None:
    assert (
        repr(metric().surely_below(620e-6))
        == "not surely below 620 µJ: energy = 621 µJ, 619.4 to 622.6 µJ measured again,"
        " PASS"
    )


def test_the_other_interval_is_taken_where_it_is_named() -> None:
    wide = metric(other=Interval(500e-6, 700e-6, "jackknife"))
    assert wide.surely_below(630e-6)
    assert not wide.surely_below(630e-6, "other_samples")
    with pytest.raises(ValueError, match="same_samples"):
        wide.surely_below(630e-6, "both")


def test_without_an_interval_no_value_is_shown() -> None:
    unknown = metric(Interval.missing("one trial"))
    assert not unknown.surely_below(1.0)
    assert not unknown.possibly_below(1.0)
    assert "one trial" in repr(unknown.surely_below(1.0))


def test_a_printed_metric_says_why_its_interval_for_other_samples_is_missing() -> None:
    printed = str(metric(other=Interval.missing("2 cities")))
    assert printed == "energy = 621.0 ± 1.6 µJ, for other samples not known: 2 cities"
    unknown = metric(Interval.missing("it needs 368 samples"))
    assert "measured again not known: it needs 368 samples, " in str(unknown)
    both = metric(Interval(610e-6, 640e-6, "ranks"), Interval(550e-6, math.inf, "G"))
    assert (
        str(both)
        == "energy = 621 µJ, 610 to 640 µJ measured again, for other samples at least"
        " 550 µJ"
    )


def test_a_bound_on_one_side_shows_that_side() -> None:
    bound = metric(Interval(-math.inf, 650e-6, "bound"))
    assert bound.surely_below(700e-6)
    assert not bound.surely_above(1e-6)
    assert "at most 650 µJ" in repr(bound)


def test_a_metric_that_is_not_there_is_reported_with_its_reason() -> None:
    metrics = Metrics({"energy": metric()}, {"energy_p99": "trial 1: needs 368"})
    with pytest.raises(KeyError, match="did you mean energy"):
        metrics["enrgy"]
    with pytest.raises(KeyError, match="needs 368"):
        metrics["energy_p99"]
    assert "energy" in metrics and list(metrics) == ["energy"]


def test_a_metric_is_formatted_as_a_number() -> None:
    assert f"{metric():.3e}" == "6.210e-04"
    assert f"{metric()}" == repr(metric())


def test_labels_stand_beside_the_number() -> None:
    marked = dataclasses.replace(metric(), labels=("SIMULATED", "SUBSET"))
    assert repr(marked).endswith(" (SIMULATED, SUBSET)")
    assert "(" not in repr(metric())
    table = Metrics({"energy": marked}, {}).table
    assert table.attrs["labels"] == ("SIMULATED", "SUBSET")
    row = table.loc["energy"]
    assert (row["value"], row["unit"], row["verdict"]) == (621e-6, "J", "PASS")
    assert (row["same_low"], row["other_high"]) == (AROUND.low, AROUND.high)
