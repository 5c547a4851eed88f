# SPDX-License-Identifier: Apache-2.0
"""The gap has the sign that the rules mean."""

from __future__ import annotations

import pytest

from scenarios.common.cost_gap import CostGap, threshold_cost


def test_a_worse_cost_has_a_positive_gap_although_the_printed_formula_says_otherwise():
    worse = CostGap(-9, -10)
    better = CostGap(-11, -10)
    assert (worse.gap, worse.printed, worse.beaten) == (
        pytest.approx(0.1),
        pytest.approx(-0.1),
        False,
    )
    assert (better.gap, better.printed, better.beaten) == (
        pytest.approx(-0.1),
        pytest.approx(0.1),
        True,
    )


def test_doing_nothing_is_a_gap_of_one_and_not_of_minus_one() -> None:
    assert (CostGap(0, -10).gap, CostGap(0, -10).printed) == (1.0, -1.0)


def test_against_a_target_of_zero_only_zero_has_a_gap() -> None:
    assert (CostGap(0, 0).gap, CostGap(0, 0).printed) == (0.0, 0.0)
    assert (CostGap(7, 0).gap, CostGap(7, 0).printed) == (None, None)
    assert CostGap(-1, 0).beaten


@pytest.mark.parametrize(
    ("target", "gap", "expected"),
    [
        (-10, 0.1, -9),
        (-9, 0.1, -9),
        (-20, 0.05, -19),
        (-19, 0.05, -19),
        (-100, 0.01, -99),
        (-99, 0.01, -99),
        (0, 0.1, 0),
        (-30, 0.1, -27),
    ],
)
def test_thresholds_are_the_highest_integer_costs_within_the_gap(
    target: int, gap: float, expected: int
) -> None:
    assert threshold_cost(target, gap) == expected
