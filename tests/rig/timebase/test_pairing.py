# SPDX-License-Identifier: Apache-2.0
"""The parts of the pairing against matrices, bounds and pairs from other sources."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rig.timebase import pairing
from rig.timebase.pairing import _ClockFilter
from rig.timebase.pairing_seeds import nearest, seeds
from tests.length import length

TIMES = st.lists(st.integers(0, 60), max_size=8, unique=True).map(sorted)


@given(
    steps=st.lists(
        st.tuples(st.floats(0.1, 50.0), st.floats(-1e-3, 1e-3)), min_size=1, max_size=5
    ),
    rate=st.floats(0.5, 2.0),
    # A noise that is small beside the rest loses digits of the covariance.
    sizes=st.tuples(st.floats(1e-6, 1e-2), st.floats(1e-6, 1e-4)),
    noise_s=st.floats(1e-4, 1e-2),
)
def test_the_tracker_is_the_kalman_filter_of_offset_and_rate(
    steps: list[tuple[float, float]],
    rate: float,
    sizes: tuple[float, float],
    noise_s: float,
) -> None:
    tracker = _ClockFilter(10.0, 20.0, rate, sizes[0] ** 2, sizes[1] ** 2)
    state = np.array([20.0, rate])
    covariance = np.diag(np.square(sizes))
    mark_s = 10.0
    for dt, off_s in steps:
        # A rate that wanders by 1e-15 a second, integrated twice.
        motion = np.array([[1.0, dt], [0.0, 1.0]])
        wander = 1e-15 * np.array([[dt**3 / 3, dt**2 / 2], [dt**2 / 2, dt]])
        state = motion @ state
        covariance = motion @ covariance @ motion.T + wander
        mark_s += dt
        due_s, due_var = tracker.predict(mark_s)
        assert due_s == pytest.approx(state[0], abs=1e-8)
        assert due_var == pytest.approx(covariance[0, 0], rel=1e-6)
        gain = covariance[:, 0] / (covariance[0, 0] + noise_s**2)
        edge_s = state[0] + off_s
        state = state + gain * off_s
        covariance = covariance - np.outer(gain, covariance[0])
        tracker.update(mark_s, edge_s, noise_s**2)
        assert tracker.mark_s == mark_s
        assert tracker.edge_s == pytest.approx(state[0], abs=1e-8)
        assert tracker.rate == pytest.approx(state[1], abs=1e-9)
        result = [tracker.edge_var, tracker.covariance, tracker.rate_var]
        expected = [covariance[0, 0], covariance[0, 1], covariance[1, 1]]
        assert result == pytest.approx(expected, rel=1e-6, abs=1e-15)


def test_a_rate_that_was_known_wanders() -> None:
    tracker = _ClockFilter(0.0, 0.0, 1.0, edge_var=0.0, rate_var=0.0)
    # 1e-15 a second over 3000 s: 3e-12 of the rate squared, and 1e-15 * 3000**3 / 3.
    assert tracker.predict(3000.0)[1] == pytest.approx(9e-6)
    tracker.update(3000.0, 3000.0, 1e9)
    assert tracker.rate_var == pytest.approx(3e-12, rel=1e-6)
    assert tracker.covariance == pytest.approx(1e-15 * 3000**2 / 2, rel=1e-6)


@given(times=TIMES.filter(len), due=TIMES)
def test_the_nearest_time_is_the_one_with_the_least_distance(
    times: list[int], due: list[int]
) -> None:
    result = nearest(np.array(times, float), np.array(due, float))
    assert len(result) == len(due)
    for position, expected in zip(result.tolist(), due, strict=True):
        least = min(abs(time - expected) for time in times)
        assert abs(times[position] - expected) == least


@given(due=TIMES, edges=TIMES, reach=st.integers(0, 6))
def test_each_expected_time_has_at_most_one_edge_and_none_that_fits_is_left(
    due: list[int], edges: list[int], reach: int
) -> None:
    arrays = np.array(due, float), np.array(edges, float)
    marks, result = pairing.match(*arrays, reach)
    pairs = list(zip(marks.tolist(), result.tolist(), strict=True))
    assert all(abs(due[mark] - edges[edge]) <= reach for mark, edge in pairs)
    assert len({mark for mark, _ in pairs}) == len({edge for _, edge in pairs})
    assert len(pairs) == len({mark for mark, _ in pairs})
    assert pairs == sorted(pairs)
    # Nearest neighbours are a pair, unless two lie equally near.
    for mark, time in enumerate(due):
        by_distance = sorted(abs(time - edge) for edge in edges)
        if not by_distance or by_distance[0] > reach:
            assert mark not in marks
            continue
        edge = min(range(len(edges)), key=lambda k: abs(edges[k] - time))
        back = sorted(abs(edges[edge] - other) for other in due)
        tied = by_distance[:2].count(by_distance[0]) > 1 or back[:1] == back[1:2]
        if not tied and back[0] == by_distance[0]:
            assert mark in marks
            assert edge in result


@pytest.mark.parametrize(
    ("due", "edges", "pairs"),
    [
        # Those nearest to each other; the rest in order.
        ([0, 10, 20], [1, 9, 12, 21], [(0, 0), (1, 1), (2, 3)]),
        ([0, 2], [3, 4], [(0, 1), (1, 0)]),
        # The edge of the first was lost.
        ([0, 1], [1], [(1, 0)]),
        # Marks of one tick.
        ([5, 5, 5], [5, 6], [(0, 0), (1, 1)]),
        ([0, 100], [50], []),
        ([], [1], []),
    ],
)
def test_pairs_of_a_few_times(
    due: list[int], edges: list[int], pairs: list[tuple[int, int]]
) -> None:
    marks, result = pairing.match(np.array(due, float), np.array(edges, float), 4.0)
    assert sorted(marks.tolist()) == [mark for mark, _ in pairs]
    assert sorted(result.tolist()) == sorted(edge for _, edge in pairs)


@given(
    due=st.lists(st.integers(0, 30), max_size=6).map(sorted),
    edges=st.lists(st.integers(0, 30), max_size=6).map(sorted),
    reach=st.integers(0, 5),
)
def test_rest_is_paired_in_order_first_come_first_served(
    due: list[int], edges: list[int], reach: int
) -> None:
    free = list(enumerate(edges))
    expected = []
    for mark, time in enumerate(due):
        while free and free[0][1] < time - reach:
            free.pop(0)
        if free and free[0][1] <= time + reach:
            expected.append((mark, free.pop(0)[0]))
    assert pairing._greedy(due, edges, reach) == expected


def test_what_is_left_belongs_together_where_no_other_is_near() -> None:
    due_s = np.array([0.0, 10.0, 20.0, 21.0, 40.0, 50.0])
    edges_s = np.array([0.0, 13.0, 20.4, 43.0, 44.0, 55.5])
    marks, edges = np.array([0]), np.array([0])
    result = pairing.unmatched(due_s, edges_s, marks, edges, 5.0)
    # 20.4 is within half of the way from 20 to 21, two are near 40, 55.5 is too far.
    assert [each.tolist() for each in result] == [[1, 2], [1, 2]]
    nothing = pairing.unmatched(due_s, edges_s, np.arange(6), edges, 5.0)
    assert [each.tolist() for each in nothing] == [[], []]


@pytest.mark.parametrize("rate", [0.25, 1.0, 1 + 4e-4, 3.0])
@pytest.mark.parametrize(("late_share", "paired"), [(0.98, True), (1.02, False)])
def test_equal_counts_pair_in_order_if_every_interval_is_within_twice_the_reach(
    rate: float, late_share: float, paired: bool
) -> None:
    marks_s = np.array([5.0, 6.0, 8.0, 12.0, 15.0])
    edges_s = 2.0 + rate * marks_s
    reach_s = 1e-3
    limit_s = 2 * reach_s * max(rate, 1.0) + 5e-6 * 4.0
    # One interval of four seconds is late, and the one after it early.
    edges_s[3] += late_share * limit_s
    result = pairing.in_order(marks_s, edges_s, reach_s)
    short_s = 2 * reach_s * max(rate, 1.0) + 5e-6 * 3.0
    if late_share * limit_s > short_s:
        paired = False
    if not paired:
        assert result is None
    else:
        assert result is not None
        assert result.marks.tolist() == result.edges.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("off_s", "paired"), [(0.0069, True), (-0.0069, True), (0.0071, False)]
)
def test_two_pairs_are_of_one_rate_within_what_crystals_differ_by(
    off_s: float, paired: bool
) -> None:
    # Twice the reach, 2 ms, and 500 ppm of 10 s.
    edges_s = np.array([3.0, 13.0 + off_s])
    result = pairing.in_order(np.array([0.0, 10.0]), edges_s, 1e-3)
    assert (result is not None) is paired


def test_times_of_other_counts_or_of_no_length_are_not_in_order() -> None:
    item, two = np.array([1.0]), np.array([1.0, 2.0])
    assert pairing.in_order(item, item, 1.0) is None
    assert pairing.in_order(item, two, 1.0) is None
    assert pairing.in_order(np.array([1.0, 1.0]), two, 1.0) is None


def evidence(
    pairs: int, marks: int, edges: int, span_s: float, reach_s: float
) -> float:
    """Return the logarithm of the bound of Chernoff, by the divergence of Kullback and
    Leibler of two coins."""
    tries = min(marks, edges)
    chance = 2 * reach_s * max(marks, edges) / span_s
    share = pairs / tries
    coins = [(share, chance), (1 - share, 1 - chance)]
    return tries * sum(p * math.log(p / q) for p, q in coins if p)


@given(
    marks=st.integers(3, 40),
    edges=st.integers(3, 40),
    share=st.floats(0.1, 1.0),
    reach_s=st.sampled_from([1e-3, 1e-2, 0.05]),
    rate=st.sampled_from([1.0, 1.0009, 1.0011, 0.5]),
)
def test_pairs_convince_where_chance_in_all_readings_is_below_one_in_a_million(
    marks: int, edges: int, share: float, reach_s: float, rate: float
) -> None:
    due_s = np.linspace(0.0, 10.0, marks)
    edges_s = np.linspace(0.0, 10.0, edges)
    pairs = math.ceil(share * min(marks, edges))
    result = pairing.convincing(pairs, due_s, edges_s, rate, reach_s)
    near = abs(rate - 1) <= 1e-3
    if near and pairs == marks == edges:
        assert result
        return
    span_s = 10 + 2 * reach_s
    chance = 2 * reach_s * max(marks, edges) / span_s
    if pairs < 3 or pairs / min(marks, edges) <= chance:
        assert not result
        return
    readings = marks * edges
    if near:
        readings *= 1 + 500e-6 * span_s / reach_s
    else:
        readings **= 2
    needed = math.log(readings * 1e6)
    has = evidence(pairs, marks, edges, span_s, reach_s)
    if abs(has - needed) > 1e-6:
        assert result is (has > needed)


def test_three_pairs_may_convince_and_two_do_not() -> None:
    due_s, edges_s = np.linspace(0.0, 10.0, 3), np.linspace(0.0, 10.0, 4)
    assert pairing.convincing(3, due_s, edges_s, 1.0, 1e-3)
    assert not pairing.convincing(2, due_s[:2], edges_s, 1.0, 1e-9)


def test_only_times_in_common_count() -> None:
    due_s = np.arange(0.0, 20.0)
    edges_s = np.arange(10.0, 40.0)
    # Ten of each overlap: all ten pair, or few do.
    assert pairing.convincing(10, due_s, edges_s, 1.0, 1e-3)
    assert not pairing.convincing(3, due_s, edges_s, 1.0, 1e-3)


def test_seeds_are_three_marks_and_edges_with_the_same_intervals() -> None:
    random = np.random.default_rng(7)
    marks_s = np.cumsum(random.uniform(0.5, 2.0, 30))
    kept = np.delete(np.arange(30), [4, 20])
    edges_s = 3.0 + (1 + 2e-4) * marks_s[kept]
    result = seeds(marks_s, edges_s, 1e-4, False)
    truth = {int(mark): position for position, mark in enumerate(kept)}
    best = result[0]
    assert truth[best.mark] == best.edge
    assert best.rate == pytest.approx(1 + 2e-4, abs=2e-4)
    two_intervals_s = marks_s[best.mark + 2] - marks_s[best.mark]
    assert best.rate_u == pytest.approx(min(2e-4 / two_intervals_s, 500e-6))
    assert {truth.get(seed.mark) == seed.edge for seed in result} == {True}
    assert seeds(marks_s[:2], edges_s, 1e-4, False) == []
    assert seeds(marks_s, edges_s[:2], 1e-4, False) == []


@pytest.mark.parametrize("rate", [1 / 15, 0.5, 2.0, 15.0])
def test_any_rate_up_to_sixteen_is_found_where_it_is_asked_for(rate: float) -> None:
    random = np.random.default_rng(8)
    marks_s = np.cumsum(random.uniform(0.5, 2.0, 30))
    edges_s = 1.0 + rate * marks_s
    assert seeds(marks_s, edges_s, 1e-5, False) == []
    result = seeds(marks_s, edges_s, 1e-5, True)
    assert result[0].mark == result[0].edge
    assert result[0].rate == pytest.approx(rate, rel=1e-9)
    beyond = 1.0 + (17.0 if rate > 1 else 1 / 17) * marks_s
    assert not any(
        seed.mark == seed.edge for seed in seeds(marks_s, beyond, 1e-5, True)
    )


def test_marks_closer_than_twice_the_reach_seed_nothing() -> None:
    marks_s = np.arange(10.0)
    assert seeds(marks_s, marks_s, 0.49, False)
    assert seeds(marks_s, marks_s, 0.51, False) == []


@pytest.mark.parametrize(
    ("walks", "rival"),
    [
        ([range(20)], 0),
        ([range(20), range(100, 119)], 19),
        ([range(20), range(100, 118)], 0),
        # A walk with the same beginning is no other reading; two pairs in 20 are few.
        ([range(20), [*range(10), *range(100, 110)]], 0),
        ([range(20), [0, 1, *range(102, 120)]], 0),
        ([range(20), [0, *range(101, 120)]], 20),
        ([range(30), [0, 1, *range(102, 130)]], 30),
    ],
)
def test_a_rival_shares_almost_no_pair_and_has_at_most_one_less(
    walks: list[list[int]], rival: int
) -> None:
    pairs = [dict(enumerate(edges)) for edges in walks]
    assert pairing._rival(pairs, pairs[0]) == rival


@settings(max_examples=length(40, 15))
@given(
    lost=st.sets(st.integers(0, 39), max_size=8),
    rate=st.sampled_from([1 - 3e-4, 1.0, 1 + 3e-4, 1.4]),
    seed=st.integers(0, 99),
)
# The mark after the last edge has none, so it cannot confirm that edge.
@example(lost={0, 1, 12, 23, 39}, rate=1 - 3e-4, seed=2)
def test_a_search_finds_the_edge_of_each_mark_that_has_one(
    lost: set[int], rate: float, seed: int
) -> None:
    random = np.random.default_rng(seed)
    marks_s = np.cumsum(random.uniform(0.2, 2.0, 40))
    kept = [mark for mark in range(40) if mark not in lost]
    noise_s = random.uniform(-1e-5, 1e-5, len(kept))
    edges_s = 7.0 + rate * marks_s[kept] + noise_s
    result = pairing.search(marks_s, edges_s, 5e-5, 1e-5)
    assert result.marks.tolist() == kept
    assert result.edges.tolist() == list(range(len(kept)))
    assert result.rival == 0
    assert len(result) == len(kept)


@pytest.mark.parametrize(
    ("edges", "first", "due_s", "edge"),
    [
        # The nearest, from the first on.
        ([9.0, 9.8, 10.4], 0, 10.0, 1),
        ([9.0, 9.8, 10.4], 2, 10.0, 2),
        # The next mark's edge is expected four seconds later.
        ([9.0, 12.5], 1, 10.0, None),
        ([9.0, 11.9], 1, 10.0, 1),
        ([8.5, 13.0], 0, 11.9, 1),
    ],
)
def test_an_edge_that_is_nearer_to_the_next_mark_is_left_to_it(
    edges: list[float], first: int, due_s: float, edge: int | None
) -> None:
    # The next mark comes two seconds later, at twice the rate.
    times = np.array(edges)
    series = pairing._Series([3.0, 5.0], edges, times, 1.0, 0.1)
    assert pairing._nearest_edge(series, 0, first, due_s, 2.0) == edge


@pytest.mark.parametrize(("rate_u", "votes_for"), [(0.0, None), (0.06, 0)])
def test_the_next_marks_vote_within_what_the_rate_leaves_open(
    rate_u: float, votes_for: int | None
) -> None:
    # Marks at 0, 1 and 2 s; edges come 10 % late, and the reach is 20 ms.
    edges = [5.0, 6.1, 7.2]
    series = pairing._Series([0.0, 1.0, 2.0], edges, np.array(edges), 0.02, 0.01)
    clock = _ClockFilter(0.0, 5.0, 1.0, 0.0, rate_u**2)
    result = pairing._by_vote(series, 0, 0, clock, due_s=5.1, within_s=0.5)
    assert result == votes_for


def test_the_vote_goes_to_the_edge_that_others_follow_and_then_to_the_nearest() -> None:
    edges = [4.9, 5.0, 5.3, 6.0, 6.3, 7.0, 7.3, 8.0]
    marks = [0.0, 1.0, 2.0, 3.0]
    series = pairing._Series(marks, edges, np.array(edges), 0.02, 0.01)
    clock = _ClockFilter(0.0, 5.0, 1.0, 0.0, 0.0)
    # 5.0 has three followers and 5.3 two; 4.9 is nearest and has none.
    assert pairing._by_vote(series, 0, 0, clock, due_s=4.85, within_s=0.5) == 1
    assert pairing._by_vote(series, 0, 2, clock, due_s=4.85, within_s=0.5) == 2
    alone = pairing._by_vote(series, 3, 7, clock, due_s=8.0, within_s=0.5)
    assert alone == 7


@pytest.mark.parametrize(
    ("followers", "vote"), [((5, 6, 7, 8), 0), ((6, 7, 8, 9), None)]
)
def test_eight_marks_vote_and_half_of_them_elect(
    followers: tuple[int, ...], vote: int | None
) -> None:
    marks = [float(number) for number in range(11)]
    edges = [5.0, *(5.0 + number for number in followers)]
    series = pairing._Series(marks, edges, np.array(edges), 0.02, 0.01)
    clock = _ClockFilter(0.0, 5.0, 1.0, 0.0, 0.0)
    assert pairing._by_vote(series, 0, 0, clock, due_s=5.0, within_s=0.5) == vote


def test_a_mark_has_no_vote_for_its_own_edge() -> None:
    edges = [5.0, 9.0]
    series = pairing._Series([0.0, 1.0], edges, np.array(edges), 0.02, 0.01)
    clock = _ClockFilter(0.0, 5.0, 1.0, 0.0, 0.0)
    vote = pairing._by_vote(series, 0, 0, clock, due_s=5.0, within_s=0.5)
    assert vote is None


def test_a_mark_whose_edge_would_follow_the_last_of_all_has_no_vote() -> None:
    series = pairing._Series([0.0, 1.0], [5.0], np.array([5.0]), 0.02, 0.01)
    clock = _ClockFilter(0.0, 5.0, 1.0, 0.0, 0.0)
    vote = pairing._by_vote(series, 0, 0, clock, due_s=5.0, within_s=0.5)
    assert vote == 0


@pytest.mark.parametrize("any_rate", [False, True])
@pytest.mark.parametrize(("late_s", "fits"), [(2.9e-3, True), (3.1e-3, False)])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_seed_fits_within_twice_the_reach_and_what_the_rates_leave_open(
    any_rate: bool, late_s: float, fits: bool, sign: int
) -> None:
    # Of one second: 2 ms, and 1 ms for the clocks; at any rate, two thirds of the 6 ms
    # of both intervals, as one is twice as long.
    marks_s = np.array([0.0, 1.0, 3.0])
    edges_s = 10.0 + np.cumsum([0.0, 1.0 + sign * late_s, 2.0])
    assert bool(seeds(marks_s, edges_s, 1e-3, any_rate)) is fits
