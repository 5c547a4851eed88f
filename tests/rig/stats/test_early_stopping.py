# SPDX-License-Identifier: Apache-2.0
"""LoadGen's early stopping: its published numbers of queries, and its rule in whole
numbers."""

from __future__ import annotations

import math
import random

import pytest

from rig.stats.early_stopping import discardable, estimate, needed


def by_whole_numbers(n: int, percent: int) -> int:
    """Return the largest t for which 100 times the chance of t or fewer of n above the
    percentile is at most 1.
    """
    total = 0
    result = -1
    for t in range(n + 1):
        total += math.comb(n, t) * (100 - percent) ** t * percent ** (n - t)
        if 100 * total > 100**n:
            break
        result = t
    return max(result, 0)


def test_64_queries_give_a_90th_percentile_and_662_a_99th() -> None:
    # MLPerf inference rules: the minimum query counts of Single-stream and
    # Multi-stream.
    assert (needed(90.0), needed(99.0)) == (64, 662)
    assert [discardable(n, 90.0) for n in (44, 63, 64)] == [0, 0, 1]
    assert [discardable(n, 99.0) for n in (661, 662)] == [0, 1]


@pytest.mark.parametrize("percent", [50, 90, 97, 99])
@pytest.mark.parametrize("n", [1, 2, 10, 63, 64, 65, 100, 661, 662, 1000, 2500])
def test_what_may_be_left_out_is_what_whole_numbers_say(n: int, percent: int) -> None:
    assert discardable(n, float(percent)) == by_whole_numbers(n, percent)


def test_the_estimate_is_the_so_many_th_largest_value_in_any_order() -> None:
    values = [float(value) for value in range(1, 1001)]
    random.Random(1).shuffle(values)
    t = discardable(1000, 90.0)
    assert estimate(values, 90.0) == 1001 - t
    assert sum(value >= 1001 - t for value in values) == t < 100, (
        "less is left out than lies above the percentile of these"
    )


def test_too_few_have_no_estimate_and_just_enough_have_their_largest() -> None:
    values = [float(value) for value in range(64)]
    assert estimate(values[:63], 90.0) is None
    assert estimate(values, 90.0) == 63.0
    assert estimate([], 90.0) is None


def test_the_estimate_is_below_the_true_percentile_once_in_a_hundred_times_or_less():
    draw = random.Random(7)
    runs = 2000
    n = 200
    true = -math.log(0.1)
    low = 0
    for _ in range(runs):
        result = estimate([draw.expovariate(1.0) for _ in range(n)], 90.0)
        assert result is not None
        low += result < true
    # Once in a hundred times would be 20 of 2000; 40 or more would happen by chance
    # less than once in 10,000 times.
    assert 0 < low < 40
