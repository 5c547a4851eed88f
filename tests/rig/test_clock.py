# SPDX-License-Identifier: Apache-2.0
"""The time base finds the line through ticks and edges, and says how well."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.clock import Timebase
from rig.errors import LocalProtocolError


@given(
    origin=st.integers(0, 2**50),
    hz=st.sampled_from([1_000, 32_768, 1_000_000, 168_000_000]),
    ppm=st.floats(-400, 400),
    offset_s=st.floats(-1e3, 1e3),
    intervals=st.lists(st.integers(1, 10**9), min_size=2, max_size=50),
)
@settings(max_examples=200)
def test_points_on_a_line_are_found_again_however_large_the_ticks(
    origin: int, hz: int, ppm: float, offset_s: float, intervals: list[int]
) -> None:
    ticks = [origin + int(step) for step in np.cumsum(intervals)]
    s_per_tick = (1 + ppm * 1e-6) / hz
    edges = [offset_s + (tick - ticks[0]) * s_per_tick for tick in ticks]
    timebase = Timebase.fit(ticks, edges)
    span_s = max(abs(edge) for edge in edges) + 1.0
    assert timebase.s_per_tick == pytest.approx(s_per_tick, rel=1e-6)
    for tick, edge in zip(ticks, edges, strict=True):
        assert timebase.seconds(tick) == pytest.approx(edge, abs=1e-12 * span_s)


def test_a_quantised_line_has_a_residual_of_its_quantisation() -> None:
    random = np.random.default_rng(1)
    true_s = np.sort(random.uniform(0, 10, 2000))
    edges_s = np.floor(true_s / 1e-5) * 1e-5 + 0.5e-5
    timebase = Timebase.fit([round(t * 1e9) for t in true_s], list(edges_s), 1e-5)
    assert timebase.residual_s == pytest.approx(1e-5 / np.sqrt(12), rel=0.05)
    assert timebase.residual_max_s <= 0.51e-5
    assert abs(timebase.s_per_tick * 1e9 - 1) < 4 * timebase.slope_u


def test_the_stated_offset_uncertainty_holds_at_the_origin_also_for_uneven_marks() -> None:
    random = np.random.default_rng(4)
    times_s = np.concatenate([np.linspace(0, 0.1, 40), [0.5, 5.0, 9.0, 10.0]])
    fits = [
        Timebase.fit([round(t * 1e9) for t in times_s], list(times_s + random.normal(0, 1e-6, len(times_s)))) for _ in range(400)
    ]
    errors_s = [fit.origin_s - fit.origin_tick * 1e-9 for fit in fits]
    assert np.std(errors_s) == pytest.approx(np.mean([fit.offset_u_s for fit in fits]), rel=0.15)


def test_the_stated_slope_uncertainty_covers_the_error_in_about_two_thirds_of_fits() -> None:
    random = np.random.default_rng(2)
    inside = 0
    for _ in range(400):
        true_s = np.sort(random.uniform(0, 1, 100))
        timebase = Timebase.fit([round(t * 1e9) for t in true_s], list(true_s + random.normal(0, 1e-6, 100)))
        inside += abs(timebase.s_per_tick * 1e9 - 1) < timebase.slope_u
    assert 0.62 < inside / 400 < 0.75


@pytest.mark.parametrize("ticks", [[], [5], [5, 5]])
def test_fewer_than_two_different_ticks_are_refused(ticks: list[int]) -> None:
    with pytest.raises(LocalProtocolError, match="two or more"):
        Timebase.fit(ticks, [0.0] * len(ticks))
