# SPDX-License-Identifier: Apache-2.0
"""Coverage factors against tables and drawing; and whether the rig's 95 % intervals hold the truth of the virtual bench."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.interval_coverage import experiment
from rig.coverage import coverage_factor


@pytest.mark.parametrize(
    ("components", "expected"),
    [
        ([(1.0, "normal")], 1.960),
        ([(1.0, "rectangular")], 1.645),
        # Two equal rectangles make a triangle of half-width 2 sqrt(3) u, 95 % of which lie within 1 - sqrt(0.05) of it.
        ([(1.0, "rectangular"), (1.0, "rectangular")], 2 * math.sqrt(3) * (1 - math.sqrt(0.05)) / math.sqrt(2)),
        ([(1.0, "t4")], 2.776),
        ([(1.0, "t3")], 3.182),
        ([(1.0, "t2")], 4.303),
        ([(1.0, "t9")], 2.262),
        ([(3.0, "normal"), (4.0, "normal")], 1.960),
        ([(1e-6, "normal"), (1.0, "rectangular")], 1.645),
        ([(1.0, "normal"), (1e-6, "t4")], 1.960),
    ],
)
def test_known_distributions_have_their_known_factors(components: list[tuple[float, str]], expected: float) -> None:
    assert coverage_factor(components) == pytest.approx(expected, rel=3e-3)


def test_two_trials_alone_need_more_than_twelve_standard_errors() -> None:
    assert coverage_factor([(1.0, "t1")]) == pytest.approx(12.7, rel=0.03)


def test_mixtures_agree_with_drawing() -> None:
    random = np.random.default_rng(5)
    drawn = (
        random.standard_t(4, 1_000_000) * 0.7 + random.uniform(-1, 1, 1_000_000) * math.sqrt(3) + random.normal(0, 0.5, 1_000_000)
    )
    expected = float(np.quantile(np.abs(drawn), 0.95)) / math.hypot(0.7, 1.0, 0.5)
    assert coverage_factor([(0.7, "t4"), (1.0, "rectangular"), (0.5, "normal")]) == pytest.approx(expected, rel=5e-3)


@given(st.lists(st.tuples(st.floats(1e-9, 1e3), st.sampled_from(["normal", "rectangular", "t4"])), min_size=1, max_size=6))
@settings(max_examples=40, deadline=None)
def test_any_budget_has_a_factor_about_those_of_its_shapes(components: list[tuple[float, str]]) -> None:
    # Two equal Student t of 4 degrees of freedom have 2.79, a little more than one.
    assert 1.64 <= coverage_factor(components) <= 2.80


def test_a_budget_of_nothing_has_a_factor_all_the_same() -> None:
    assert coverage_factor([]) == coverage_factor([(0.0, "normal")]) == 2.0


def test_the_intervals_of_forty_virtual_runs_hold_the_truth_about_as_often_as_they_say() -> None:
    inside = {name: share for name, share, _, _ in experiment(40)}
    # Of 40 runs with 95 % each, fewer than 33 inside happen once in 4000 times; the benchmark runs a thousand.
    assert all(share >= 33 / 40 for share in inside.values()), inside


@pytest.mark.parametrize(("scenario", "runs", "least"), [("real-time", 10, 7), ("optimization", 20, 15)])
def test_so_do_those_of_streams_and_searches(scenario: str, runs: int, least: int) -> None:
    inside = {name: share for name, share, _, _ in experiment(runs, scenario)}
    # Fewer happen once in 1000 and in 3000 times; the benchmark runs a thousand.
    assert all(share >= least / runs for share in inside.values()), inside


def test_an_instrument_worse_than_it_says_is_seen_by_the_same_experiment() -> None:
    inside = {name: share for name, share, _, _ in experiment(20, worse=4.0)}
    assert inside["energy_total"] < 33 / 40 and inside["power_active"] < 33 / 40, inside
    assert inside["latency_total"] >= 16 / 20, inside
