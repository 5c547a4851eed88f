# SPDX-License-Identifier: Apache-2.0
"""Integrals of sums against exact fractions, and what stands in for a lost end."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.trace.integral import EndPower, integral_of, seen
from rig.trace.integrate import Sums

ENDS = (EndPower(0.1, 0.2), EndPower(0.3, 0.4))
SUM = st.integers(-1000, 1000)


def sums_of(columns: list[tuple[int, int, int]], least_w: float, most_w: float) -> Sums:
    """Return sums with a column (W, A, V) for each range, and one for beyond."""
    sums = Sums([10.0**power for power in range(len(columns) - 1)])
    sums.sums = np.array(columns, dtype=np.float64).T
    sums.least_w, sums.most_w = least_w, most_w
    return sums


@given(
    columns=st.lists(st.tuples(SUM, SUM, SUM), min_size=1, max_size=4),
    samples=st.integers(2, 500),
    lost=st.integers(0, 400),
    sample_hz=st.sampled_from([3, 50, 1000]),
)
def test_sums_over_the_rate_are_integrals_and_the_mean_stands_in_for_lost_samples(
    columns: list[tuple[int, int, int]], samples: int, lost: int, sample_hz: int
) -> None:
    lost = min(lost, samples - 1)
    sums = sums_of(columns, -1.5, 7.0)
    result = integral_of(
        sums, (1.0, 3.5), samples=samples, lost=lost, sample_hz=sample_hz, ends=ENDS
    )
    # A mean over those that were not lost lasts as long as the whole window.
    each_s = Fraction(samples, samples - lost) / sample_hz
    joules = [column[0] * each_s for column in columns]
    coulombs = [column[1] * each_s for column in columns]
    volt_s = [column[2] * each_s for column in columns]
    if len(columns) > 1:
        # The last range has the values beyond it too.
        assert result.beyond_j == pytest.approx(float(joules[-1]), rel=1e-12)
        for row in (joules, coulombs, volt_s):
            row[-2:] = [row[-2] + row[-1]]
    else:
        assert result.beyond_j == 0.0
    for parts, exact in (
        (result.range_energy_j, joules),
        (result.range_charge_c, coulombs),
        (result.range_volt_s, volt_s),
    ):
        assert parts == pytest.approx([*map(float, exact)], rel=1e-12, abs=1e-9)
    assert result.energy_j == pytest.approx(float(sum(joules)), rel=1e-12, abs=1e-9)
    assert result.charge_c == pytest.approx(float(sum(coulombs)), rel=1e-12, abs=1e-9)
    assert result.volt_s == pytest.approx(float(sum(volt_s)), rel=1e-12, abs=1e-9)
    assert result.lost_s == pytest.approx(lost / sample_hz)
    assert (result.start_s, result.stop_s, result.duration_s) == (1.0, 3.5, 2.5)
    assert (result.least_w, result.most_w, result.ends) == (-1.5, 7.0, ENDS)
    assert (result.stepped, result.cut, result.apart_j) == (False, (True, True), (0, 0))


@pytest.mark.parametrize(
    ("inside_w", "least_w", "most_w", "farthest_w"),
    [
        (2.0, 1.0, 5.0, 5.0),
        (4.0, 1.0, 5.0, 1.0),
        (-3.0, -9.0, 2.5, -9.0),
        (-3.0, -8.0, 2.5, 2.5),
        (2.0, 2.0, 2.0, 2.0),
        (2.0, math.inf, -math.inf, 2.0),
    ],
)
def test_where_the_sample_outside_was_lost_the_farthest_power_stands_in(
    inside_w: float, least_w: float, most_w: float, farthest_w: float
) -> None:
    sums = sums_of([(0, 0, 0)], least_w, most_w)
    assert seen(EndPower(math.nan, inside_w), sums) == (farthest_w, inside_w)
    assert seen(EndPower(1.25, inside_w), sums) == (1.25, inside_w)


def test_an_end_without_any_power_stays_without() -> None:
    sums = sums_of([(0, 0, 0)], 1.0, 2.0)
    result = seen(EndPower(math.nan, math.nan), sums)
    assert math.isnan(result.outside_w)
    assert math.isnan(result.inside_w)
