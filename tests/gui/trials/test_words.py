# SPDX-License-Identifier: Apache-2.0
"""Trials, verdicts and claims in words."""

from __future__ import annotations

import dataclasses
import math
import re
from pathlib import Path

import pytest

import rig
from gui.trials import words
from gui.trials.words import DotScale
from rig.api.trials.replication import (
    AUDIT,
    REPLICATION,
    SessionTrials,
    session_trials,
    what_if,
)

ENERGY = "energy_infer"


@pytest.fixture(scope="module")
def view(virtual_session: Path) -> SessionTrials:
    return session_trials(rig.open_session(virtual_session))


def test_the_scale_shows_the_band_and_clips_at_its_ends() -> None:
    scale = DotScale(0.2)
    assert scale.place(0.0) == 0.5
    assert scale.place(0.1) == 0.75
    assert scale.place(-3.0) == 0.0
    assert scale.place(math.inf) == 1.0
    assert scale.beyond(0.21) and not scale.beyond(-0.19)
    assert scale.ticks() == pytest.approx((-0.2, -0.1, 0.0, 0.1, 0.2))


def test_the_scale_of_calm_trials_still_shows_the_band(view: SessionTrials) -> None:
    scale = DotScale.of(view.metrics)
    assert 0.05 < scale.shown <= words.SHOWN_MAX


def test_a_value_has_its_interval_whatever_form_that_has(view: SessionTrials) -> None:
    assert re.fullmatch(r"[\d.]+ ± [\d.]+ mJ", words.value(view.of(ENERGY)))
    accuracy = view.of("accuracy")
    assert accuracy.metric.same_samples.expanded_uncertainty is None
    assert re.fullmatch(r"[\d.]+ \([\d.]+ to [\d.]+\)", words.value(accuracy))


def test_the_verdict_of_a_session_is_one_line(view: SessionTrials) -> None:
    assert words.headline(view).startswith("✓ PASS for ")
    assert "Nothing is claimed: every trial is within 5%" in words.judged(
        view.of(ENERGY), view.replication
    )


@pytest.mark.parametrize(
    ("factor", "replication", "audit"),
    [
        (
            1.0,
            "✓ holds: the mean is what is claimed",
            "✓ holds: the mean is what is claimed",
        ),
        (1.2, "✗ does not hold: off by −17 % (limit 5.0 %)", "✓ holds: better by 17 %"),
        (
            0.8,
            "✗ does not hold: off by +25 %",
            "✗ does not hold: worse by 25 % (limit 5.3 %)",
        ),
    ],
)
def test_both_rules_say_what_they_make_of_a_claim(
    view: SessionTrials, factor: float, replication: str, audit: str
) -> None:
    result = what_if(view.results, ENERGY, factor * view.of(ENERGY).mean)
    assert words.outcome(result, REPLICATION, ENERGY).startswith(replication)
    assert words.outcome(result, AUDIT, ENERGY).startswith(audit)


def test_a_claim_that_cannot_be_is_refused_in_words(view: SessionTrials) -> None:
    result = what_if(view.results, "latency_infer", -1.0)
    assert "0 or more" in words.outcome(result, AUDIT, "latency_infer")


def test_the_claims_that_hold_are_reported_with_open_ends() -> None:
    assert words.holds(None, "J") == "no claim would hold"
    assert words.holds((1e-3, 2e-3), "J") == "claims from 1 mJ to 2 mJ hold"
    assert words.holds((-math.inf, 2e-3), "J") == "claims up to 2 mJ hold"
    assert words.holds((1e-3, math.inf), "J") == "claims from 1 mJ on hold"


def test_a_slope_is_a_drift_only_where_it_is_significant(view: SessionTrials) -> None:
    metric = view.of(ENERGY)
    assert "no significant drift" in words.slope(metric)
    calm = metric.drift
    assert calm is not None
    steep = dataclasses.replace(
        calm, relative=0.02, low=0.019, high=0.021, chance=0.001
    )
    result = words.slope(dataclasses.replace(metric, drift=steep))
    assert result == "energy_infer drifts: +2.0 % a trial (+1.9 % to +2.1 %)."
    few = dataclasses.replace(metric, drift=None, dots=metric.dots[:2])
    assert "fewer than 3 valid trials" in words.slope(few)
    assert "No slope is tested" in words.slope(view.of("accuracy"))
