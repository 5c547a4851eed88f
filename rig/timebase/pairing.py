# SPDX-License-Identifier: Apache-2.0
"""Find which edge belongs to which mark by the pattern of their intervals, whatever the
rate, offset, and what is missing. Pure.

A seed is three marks and three edges with the same two intervals, at about the same
rate or, failing that, at any. From a seed a tracker walks to both ends: it keeps offset
and rate of the edges with their uncertainties (a Kalman filter), foretells each edge
and takes one within reach. The seed from which most marks find edges wins, unless
another reading of the data does nearly as well or unrelated edges could.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rig.timebase.pairing_seeds import (
    CLOCK_LIMIT,
    Floats,
    Indices,
    Seed,
    nearest,
    seeds,
)

#: How far a rate may wander: variance of the relative rate per second, 1e-6 in a
#: thousand seconds.
_WANDER = 1e-15
#: How many steps of the tracker all seeds together may cost, and how many seeds must
#: lose against the best before it has won.
_STEPS = 600_000
_CHALLENGERS = 3
#: A walk that finds fewer than a quarter of so many edges is given up.
_STEPS_MIN = 40
#: With this share of all that could be paired, the nominal rate is not doubted.
_SURE = 0.8
#: How many of the marks that follow are asked which edge is right, where the reach is
#: wide.
_JURY = 8
#: Standard deviations of the tracker's own uncertainty that come on top of the reach.
_SIGMAS = 4.0
#: A second reading that pairs at most so many marks less than the best leaves it open
#: which one is true.
_MARGIN = 1
#: Unrelated edges may fit by chance once in so many.
_CHANCE = 1e-6


@dataclass(frozen=True, slots=True)
class Pairing:
    """Marks and edges that belong together, ascending, and `rival`: how many another
    reading of the data pairs, as good as this.
    """

    marks: Indices
    edges: Indices
    rival: int = 0

    def __len__(self) -> int:
        return len(self.marks)


@dataclass(frozen=True, slots=True)
class _Sight:
    """Marks and edges as the tracker sees them from one end, how far an edge may lie
    from where it should, and its noise.
    """

    marks: list[float]
    edges: list[float]
    reach_s: float
    noise_s: float


def in_order(marks_s: Floats, edges_s: Floats, reach_s: float) -> Pairing | None:
    """Return the pairs that order gives when the counts agree and every interval
    confirms it, at any rate; else None.
    """
    count = len(marks_s)
    if count != len(edges_s) or count < 2 or marks_s[-1] <= marks_s[0]:
        return None
    rate = (edges_s[-1] - edges_s[0]) / (marks_s[-1] - marks_s[0])
    if count == 2 and abs(rate - 1) * (
        marks_s[-1] - marks_s[0]
    ) > 2 * reach_s + CLOCK_LIMIT * (marks_s[-1] - marks_s[0]):
        return None
    intervals_s = np.diff(marks_s)
    # A rate that drifts by a few ppm is still one rate.
    late_s = np.abs(np.diff(edges_s) - rate * intervals_s)
    if np.any(late_s > 2 * reach_s * max(rate, 1.0) + 5e-6 * intervals_s):
        return None
    return Pairing(np.arange(count), np.arange(count))


def search(marks_s: Floats, edges_s: Floats, reach_s: float, noise_s: float) -> Pairing:
    """Return the pairs of the best walk, none where there is no seed; `reach_s` is how
    far an edge may lie from where it should, `noise_s` the standard deviation of that.
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
    pairs: int, due_s: Floats, edges_s: Floats, rate: float, reach_s: float
) -> bool:
    """Return whether unrelated edges would pair so often less than once in a million: a
    bound (Chernoff) times all readings there are.

    `due_s` is when each mark's edge is foretold. Where the counts agree and the rates
    do, order alone is enough.
    """
    near = abs(rate - 1) <= 2 * CLOCK_LIMIT
    if near and pairs == len(due_s) == len(edges_s):
        return True
    if pairs < 3:
        return False
    first_s = max(due_s[0], edges_s[0]) - reach_s
    last_s = min(due_s[-1], edges_s[-1]) + reach_s
    marks, edges = (
        int(np.count_nonzero((at_s >= first_s) & (at_s <= last_s)))
        for at_s in (due_s, edges_s)
    )
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


