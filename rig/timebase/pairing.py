# SPDX-License-Identifier: Apache-2.0
"""Pair edges with marks by the pattern of their intervals, for any rate and offset, and
with marks or edges missing. Pure.

A seed is three marks and three edges with the same two intervals, at about the nominal
rate or, failing that, at any. From a seed a tracker, a Kalman filter of offset and
rate, walks to both ends, predicts each edge and takes one within reach. The seed with
the most pairs wins, unless another reading of the data, or unrelated edges, could do
nearly as well.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rig.arrays import Float64s, Int64s
from rig.timebase.pairing_seeds import (
    CLOCK_LIMIT,
    Seed,
    nearest,
    seeds,
)

#: Variance of the relative rate per second: 1e-6 in a thousand seconds.
_WANDER = 1e-15
#: Steps of the tracker over all seeds, and number of seeds that must lose against the
#: best before the search ends.
_STEPS = 600_000
_CHALLENGERS = 3
#: After this number of marks, a walk with edges for fewer than a quarter of them is
#: given up.
_STEPS_MIN = 40
#: With this share of all possible pairs, the nominal rate is not doubted.
_SURE = 0.8
#: Number of next marks that vote for an edge, if the reach is wide.
_JURY = 8
#: Standard deviations of the tracker's uncertainty, added to the reach.
_SIGMAS = 4.0
#: A second reading with at most this many pairs less leaves the result open.
_MARGIN = 1
#: Largest probability that unrelated edges fit by chance.
_CHANCE = 1e-6


@dataclass(frozen=True, slots=True)
class Pairing:
    """Marks and edges that belong together, ascending, and the number of pairs of a
    `rival`, another reading of the data that is as good.
    """

    marks: Int64s
    edges: Int64s
    rival: int = 0

    def __len__(self) -> int:
        return len(self.marks)


@dataclass(frozen=True, slots=True)
class _Series:
    """Times of marks and edges in the direction of a walk; `edge_times` are `edges` as
    an array. An edge lies within `reach_s` of its mark, with the noise `noise_s`.
    """

    marks: list[float]
    edges: list[float]
    edge_times: Float64s
    reach_s: float
    noise_s: float


@dataclass(slots=True)
class _ClockFilter:
    """Kalman filter of one clock against another.

    The state is the time `edge_s` of the edge at the last mark, and the rate of edges
    against marks. `edge_var`, `rate_var` and `covariance` are its covariance matrix;
    the rate is a random walk of variance `_WANDER` a second.
    """

    mark_s: float
    edge_s: float
    rate: float
    edge_var: float
    rate_var: float
    covariance: float = 0.0

    def predict(self, mark_s: float) -> tuple[float, float]:
        """Return the expected time of a later mark's edge, and its variance."""
        dt = mark_s - self.mark_s
        due_s = self.edge_s + self.rate * dt
        rate_part = self.rate_var + _WANDER * dt / 3
        due_var = self.edge_var + dt * (2 * self.covariance + dt * rate_part)
        return due_s, due_var

    def update(self, mark_s: float, edge_s: float, noise_var: float) -> None:
        """Take the edge of a mark into the state; `noise_var` is its own variance."""
        due_s, due_var = self.predict(mark_s)
        dt = mark_s - self.mark_s
        innovation_s = edge_s - due_s
        covariance = self.covariance + dt * (self.rate_var + _WANDER * dt / 2)
        innovation_var = due_var + noise_var
        edge_gain = due_var / innovation_var
        rate_gain = covariance / innovation_var
        self.mark_s = mark_s
        self.edge_s = due_s + edge_gain * innovation_s
        self.rate = self.rate + rate_gain * innovation_s
        self.rate_var += _WANDER * dt - rate_gain * covariance
        self.edge_var = due_var * (1 - edge_gain)
        self.covariance = covariance * (1 - edge_gain)


