# SPDX-License-Identifier: Apache-2.0
"""The front end of simulated instruments: its output does not depend on how the samples
are grouped.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.front_end import FrontEnd
from rig.simulation.world import World

MS = 1_000_000


def world(*states: tuple[float, bool, float]) -> World:
    made = World()
    for at_ms, level, power_w in states:
        made.put(round(at_ms * MS), level, power_w)
    made.advance(1_000 * MS)
    return made


def test_an_edge_at_the_very_end_of_a_block_belongs_to_the_next_one() -> None:
    front_end = FrontEnd(
        world((0, True, 0.01), (5, False, 0.02), (6, True, 0.02)), 1000.0, start_ns=0
    )
    assert [front_end.take(5).falls.tolist() for _ in range(2)] == [[], [5.0]]


@given(
    edges=st.lists(st.integers(1, 39_999), min_size=2, max_size=20, unique=True),
    cuts=st.lists(st.integers(1, 39), max_size=8, unique=True),
)
@settings(max_examples=60, deadline=None)
def test_any_grouping_gives_the_same_samples_levels_and_edges(
    edges: list[int], cuts: list[int]
) -> None:
    states = [(0.0, True, 0.01)] + [
        (at / 1000, bool(k % 2), 0.01 * (k + 1)) for k, at in enumerate(sorted(edges))
    ]
    whole = FrontEnd(world(*states), 1000.0, start_ns=0, per_sample=2).take(40)
    front_end = FrontEnd(world(*states), 1000.0, start_ns=0, per_sample=2)
    bounds = [0, *sorted(cuts), 40]
    blocks = [front_end.take(stop - start) for start, stop in pairwise(bounds)]
    assert np.concatenate([block.power_w for block in blocks]) == pytest.approx(
        whole.power_w, abs=1e-12
    )
    assert np.concatenate([block.high for block in blocks]) == pytest.approx(
        whole.high, abs=1e-9
    )
    assert (
        np.concatenate([block.levels for block in blocks]).tolist()
        == whole.levels.tolist()
    )
    assert np.concatenate([block.falls for block in blocks]) == pytest.approx(
        [at / 1000 for at in sorted(edges)[::2]]
    )


@given(
    edges=st.lists(st.integers(1, 39_999), min_size=2, max_size=20, unique=True),
    cuts=st.lists(st.integers(1, 39), max_size=8, unique=True),
)
@settings(max_examples=60, deadline=None)
def test_a_jitter_is_the_same_whenever_the_samples_are_taken(
    edges: list[int], cuts: list[int]
) -> None:
    def taken(bounds: list[int]) -> list[int]:
        happened = World()
        front_end = FrontEnd(
            happened,
            1000.0,
            start_ns=0,
            jitter_s=2e-3,
            random=np.random.default_rng(7),
        )
        waiting = [
            (0, True),
            *((at * 1000, bool(k % 2)) for k, at in enumerate(sorted(edges))),
        ]
        levels: list[int] = []
        for stop in bounds:
            while waiting and waiting[0][0] <= stop * MS:
                at_ns, level = waiting.pop(0)
                happened.put(at_ns, level, 0.01)
            happened.advance(stop * MS)
            levels += front_end.take(front_end.due(stop * MS)).levels.tolist()
        return levels

    assert taken([*sorted(cuts), 40, 80]) == taken([80])


def test_the_mean_power_of_all_samples_is_the_energy_of_the_log() -> None:
    made = world((0, True, 0.01), (3.3, False, 0.05), (7.77, True, 0.02))
    front_end = FrontEnd(made, 1000.0, clock_ppm=40.0, start_ns=0, share=0.5)
    energy_j = float(front_end.take(20).power_w.sum()) * front_end.period_s
    assert energy_j == pytest.approx(
        0.5 * made.true_energy_j(0, round(20 * front_end.period_s * 1e9)), rel=1e-6
    )