def match(due_s: Floats, edges_s: Floats, reach_s: float) -> tuple[Indices, Indices]:
    """Pair each foretold time with one edge within reach: those nearest to each other
    first, then what is left in between.
    """
    if not len(due_s) or not len(edges_s):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    edge_of = nearest(edges_s, due_s)
    mark_of = nearest(due_s, edges_s)
    numbers = np.arange(len(due_s))
    # Marks of the same tick foretell the same time: the first of them counts as
    # nearest.
    mutual = (due_s[mark_of[edge_of]] == due_s) & (
        np.abs(edges_s[edge_of] - due_s) <= reach_s
    )
    mutual &= np.concatenate([[True], edge_of[1:] != edge_of[:-1]])
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
    due_s: Floats, edges_s: Floats, marks: Indices, edges: Indices, reach_s: float
) -> tuple[Indices, Indices]:
    """Return what `match` left over and yet must belong together: a mark and an edge
    within `reach_s`, each with no other near.
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
    marks_s: Floats, edges_s: Floats, reach_s: float, noise_s: float, any_rate: bool
) -> Pairing:
    # Backwards in time is forwards in the negative.
    ahead = _Sight(marks_s.tolist(), edges_s.tolist(), reach_s, noise_s)
    behind = _Sight(
        (-marks_s[::-1]).tolist(), (-edges_s[::-1]).tolist(), reach_s, noise_s
    )
    most = min(len(marks_s), len(edges_s))
    walks: list[dict[int, int]] = []
    best: dict[int, int] = {}
    explained: set[tuple[int, int]] = set()
    steps = 0
    lost = 0
    for seed in seeds(marks_s, edges_s, reach_s, any_rate):
        if (seed.mark, seed.edge) in explained:
            continue
        misses = len(marks_s) - len(best) + _MARGIN if best else len(marks_s)
        walk = _walk(ahead, behind, seed, misses)
        walks.append(walk)
        explained.update(walk.items())
        steps = steps + len(walk) + _STEPS_MIN
        lost = lost + 1
        if len(walk) > len(best):
            best = walk
            lost = 0
        if steps > _STEPS or (lost >= _CHALLENGERS and len(best) >= 0.9 * most):
            break
    # A walk that derailed shares its beginning with the best one; another reading of
    # the data shares next to nothing.
    others = [
        len(walk)
        for walk in walks
        if 10 * sum(best.get(i) == j for i, j in walk.items()) < len(walk)
    ]
    rival = max(others, default=0)
    return Pairing(
        np.array(list(best), dtype=np.int64),
        np.array(list(best.values()), dtype=np.int64),
        rival if rival >= len(best) - _MARGIN else 0,
    )


def _walk(ahead: _Sight, behind: _Sight, seed: Seed, misses: int) -> dict[int, int]:
    """Return the pairs that a seed leads to, ascending; the walk ends where more than
    `misses` marks have no edge.
    """
    last_mark = len(ahead.marks) - 1
    last_edge = len(ahead.edges) - 1
    mirrored = Seed(
        last_mark - seed.mark, last_edge - seed.edge, seed.rate, seed.rate_u
    )
    before = [
        (last_mark - i, last_edge - j) for i, j in _track(behind, mirrored, misses)
    ]
    return dict(before[:0:-1] + _track(ahead, seed, misses))


def _track(sight: _Sight, seed: Seed, misses: int) -> list[tuple[int, int]]:
    """Follow the edges from a seed to the end: offset and rate with their covariance,
    updated by each edge that is taken.
    """
    marks = sight.marks
    edges = sight.edges
    reach_s = sight.reach_s
    noise = sight.noise_s**2
    pairs = [(seed.mark, seed.edge)]
    at_s = marks[seed.mark]
    edge_s = edges[seed.edge]
    rate = seed.rate
    offset_var = noise
    both_var = 0.0
    rate_var = seed.rate_u**2
    j = seed.edge + 1
    count = len(edges)
    steps = 0
    for i in range(seed.mark + 1, len(marks)):
        steps += 1
        if steps - len(pairs) >= misses or (
            steps > _STEPS_MIN and 4 * len(pairs) < steps
        ):
            break
        dt = marks[i] - at_s
        due_s = edge_s + rate * dt
        due_var = offset_var + dt * (2 * both_var + dt * (rate_var + _WANDER * dt / 3))
        reach = reach_s + _SIGMAS * math.sqrt(due_var)
        while j < count and edges[j] < due_s - reach:
            j += 1
        if j == count:
            break
        if edges[j] > due_s + reach:
            continue
        k = j
        if reach > 3 * reach_s:
            k = _vote(sight, i, j, due_s, reach, rate, math.sqrt(rate_var))
            if k < 0:
                continue
        else:
            while k + 1 < count and abs(edges[k + 1] - due_s) < abs(edges[k] - due_s):
                k += 1
            next_s = (
                due_s + rate * (marks[i + 1] - marks[i])
                if i + 1 < len(marks)
                else math.inf
            )
            if abs(edges[k] - next_s) < abs(edges[k] - due_s):
                k -= 1  # that one is the next mark's
                if k < j:
                    continue
        off_s = edges[k] - due_s
        both_var += dt * (rate_var + _WANDER * dt / 2)
        gain = due_var / (due_var + noise)
        rate_gain = both_var / (due_var + noise)
        at_s = marks[i]
        edge_s = due_s + gain * off_s
        rate = rate + rate_gain * off_s
        rate_var += _WANDER * dt - rate_gain * both_var
        offset_var = due_var * (1 - gain)
        both_var = both_var * (1 - gain)
        pairs.append((i, k))
        j = k + 1
    return pairs


def _vote(
    sight: _Sight,
    mark: int,
    first: int,
    due_s: float,
    within_s: float,
    rate: float,
    rate_u: float,
) -> int:
    """Return which edge within a wide reach the marks that follow speak for; -1 where
    they speak for none.
    """
    marks = sight.marks
    edges = sight.edges
    reach_s = sight.reach_s
    following = [
        marks[i] - marks[mark]
        for i in range(mark + 1, min(mark + 1 + _JURY, len(marks)))
    ]
    stop = bisect_right(edges, due_s + within_s, first)
    if not following:
        return first if stop - first == 1 else -1
    witnesses = [(rate * dt, 2 * reach_s + 2 * rate_u * dt) for dt in following]
    count = len(edges)
    votes = []
    for k in range(first, stop):
        edge_s = edges[k]
        seen = 0
        for after_s, limit_s in witnesses:
            at = bisect_left(edges, edge_s + after_s - limit_s)
            seen += at < count and edges[at] <= edge_s + after_s + limit_s
        votes.append(seen)
    most = max(votes)
    if 2 * most < len(following):
        return -1
    return min(
        (k for k in range(first, stop) if votes[k - first] == most),
        key=lambda k: abs(edges[k] - due_s),
    )
