# SPDX-License-Identifier: Apache-2.0
"""What holds of both intervals of any values: one contains the other, and neither
depends on units or on the order of searches.
"""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.stats import containing
from rig.stats.containing import Variance
from rig.stats.interval import Interval, Intervals
from rig.stats.share_mean import ShareRange
from scenarios.optimization.mean_interval import ValueKind
from scenarios.optimization.values import Value, of_mean
from tests.length import length

COST = ShareRange(0.0, 1.0)
NO_END = ShareRange(0.0, math.inf)
#: Four workloads with five searches each, many of them at the bound.
TABLES = st.lists(
    st.lists(
        st.one_of(st.just(0.0), st.floats(1e-6, 0.9), st.sampled_from([0.01, 0.02])),
        min_size=5,
        max_size=5,
    ),
    min_size=4,
    max_size=4,
)
KINDS = st.sampled_from(
    [
        (ValueKind.SKEWED, COST),
        (ValueKind.SKEWED, NO_END),
        (ValueKind.SKEWED, None),
        (ValueKind.SHARE, None),
        (ValueKind.ANY, None),
    ]
)


def values(
    table: list[list[float]],
    bounds: ShareRange | None,
    factor: float = 1.0,
    cells: int = 1,
) -> list[Value]:
    values = []
    for workload, row in enumerate(table):
        for seed, value in enumerate(row):
            values.append(
                Value(
                    trial=seed,
                    cell=f"cell{workload % cells}",
                    workload=workload,
                    seed=seed,
                    value=value * factor,
                    low=value * factor,
                    high=value * factor,
                    bounds=bounds,
                )
            )
    return values


def both(found: Intervals) -> tuple[float, ...]:
    same, other = found.same_samples, found.other_samples
    return same.low, same.high, other.low, other.high


def contains(outer: Interval, inner: Interval) -> bool:
    rounding = 1e-8 * max(abs(inner.low), 1e-3)
    return outer.low <= inner.low + rounding and inner.high <= outer.high + rounding


@given(TABLES, KINDS)
@settings(max_examples=length(300, 80))
def test_the_interval_for_other_workloads_contains_that_for_the_same_ones_and_the_mean(
    table: list[list[float]], kind: tuple[ValueKind, ShareRange | None]
) -> None:
    all_of = values(table, kind[1])
    result = of_mean(all_of, kind[0])
    if not result.same_samples.known:
        assert kind[0] is ValueKind.ANY and "equal" in result.same_samples.reason
        return
    at = math.fsum(item.value for item in all_of) / len(all_of)
    assert result.same_samples.low <= at * (
        1 + 1e-8
    ) and at <= result.same_samples.high * (1 + 1e-8)
    assert contains(result.other_samples, result.same_samples)


@given(TABLES, KINDS, st.randoms(use_true_random=False))
@settings(max_examples=length(100, 40))
def test_the_order_of_searches_has_no_effect(
    table: list[list[float]],
    kind: tuple[ValueKind, ShareRange | None],
    random: st.DrawFn,
) -> None:
    all_of = values(table, kind[1])
    mixed = list(all_of)
    random.shuffle(mixed)
    expected = both(of_mean(all_of, kind[0]))
    assert both(of_mean(mixed, kind[0])) == pytest.approx(
        expected, rel=1e-6, nan_ok=True
    )


@given(TABLES)
@settings(max_examples=length(100, 40))
def test_times_in_another_unit_have_the_same_interval_in_that_unit(
    table: list[list[float]],
) -> None:
    expected = [
        end * 1024 for end in both(of_mean(values(table, NO_END), ValueKind.SKEWED))
    ]
    result = both(of_mean(values(table, NO_END, 1024), ValueKind.SKEWED))
    assert result == pytest.approx(expected, rel=1e-7)


@given(
    st.floats(1e-6, 1e3), st.floats(1e-6, 1e3), st.integers(1, 40), st.integers(1, 40)
)
@settings(max_examples=length(100, 40))
def test_a_half_width_for_other_workloads_is_never_narrower(
    same: float, other: float, freedom: int, between: int
) -> None:
    within = Variance(same, float(freedom))
    assert (
        containing.half_width(within, Variance(other, float(between)))
        >= within.half_width
    )


@given(st.floats(0.1, 0.9), st.sampled_from([ValueKind.SKEWED, ValueKind.SHARE]))
def test_values_that_are_all_equal_have_the_exact_interval_of_a_count(
    value: float, kind: ValueKind
) -> None:
    result = of_mean(values([[value] * 5] * 4, COST), kind)
    share = 1 - 0.025 ** (1 / 20)
    assert both(result)[:2] == pytest.approx(
        (value * (1 - share), value + share * (1 - value)), rel=1e-6, abs=1e-12
    )
    share = 1 - 0.025 ** (1 / 4)
    assert result.other_samples.high == pytest.approx(
        value + share * (1 - value), rel=1e-6
    )


def test_what_is_withheld_depends_on_the_numbers_of_searches_only() -> None:
    tables = (
        [[0.0, 0.1], [0.1, 0.3]],
        [[0.0, 0.0], [0.0, 0.0]],
        [[0.5, 0.5], [0.1, 0.2]],
    )
    for table in tables:
        result = of_mean(values(table, COST), ValueKind.SKEWED)
        assert "2 searches of each of 2 workloads" in result.same_samples.reason
        assert "not known: 2 workloads a cell" in result.other_samples.reason
    eight = [[0.0, 0.1, 0.2, 0.0, 0.1]] * 6
    assert (
        "3 workloads"
        not in of_mean(
            values(eight, COST, cells=2), ValueKind.SKEWED
        ).other_samples.reason
    )
    # Three cells of two workloads are enough, two are not.
    assert of_mean(values(eight, COST, cells=3), ValueKind.SKEWED).other_samples.known
    few = of_mean(values(eight[:4], COST, cells=2), ValueKind.SKEWED).other_samples
    assert "2 workloads a cell, 2 cells" in few.reason