def in_order(marks_s: Float64s, edges_s: Float64s, reach_s: float) -> Pairing | None:
    """Return the pairs by order if the counts agree and every interval confirms it, at
    any rate; else None.
    """
    count = len(marks_s)
    if count != len(edges_s) or count < 2 or marks_s[-1] <= marks_s[0]:
        return None
    length_s = marks_s[-1] - marks_s[0]
    rate = (edges_s[-1] - edges_s[0]) / length_s
    most_s = 2 * reach_s + CLOCK_LIMIT * length_s
    if count == 2 and abs(rate - 1) * length_s > most_s:
        return None
    intervals_s = np.diff(marks_s)
    # A rate that drifts by a few ppm is still one rate.
    late_s = np.abs(np.diff(edges_s) - rate * intervals_s)
    if np.any(late_s > 2 * reach_s * max(rate, 1.0) + 5e-6 * intervals_s):
        return None
    return Pairing(np.arange(count), np.arange(count))


def search(
    marks_s: Float64s, edges_s: Float64s, reach_s: float, noise_s: float
) -> Pairing:
    """Return the pairs of the best walk, none without a seed; edges lie within
    `reach_s` of their expected time, with the standard deviation `noise_s`.
    """
    near = _best(marks_s, edges_s, reach_s, noise_s, False)
    if not len(near):
        return _best(marks_s, edges_s, reach_s, noise_s, True)
    marks_span_s = float(np.ptp(marks_s[near.marks]))
    off = abs(float(np.ptp(edges_s[near.edges])) - marks_span_s)
    nominal = off <= CLOCK_LIMIT * marks_span_s + 2 * reach_s
    if nominal and len(near) > _SURE * min(len(marks_s), len(edges_s)):
        return near
    other = _best(marks_s, edges_s, reach_s, noise_s, True)
    # Every second mark of a steady rhythm fits a clock of twice the rate: it takes many
    # more pairs to say so.
    return other if len(other) * (_SURE if nominal else 1.0) > len(near) else near


def convincing(
    pairs: int, due_s: Float64s, edges_s: Float64s, rate: float, reach_s: float
) -> bool:
    """Check whether unrelated edges would pair as often with a probability below one
    in a million: a bound (Chernoff) times the number of possible readings.

    `due_s` are the expected times of the marks' edges. If counts and rates agree, the
    order alone is enough.
    """
    near = abs(rate - 1) <= 2 * CLOCK_LIMIT
    if near and pairs == len(due_s) == len(edges_s):
        return True
    if pairs < 3:
        return False
    first_s = max(due_s[0], edges_s[0]) - reach_s
    last_s = min(due_s[-1], edges_s[-1]) + reach_s
    marks = _count_between(due_s, first_s, last_s)
    edges = _count_between(edges_s, first_s, last_s)
    span_s = float(last_s - first_s)
    tries = min(marks, edges)
    chance = min(2 * reach_s * max(marks, edges) / span_s, 0.999)
    share = min(pairs / tries, 1.0)
    if share <= chance:
        return False
    misses = (1 - share) * math.log((1 - share) / (1 - chance)) if share < 1 else 0.0
    evidence = tries * (share * math.log(share / chance) + misses)
    readings = math.log(len(due_s) * len(edges_s))
    readings += math.log1p(CLOCK_LIMIT * span_s / reach_s) if near else readings
    return evidence > readings - math.log(_CHANCE)


def _count_between(times_s: Float64s, first_s: float, last_s: float) -> int:
    return int(np.count_nonzero((times_s >= first_s) & (times_s <= last_s)))


def match(due_s: Float64s, edges_s: Float64s, reach_s: float) -> tuple[Int64s, Int64s]:
    """Pair each expected time with one edge within reach: first those that are nearest
    to each other, then the rest between them.
    """
    if not len(due_s) or not len(edges_s):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    edge_of = nearest(edges_s, due_s)
    mark_of = nearest(due_s, edges_s)
    numbers = np.arange(len(due_s))
    # Marks of the same tick have the same expected time: the first of them counts as
    # nearest.
    mutual = (due_s[mark_of[edge_of]] == due_s) & (
        np.abs(edges_s[edge_of] - due_s) <= reach_s
    )
    mutual &= np.concatenate([[True], due_s[1:] != due_s[:-1]])
    marks = numbers[mutual]
    edges = edge_of[mutual]
    free_marks = np.setdiff1d(numbers, marks)
    free_edges = np.setdiff1d(np.arange(len(edges_s)), edges)
    more = _greedy(due_s[free_marks].tolist(), edges_s[free_edges].tolist(), reach_s)
    if more:
        marks = np.sort(np.concatenate([marks, free_marks[[i for i, _ in more]]]))
        edges = np.sort(np.concatenate([edges, free_edges[[j for _, j in more]]]))
    return marks, edges


