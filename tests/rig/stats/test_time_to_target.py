# SPDX-License-Identifier: Apache-2.0
"""How often and how quickly a target is reached, where some attempts never got
there."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.stats.time_to_target import Attempt, quantile, success, time_to_solution_s
from tests.length import length


def reached(*times_s: float) -> list[Attempt]:
    return [Attempt(time_s, True) for time_s in times_s]


def test_the_median_and_its_interval_are_the_order_statistics_that_tables_name():
    # 95 % intervals of a median by ranks (Conover, Practical Nonparametric Statistics,
    # table A3): n = 6: 1 and 6, n = 10: 2 and 9.
    for n, ranks in ((6, (1, 6)), (10, (2, 9)), (20, (6, 15)), (30, (10, 21))):
        result = quantile(reached(*range(1, n + 1)), 0.5)
        assert (result.low_s, result.high_s) == ranks, n
        assert result.value_s == n // 2


def test_five_attempts_bound_a_median_from_no_side_for_certain() -> None:
    result = quantile(reached(1, 2, 3, 4, 5), 0.5)
    assert (result.value_s, result.low_s, result.high_s) == (3, 0.0, math.inf)


def test_attempts_that_ended_at_their_limit_leave_the_median_where_it_can_be_reported():
    attempts = reached(*range(1, 13)) + [Attempt(100.0, False)] * 8
    result = quantile(attempts, 0.5)
    assert (result.value_s, result.low_s, result.high_s) == (10, 6, math.inf)
    assert success(attempts).count == 12


def test_where_most_did_not_reach_the_target_there_is_a_lower_end_alone() -> None:
    result = quantile(reached(1.0) + [Attempt(10.0, False)] * 9, 0.5)
    assert (result.value_s, result.low_s, result.high_s) == (None, 10.0, math.inf)


def test_an_attempt_ended_early_among_quick_ones_makes_the_value_unknown_and_not_larger():
    attempts = [*reached(*range(1, 10)), Attempt(0.5, False)]
    result = quantile(attempts, 0.5)
    assert result.value_s is None
    whole = [
        quantile(reached(*range(1, 10), late_s), 0.5) for late_s in (0.6, 4.5, 99.0)
    ]
    assert all(
        result.low_s <= item.low_s and item.high_s <= result.high_s for item in whole
    )


@given(
    st.lists(st.floats(0.1, 50.0), min_size=1, max_size=40),
    st.floats(0.5, 60.0),
    st.sampled_from([0.1, 0.5, 0.9]),
)
@settings(max_examples=length(100, 40))
def test_a_limit_only_widens_the_interval(
    times_s: list[float], limit_s: float, share: float
) -> None:
    free = quantile(reached(*times_s), share)
    cut = quantile(
        [Attempt(min(time_s, limit_s), time_s <= limit_s) for time_s in times_s], share
    )
    assert cut.low_s <= free.low_s and free.high_s <= cut.high_s
    assert cut.value_s in (None, free.value_s)


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_the_interval_holds_the_quantile_95_times_in_100_also_of_what_was_cut_off(
    share: float,
) -> None:
    draw = random.Random(3)
    true_s = -math.log(1 - share)
    runs = 1500
    held = 0
    for _ in range(runs):
        times_s = [draw.expovariate(1.0) for _ in range(45)]
        limits_s = [draw.uniform(0.5, 5.0) for _ in times_s]
        attempts = [
            Attempt(min(t, limit), t <= limit)
            for t, limit in zip(times_s, limits_s, strict=True)
        ]
        result = quantile(attempts, share)
        held += result.low_s <= true_s <= result.high_s
    assert held >= 0.94 * runs


def test_no_attempts_are_no_result() -> None:
    with pytest.raises(ValueError, match="no attempts"):
        quantile([], 0.5)


def test_the_time_to_solution_is_that_of_as_many_repeats_as_are_needed() -> None:
    assert time_to_solution_s(2.0, 0.9) == pytest.approx(4.0), (
        "one of two attempts fails with 1 % each"
    )
    assert time_to_solution_s(2.0, 0.5) == pytest.approx(
        2 * math.log(100) / math.log(2)
    )
    assert [time_to_solution_s(2.0, share) for share in (0.0, 0.995, 1.0)] == [
        math.inf,
        2.0,
        2.0,
    ]
