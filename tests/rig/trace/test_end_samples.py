# SPDX-License-Identifier: Apache-2.0
"""Shares and powers of samples at the ends of windows, with a number for each sample
that tells which one was taken."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.trace.end_samples import (
    EndSample,
    ends_by_fraction,
    ends_by_neighbour,
    of_window,
)
from rig.trace.integral import EndPower
from rig.trace.samples import Around

LENGTH = 20
#: Sample k has a current of k**2 + 1 and a voltage of 2.
CURRENT = np.arange(LENGTH, dtype=np.float32) ** 2 + 1
VOLTAGE = np.full(LENGTH, 2.0, np.float32)


def power_w(k: int) -> float:
    return 2.0 * (k**2 + 1)


def around(at: float, current: np.ndarray = CURRENT) -> Around:
    base = max(math.floor(at) - 2, 0)
    stop = math.floor(at) + 3
    return Around(base, current[base:stop].tolist(), VOLTAGE[base:stop].tolist())


@given(start=st.floats(0, 18), length=st.floats(0.01, 1.99))
def test_fractions_of_the_first_and_last_sample_leave_the_integral_over_the_window(
    start: float, length: float
) -> None:
    stop = min(start + length, float(LENGTH))
    first, last = math.floor(start), math.ceil(stop)
    shares = ends_by_fraction((around(start), around(stop - 1)), (start, stop), 0, 0)
    assert shares == []
    near = (around(start), around(last - 1))
    shares = ends_by_fraction(near, (start, stop), first, last)
    taken_j = sum(each.current_a * each.voltage_v * each.share for each in shares)
    found_j = sum(power_w(k) for k in range(first, last)) + taken_j
    exact_j = sum(
        power_w(k) * max(min(stop, k + 1) - max(start, k), 0.0) for k in range(LENGTH)
    )
    assert found_j == pytest.approx(exact_j, abs=1e-6)


@pytest.mark.parametrize("cut", [(True, True), (True, False), (False, True)])
def test_what_is_cut_counts_with_the_reading_of_its_neighbour_inside(
    cut: tuple[bool, bool],
) -> None:
    start, stop = 5.25, 11.125
    result = ends_by_neighbour((around(start), around(stop)), (start, stop), 5, 12, cut)
    expected = []
    if cut[0]:
        # Three quarters of sample 5 are inside, at the reading of sample 6.
        expected.append((37.0, 2.0, 0.75))
    if cut[1]:
        # An eighth of sample 11 is inside, at the reading of sample 10.
        expected.append((101.0, 2.0, 0.125))
    assert [tuple(share) for share in result] == expected


def test_powers_beside_ends_without_a_step_are_those_of_the_next_samples() -> None:
    result = of_window((around(5.25), around(11.5)), (5.25, 11.5), LENGTH, False)
    assert result == (
        EndSample(EndPower(power_w(4), power_w(6))),
        EndSample(EndPower(power_w(12), power_w(10))),
    )
    whole = of_window((around(0.5), around(19.5)), (0.5, 19.5), LENGTH, False)
    assert whole == (
        EndSample(EndPower(power_w(0), power_w(1))),
        EndSample(EndPower(power_w(19), power_w(18))),
    )


def test_a_cut_sample_differs_by_what_its_neighbours_do_not_explain() -> None:
    start, stop = 5.25, 11.125
    before, behind = of_window(
        (around(start), around(stop)), (start, stop), LENGTH, True
    )
    assert before.power == (power_w(4), power_w(6))
    # Sample 5 reads 52 W; a quarter of it has 34 W, three quarters have 74 W.
    assert before.apart_w == pytest.approx(52 - 34 / 4 - 74 * 3 / 4)
    assert behind.power == (power_w(12), power_w(10))
    # Sample 11 reads 244 W; an eighth of it has 202 W, the rest 290 W.
    assert behind.apart_w == pytest.approx(244 - 202 / 8 - 290 * 7 / 8)


def test_an_end_on_a_border_compares_whole_samples() -> None:
    before, behind = of_window((around(5.0), around(11.0)), (5.0, 11.0), LENGTH, True)
    assert before == EndSample(EndPower(power_w(3), power_w(6)), 52.0 - 74.0)
    assert behind == EndSample(EndPower(power_w(12), power_w(9)), 202.0 - 164.0)


def test_beside_lost_samples_and_ends_of_the_trace_no_power_outside_is_taken() -> None:
    current = CURRENT.copy()
    current[4] = np.nan
    lost, _ = of_window(
        (around(5.25, current), around(11.0)), (5.25, 11.0), LENGTH, True
    )
    assert math.isnan(lost.power.outside_w)
    assert lost.apart_w == pytest.approx(52 - 52 / 4 - 74 * 3 / 4)
    current[6] = np.nan
    unknown, _ = of_window(
        (around(5.25, current), around(11.0)), (5.25, 11.0), LENGTH, True
    )
    assert unknown.apart_w == 0.0
    first, last = of_window((around(0.5), around(19.5)), (0.5, 19.5), LENGTH, True)
    assert first.power == (power_w(0), power_w(1))
    assert first.apart_w == pytest.approx(2 / 2 - 4 / 2)
    assert last.power == (power_w(19), power_w(18))
    assert last.apart_w == pytest.approx((724 - 650) / 2)