def unmatched(
    due_s: Float64s, edges_s: Float64s, marks: Int64s, edges: Int64s, reach_s: float
) -> tuple[Int64s, Int64s]:
    """Return marks and edges outside of `match` that must belong together: within
    `reach_s`, and each without another one near.
    """
    lone_marks = np.setdiff1d(np.arange(len(due_s)), marks)
    lone_edges = np.setdiff1d(np.arange(len(edges_s)), edges)
    if not len(lone_marks) or not len(lone_edges):
        return lone_marks[:0], lone_edges[:0]
    gaps_s = np.concatenate([[np.inf], np.diff(due_s), [np.inf]])
    limit_s = np.minimum(
        reach_s, np.minimum(gaps_s[lone_marks], gaps_s[lone_marks + 1]) / 2
    )
    lone_s = edges_s[lone_edges]
    first = np.searchsorted(lone_s, due_s[lone_marks] - limit_s)
    alone = np.searchsorted(lone_s, due_s[lone_marks] + limit_s) - first == 1
    return lone_marks[alone], lone_edges[first[alone]]


def _greedy(
    due_s: Sequence[float], edges_s: Sequence[float], reach_s: float
) -> list[tuple[int, int]]:
    pairs = []
    i = 0
    j = 0
    while i < len(due_s) and j < len(edges_s):
        if abs(edges_s[j] - due_s[i]) <= reach_s:
            pairs.append((i, j))
            i = i + 1
            j = j + 1
        elif edges_s[j] < due_s[i]:
            j += 1
        else:
            i += 1
    return pairs


def _best(
    marks_s: Float64s, edges_s: Float64s, reach_s: float, noise_s: float, any_rate: bool
) -> Pairing:
    walks = list(_walks(marks_s, edges_s, reach_s, noise_s, any_rate))
    best = max(walks, key=len, default={})
    edges = np.array(list(best.values()), dtype=np.int64)
    return Pairing(
        np.array(list(best), dtype=np.int64),
        edges,
        _rival(walks, best),
    )


def _walks(
    marks_s: Float64s, edges_s: Float64s, reach_s: float, noise_s: float, any_rate: bool
) -> Iterator[dict[int, int]]:
    """Yield the pairs that each seed leads to, until further seeds are not expected to
    find more.
    """
    forward = _series(marks_s, edges_s, reach_s, noise_s)
    # Backwards in time is forwards in negative time.
    backward = _series(-marks_s[::-1], -edges_s[::-1], reach_s, noise_s)
    pairs_max = min(len(marks_s), len(edges_s))
    longest = 0
    explained: set[tuple[int, int]] = set()
    steps = 0
    shorter_in_a_row = 0
    for seed in seeds(marks_s, edges_s, reach_s, any_rate):
        if (seed.mark, seed.edge) in explained:
            continue
        misses_max = len(marks_s)
        if longest:
            misses_max += _MARGIN - longest
        walk = _walk(forward, backward, seed, misses_max)
        yield walk
        explained.update(walk.items())
        steps += len(walk) + _STEPS_MIN
        shorter_in_a_row += 1
        if len(walk) > longest:
            longest = len(walk)
            shorter_in_a_row = 0
        complete = longest >= 0.9 * pairs_max
        if steps > _STEPS or (complete and shorter_in_a_row >= _CHALLENGERS):
            break


def _rival(walks: list[dict[int, int]], best: dict[int, int]) -> int:
    """Return the number of pairs of the best other reading; 0 if it is clearly worse.

    A walk that derailed shares its beginning with the best one; another reading of the
    data shares almost no pairs with it.
    """
    longest = 0
    for walk in walks:
        shared = sum(best.get(mark) == edge for mark, edge in walk.items())
        if 10 * shared < len(walk):
            longest = max(longest, len(walk))
    return longest if longest >= len(best) - _MARGIN else 0


def _series(
    marks_s: Float64s, edges_s: Float64s, reach_s: float, noise_s: float
) -> _Series:
    return _Series(marks_s.tolist(), edges_s.tolist(), edges_s, reach_s, noise_s)


