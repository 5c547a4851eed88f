# SPDX-License-Identifier: Apache-2.0
"""Marks and edges find each other, and what is missing, extra or stretched is named."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rig.align import align

HZ = 1_000_000


def table(marks: int, seed: int, ppm: float = 80.0) -> tuple[list[int], NDArray[np.float64]]:
    """Ticks of irregular marks, and the edges a 1 MS/s monitor sees, quantised."""
    random = np.random.default_rng(seed)
    times_s = np.cumsum(random.uniform(0.002, 0.1, marks))
    ticks = [10**9 + int(t * HZ * (1 + ppm * 1e-6)) for t in times_s]
    return ticks, np.ceil(times_s * HZ) / HZ - 0.5 / HZ


def codes(ticks: list[int], edges: NDArray[np.float64]) -> list[str]:
    return [problem.code for problem in align(ticks, HZ, edges, HZ).problems]


@given(seed=st.integers(0, 10**6), marks=st.integers(10, 300), ppm=st.floats(-200, 200))
@settings(max_examples=60, deadline=None)
def test_all_marks_find_their_edges_whatever_the_skew(seed: int, marks: int, ppm: float) -> None:
    ticks, edges = table(marks, seed, ppm)
    alignment = align(ticks, HZ, edges, HZ)
    assert (alignment.problems, alignment.pairs) == ((), marks)
    assert alignment.timebase is not None and alignment.timebase.residual_max_s < 2e-6


@given(seed=st.integers(0, 10**6), lost=st.sets(st.integers(0, 59), min_size=1, max_size=4))
@settings(max_examples=100, deadline=None)
def test_missing_edges_are_named_and_shift_nothing(seed: int, lost: set[int]) -> None:
    ticks, edges = table(60, seed)
    alignment = align(ticks, HZ, np.delete(edges, sorted(lost)), HZ)
    assert [problem.code for problem in alignment.problems] == ["edges"]
    named = ", ".join(str(number + 1) for number in sorted(lost))
    assert f"no edge for mark {named}" in alignment.problems[0].detail
    assert alignment.timebase is not None and alignment.timebase.residual_max_s < 2e-6


@given(seed=st.integers(0, 10**6), at=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=4))
@settings(max_examples=100, deadline=None)
def test_extra_edges_are_named_and_shift_nothing(seed: int, at: list[float]) -> None:
    ticks, edges = table(60, seed)
    extra = np.array([edges[0] - 0.01 + place * (edges[-1] - edges[0] + 0.02) for place in at])
    extra = extra[np.min(np.abs(extra[:, None] - edges[None, :]), axis=1) > 1e-3]
    alignment = align(ticks, HZ, np.sort(np.concatenate([edges, extra])), HZ)
    assert [problem.code for problem in alignment.problems] == (["edges"] if len(extra) else [])
    assert alignment.pairs == 60
    assert alignment.timebase is not None and alignment.timebase.residual_max_s < 2e-6


@pytest.mark.parametrize("stretch", [4 / 3, 2.0, 0.5, 1.001])
def test_a_monitor_whose_time_is_stretched_is_a_clock_problem(stretch: float) -> None:
    ticks, edges = table(60, 1)
    assert codes(ticks, edges * stretch) == ["clock"]


@pytest.mark.parametrize("tick_hz", [1_000, 32_768, 100_000])
def test_a_device_with_a_coarse_timer_is_as_good_as_its_ticks(tick_hz: int) -> None:
    random = np.random.default_rng(3)
    times_s = np.cumsum(random.uniform(0.02, 0.1, 200))
    ticks = [int(time_s * tick_hz * (1 + 50e-6)) for time_s in times_s]
    alignment = align(ticks, tick_hz, np.ceil(times_s * HZ) / HZ - 0.5 / HZ, HZ)
    assert (alignment.problems, alignment.pairs) == ((), 200)
    assert alignment.timebase is not None
    assert abs(alignment.timebase.s_per_tick * tick_hz * (1 + 50e-6) - 1) < 4 * alignment.timebase.slope_u


def test_edges_that_jump_about_are_a_sync_problem() -> None:
    ticks, edges = table(60, 1)
    edges[30] += 3.5e-6
    assert codes(ticks, edges) == ["sync"]


def test_no_edges_at_all_ask_for_the_wire() -> None:
    ticks, _ = table(60, 1)
    alignment = align(ticks, HZ, np.zeros(0), HZ)
    assert alignment.timebase is None
    assert alignment.problems[0].code == "edges" and "wired" in alignment.problems[0].detail
