# SPDX-License-Identifier: Apache-2.0
"""Sums by range of the current, against a loop over single samples."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.trace.integrate import Sums
from tests.length import length

RANGES = st.lists(st.floats(1e-6, 1.0), max_size=4, unique=True).map(sorted)


def by_hand(current: np.ndarray, voltage: np.ndarray, inner: list[float]) -> np.ndarray:
    sums = np.zeros((3, len(inner) + 1))
    # An end belongs to its range also where the nearest number of single precision is
    # larger.
    ends = [max(end, float(np.float32(end))) for end in inner]
    for amperes, volts in zip(current.tolist(), voltage.tolist(), strict=True):
        position = next(
            (k for k, end in enumerate(ends) if abs(amperes) <= end), len(inner)
        )
        sums[:, position] += (amperes * volts, amperes, volts)
    return sums


@given(
    seed=st.integers(0, 2**32),
    inner=RANGES,
    levels=st.lists(
        st.tuples(st.floats(-2, 2), st.integers(1, 900)), min_size=1, max_size=5
    ),
    noise=st.sampled_from([0.0, 1e-6, 0.01]),
    cuts=st.lists(st.integers(0, 4000), max_size=3),
)
@settings(max_examples=length(80, 30), deadline=None)
def test_each_sample_counts_in_the_range_of_its_current(
    seed: int,
    inner: list[float],
    levels: list[tuple[float, int]],
    noise: float,
    cuts: list[int],
) -> None:
    random = np.random.default_rng(seed)
    current = np.concatenate([np.full(count, level) for level, count in levels])
    current = (current + noise * random.standard_normal(len(current))).astype(
        np.float32
    )
    voltage = (3.3 + noise * random.standard_normal(len(current))).astype(np.float32)
    sums = Sums(inner)
    bounds = sorted({0, len(current), *(cut for cut in cuts if cut < len(current))})
    for start, stop in pairwise(bounds):
        sums.add(current[start:stop], voltage[start:stop])
    truth = by_hand(current, voltage, inner)
    assert sums.sums == pytest.approx(truth, rel=1e-12, abs=1e-12 * np.abs(truth).max())
    power = current.astype(float) * voltage.astype(float)
    assert (sums.least_w, sums.most_w) == (power.min(), power.max())


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    "limit", [0.018, 0.05, 0.1, 0.3, 0.009, 0.5]
)  # of some the nearest float of single precision is larger
def test_a_current_at_the_end_of_a_range_is_in_it(limit: float, sign: int) -> None:
    size_a = sign * limit
    sums = Sums([limit, 1.0])
    sums.add(np.full(1024, size_a, np.float32), np.ones(1024, np.float32))
    sums.add(np.array([size_a, 1.0], np.float32), np.ones(2, np.float32))
    sums.take(float(np.float32(size_a)), 1.0, 1.0)
    assert sums.sums[2].tolist() == [1026.0, 1.0, 0.0]


def test_samples_without_a_number_spoil_no_other_range() -> None:
    current = np.full(1500, 0.01, np.float32)
    current[700] = np.nan
    sums = Sums([0.1, 1.0])
    sums.add(current, np.ones(1500, np.float32))
    sums.take(math.nan, 1.0, 1.0)
    assert sums.sums[2].tolist() == [1499.0, 0.0, 2.0]
    assert sums.sums[0, 0] == pytest.approx(14.99)
    assert math.isnan(sums.sums[0, 2])


def test_cleared_sums_begin_again() -> None:
    sums = Sums([])
    for volts in (5.0, 2.0):
        sums.clear()
        sums.add(np.ones(10, np.float32), np.full(10, volts, np.float32))
        assert (sums.sums.tolist(), sums.least_w, sums.most_w) == (
            [[10 * volts], [10.0], [10 * volts]],
            volts,
            volts,
        )


@pytest.mark.parametrize("count", [1, 77, 1 << 15, 32_769, 100_003, 200_001, 1 << 18])
def test_sums_without_ranges_are_those_of_a_row_of_numpy_to_the_last_digit(
    count: int,
) -> None:
    random = np.random.default_rng(count)
    current = random.normal(0.01, 1e-3, count).astype(np.float32)
    voltage = random.normal(3.0, 0.1, count).astype(np.float32)
    sums = Sums()
    sums.add(current, voltage)
    in_double = current.astype(np.float64), voltage.astype(np.float64)
    rows = np.array([in_double[0] * in_double[1], *in_double])
    assert sums.sums[:, 0].tolist() == rows.sum(axis=1).tolist()


@pytest.mark.parametrize("count", [40_000, 65_536, 70_001])
@pytest.mark.parametrize("spread_a", [1e-5, 1e-2])
def test_samples_beyond_a_cache_count_in_their_ranges(
    count: int, spread_a: float
) -> None:
    random = np.random.default_rng(count)
    current = random.normal(0.05, spread_a, count).astype(np.float32)
    current[1000:1600] = 0.2
    voltage = random.normal(3.0, 0.1, count).astype(np.float32)
    inner = [0.04, 0.06]
    sums = Sums(inner)
    sums.add(current, voltage)
    assert sums.sums == pytest.approx(by_hand(current, voltage, inner), rel=1e-11)


@pytest.mark.parametrize("ranges_a", [[], [0.02, 1.0]])
@pytest.mark.parametrize("at", [0, 40_000, 69_999])
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_block_tells_of_a_sample_that_is_no_number(
    ranges_a: list[float], at: int, wrong: float
) -> None:
    current = np.full(70_000, 0.01, np.float32)
    voltage = np.full(70_000, 3.0, np.float32)
    sums = Sums(ranges_a)
    good = sums.of_block(current, voltage)
    assert good.has_numbers_alone
    assert good.least_w == good.most_w == float(np.float32(0.01)) * 3.0
    voltage[at] = wrong
    assert not sums.of_block(current, voltage).has_numbers_alone
    # No sum has been added.
    assert not sums.sums.any() and sums.most_w == -math.inf
