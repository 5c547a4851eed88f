# SPDX-License-Identifier: Apache-2.0
"""Residuals of a straight line at a bend that is too faint to be fitted."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rig.timebase.residual_drift import unseen

RESOLUTION_S = 5e-6


def test_a_parabola_is_reported_with_its_size_and_its_rate() -> None:
    x = np.linspace(1000.0, 3000.0, 4001)
    position = (x - 2000) / 1000
    bend_s = 4e-6 * (position**2 - np.mean(position**2))
    offset_s, rate = unseen(x, bend_s, RESOLUTION_S)
    # Of a parabola from -1 to 1 the mean square is 4/45, and that of its slope 4/3.
    assert offset_s == pytest.approx(4e-6 * math.sqrt(4 / 45), rel=0.01)
    assert rate == pytest.approx(4e-6 * math.sqrt(4 / 3) / 1000, rel=0.01)


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_so_are_up_to_three_turns(turns: int) -> None:
    x = np.linspace(0.0, 1.0, 4001)
    offset_s, rate = unseen(x, 4e-6 * np.cos(2 * np.pi * turns * x), RESOLUTION_S)
    assert offset_s == pytest.approx(4e-6 / math.sqrt(2), rel=0.03)
    assert rate == pytest.approx(4e-6 * 2 * np.pi * turns / math.sqrt(2), rel=0.1)


def test_the_rate_is_that_between_the_points_and_not_that_of_the_pause_between_two_clusters():
    x = np.concatenate([np.linspace(0.0, 2.0, 2000), np.linspace(58.0, 60.0, 2000)])
    bend_s = 4e-6 * np.sin(2 * np.pi * x / 20)
    bend_s -= np.polyval(np.polyfit(x, bend_s, 1), x)
    slopes = np.diff(bend_s) / np.diff(x)
    _, rate = unseen(x, bend_s, RESOLUTION_S)
    assert rate == pytest.approx(math.sqrt(np.mean(slopes**2)), rel=0.1)


@pytest.mark.parametrize("noise_resolutions", [0.0, 10.0])
def test_of_noise_less_is_taken_for_a_bend_than_it_leaves_of_the_line_itself(
    noise_resolutions: float,
) -> None:
    random = np.random.default_rng(3)
    count = 200
    result = []
    for _ in range(500):
        off_s = (
            random.uniform(-0.5, 0.5, count)
            + noise_resolutions * random.normal(0, 1, count)
        ) * RESOLUTION_S
        result.append(
            unseen(np.sort(random.uniform(0, 9, count)), off_s, RESOLUTION_S)[0]
        )
    # A straight line is known to two of these squares at its points, root mean square:
    # one for its place, one for its slope.
    edge_s2 = (1 / 12 + noise_resolutions**2) * RESOLUTION_S**2 / count
    assert 0 < np.mean(np.square(result)) < 0.7 * edge_s2


@pytest.mark.parametrize(
    ("points", "resolution_s"), [(7, RESOLUTION_S), (2, RESOLUTION_S), (100, 0.0)]
)
def test_with_few_points_or_no_resolution_there_is_no_statement(
    points: int, resolution_s: float
) -> None:
    x = np.arange(float(points))
    assert unseen(x, 1e-3 * x**2, resolution_s) == (0.0, 0.0)


def test_marks_at_two_places_only_tell_of_no_bend() -> None:
    x = np.repeat([0.0, 1e6], 20)
    assert unseen(x, np.tile([-1e-4, 1e-4], 20), RESOLUTION_S) == (0.0, 0.0)
