# SPDX-License-Identifier: Apache-2.0
"""The odd one of a few values, and their trend, against known results."""

from __future__ import annotations

import math
import random

import pytest
import scipy  # its statistics are imported where they are used: that takes a second

from rig.stats.few_trials import odd_one, trend

CALM = (10.0, 10.1, 9.9, 10.05, 9.95)


def test_the_value_far_from_the_others_is_the_odd_one() -> None:
    result = odd_one([10.0, 10.1, 9.9, 10.7, 10.0])
    assert result is not None
    assert result.place == 3
    assert result.others == pytest.approx(10.0)
    # Grubbs: G of the fourth value, and what follows from it for t with n - 2 degrees
    # of freedom.
    values = [10.0, 10.1, 9.9, 10.7, 10.0]
    grubbs = (10.7 - sum(values) / 5) / scipy.stats.tstd(values)
    distance = math.sqrt(5 * 3 * grubbs**2 / (4**2 - 5 * grubbs**2))
    assert result.distance == pytest.approx(distance)
    assert result.chance == pytest.approx(5 * 2 * scipy.stats.t.sf(distance, 3))


def test_noise_that_is_known_is_the_least_scatter() -> None:
    values = [10.0, 10.0, 10.0, 10.0, 10.01]
    assert odd_one(values) is None, "nothing scatters, and no noise is known"
    calm = odd_one(values, noise=0.1)
    assert calm is not None
    assert calm.chance == 1.0
    sharp = odd_one(values, noise=0.0001)
    assert sharp is not None
    assert sharp.place == 4
    assert sharp.chance < 0.001


@pytest.mark.parametrize("values", [(1.0, 1.1, 5.0), (1.0, 1.1, 1.2, math.nan), ()])
def test_too_few_or_unknown_values_have_no_odd_one(values: tuple[float, ...]) -> None:
    assert odd_one(values) is None


def test_one_set_in_twenty_is_called_odd_at_five_percent() -> None:
    source = random.Random(7)
    sets = 4000
    called = 0
    for _ in range(sets):
        result = odd_one([source.gauss(3.0, 0.2) for _ in range(5)])
        called += result is not None and result.chance <= 0.05
    # Bonferroni over five values is nearly exact here; 4000 sets tell it to 0.7 points.
    assert 0.035 < called / sets < 0.06


def test_a_trend_is_the_line_of_least_squares_with_student_s_interval() -> None:
    places = [1.0, 2.0, 3.0, 4.0, 5.0]
    values = [1.0, 1.3, 1.38, 1.72, 1.9]
    known = scipy.stats.linregress(places, values)
    result = trend(places, values)
    assert result is not None
    assert result.slope == pytest.approx(known.slope)
    assert result.at_zero == pytest.approx(known.intercept)
    assert result.chance == pytest.approx(known.pvalue)
    half = scipy.stats.t.ppf(0.975, 3) * known.stderr
    assert (result.low, result.high) == pytest.approx(
        (known.slope - half, known.slope + half)
    )


def test_the_interval_of_a_slope_holds_the_true_one_95_times_in_100() -> None:
    source = random.Random(11)
    held = 0
    for _ in range(2000):
        values = [
            2.0 + 0.03 * position + source.gauss(0.0, 0.1) for position in range(5)
        ]
        result = trend(range(5), values)
        assert result is not None
        held += result.low <= 0.03 <= result.high
    assert 0.935 < held / 2000 < 0.965


def test_values_that_do_not_change_have_no_trend() -> None:
    flat = trend(range(5), [2.0] * 5)
    assert flat is not None
    assert flat.slope == 0.0
    assert flat.chance == 1.0
    noisy = trend(range(5), CALM, noise=1.0)
    assert noisy is not None
    assert noisy.low < 0 < noisy.high


def test_two_values_or_one_place_have_no_trend() -> None:
    assert trend([1.0, 2.0], [1.0, 2.0]) is None
    assert trend([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]) is None


@pytest.mark.parametrize(
    ("values", "chance"), [((5.0,) * 5, 1.0), ((1.0, 2.0, 3.0, 4.0, 5.0), 0.0)]
)
def test_values_on_a_line_have_its_slope_without_a_doubt(
    values: tuple[float, ...], chance: float
) -> None:
    result = trend([1.0, 2.0, 3.0, 4.0, 5.0], values)
    assert result is not None
    assert result.slope == result.low == result.high == values[1] - values[0]
    assert result.chance == chance