def _walk(
    forward: _Series, backward: _Series, seed: Seed, misses_max: int
) -> dict[int, int]:
    """Return the pairs that a seed leads to in both directions, ascending; a walk ends
    where more than `misses_max` marks have no edge.
    """
    last_mark = len(forward.marks) - 1
    last_edge = len(forward.edges) - 1
    mirrored = Seed(
        last_mark - seed.mark, last_edge - seed.edge, seed.rate, seed.rate_u
    )
    backward_pairs = _track(backward, mirrored, misses_max)
    before = [(last_mark - mark, last_edge - edge) for mark, edge in backward_pairs]
    return dict(before[:0:-1] + _track(forward, seed, misses_max))


def _track(series: _Series, seed: Seed, misses_max: int) -> list[tuple[int, int]]:
    """Follow the edges from a seed to the end of the series."""
    marks = series.marks
    edges = series.edges
    edge_count = len(edges)
    noise_var = series.noise_s**2
    clock = _ClockFilter(
        mark_s=marks[seed.mark],
        edge_s=edges[seed.edge],
        rate=seed.rate,
        edge_var=noise_var,
        rate_var=seed.rate_u**2,
    )
    pairs = [(seed.mark, seed.edge)]
    next_edge = seed.edge + 1
    for mark in range(seed.mark + 1, len(marks)):
        steps = mark - seed.mark
        sparse = steps > _STEPS_MIN and 4 * len(pairs) < steps
        if sparse or steps - len(pairs) >= misses_max:
            break
        due_s, due_var = clock.predict(marks[mark])
        reach_s = series.reach_s + _SIGMAS * math.sqrt(due_var)
        while next_edge < edge_count and edges[next_edge] < due_s - reach_s:
            next_edge += 1
        if next_edge == edge_count:
            break
        if edges[next_edge] > due_s + reach_s:
            continue
        if reach_s > 3 * series.reach_s:
            edge = _by_vote(
                series, mark, next_edge, clock, due_s=due_s, within_s=reach_s
            )
        else:
            edge = _nearest_edge(series, mark, next_edge, due_s, clock.rate)
        if edge is None:
            continue
        clock.update(marks[mark], edges[edge], noise_var)
        pairs.append((mark, edge))
        next_edge = edge + 1
    return pairs


def _nearest_edge(
    series: _Series, mark: int, first: int, due_s: float, rate: float
) -> int | None:
    """Return the edge from `first` on that is nearest to the expected time; None where
    it belongs to the next mark.
    """
    marks = series.marks
    edges = series.edges
    edge = first
    off_s = abs(edges[edge] - due_s)
    while edge + 1 < len(edges) and abs(edges[edge + 1] - due_s) < off_s:
        edge += 1
        off_s = abs(edges[edge] - due_s)
    next_due_s = math.inf
    if mark + 1 < len(marks):
        next_due_s = due_s + rate * (marks[mark + 1] - marks[mark])
    if abs(edges[edge] - next_due_s) < off_s:
        edge -= 1
    return edge if edge >= first else None


def _by_vote(
    series: _Series,
    mark: int,
    first: int,
    clock: _ClockFilter,
    *,
    due_s: float,
    within_s: float,
) -> int | None:
    """Return the edge within a wide reach that the next marks confirm; None where they
    confirm no edge.

    Each of the next `_JURY` marks votes for an edge if another edge follows it by the
    interval of the two marks. Marks whose edge would follow the last edge of all have
    no vote; without any vote, an edge is only taken if it is the only one.
    """
    edges = series.edge_times
    stop = bisect_right(series.edges, due_s + within_s, first)
    later = np.array(series.marks[mark + 1 : mark + 1 + _JURY])
    intervals_s = later - series.marks[mark]
    after_s = clock.rate * intervals_s
    rate_u = math.sqrt(clock.rate_var)
    limits_s = 2 * series.reach_s + 2 * rate_u * intervals_s
    expected_s = edges[first:stop, np.newaxis] + after_s
    jury = int(np.count_nonzero(expected_s - limits_s <= edges[-1], axis=1).max())
    if not jury:
        return first if stop - first == 1 else None
    seen = np.searchsorted(edges, expected_s - limits_s)
    seen_s = np.append(edges, np.inf)[seen]
    votes = np.count_nonzero(seen_s <= expected_s + limits_s, axis=1)
    most = votes.max()
    if 2 * most < jury:
        return None
    off_s = np.abs(edges[first:stop] - due_s)
    off_s[votes < most] = np.inf
    return first + int(np.argmin(off_s))
