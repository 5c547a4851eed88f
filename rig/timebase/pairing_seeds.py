# SPDX-License-Identifier: Apache-2.0
"""Seeds of the search for a pairing: a few marks and edges that may belong together."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

import numpy as np

from rig.arrays import Float64s, Int64s

#: Two crystals differ by less than this; 1.33x and 2x (a monitor that logs too many
#: channels) differ by far more.
CLOCK_LIMIT = 500e-6
#: Rates that are tried if the nominal one fits no interval.
_RATES = (1 / 16, 16.0)
#: Number of marks with seeds: from either end, and spread over the whole.
_END_SEEDS = 8
_SPREAD_SEEDS = 16
#: Edges that are tried for each mark, and number of marks to either side that rate a
#: seed.
_SEED_EDGES = 64
_CHUNK = 12


@dataclass(frozen=True, slots=True)
class Seed:
    """A mark and an edge that may belong together, and the rate of the clocks near
    them."""

    mark: int
    edge: int
    rate: float
    rate_u: float


def nearest(times_s: Float64s, due_s: Float64s) -> Int64s:
    """Return the index of the time nearest to each expected one."""
    after = np.clip(np.searchsorted(times_s, due_s), 1, max(len(times_s) - 1, 1))
    if len(times_s) < 2:
        return np.zeros(len(due_s), dtype=np.int64)
    return after - (due_s - times_s[after - 1] <= times_s[after] - due_s)


def seeds(
    marks_s: Float64s, edges_s: Float64s, reach_s: float, any_rate: bool
) -> list[Seed]:
    """Return the seeds, the best first: by the number of marks around them that find an
    edge, then by their distance from equal order.
    """
    if len(marks_s) < 3 or len(edges_s) < 3:
        return []
    count = len(marks_s) - 2
    spread = np.linspace(0, count - 1, min(count, _SPREAD_SEEDS)).astype(np.int64)
    ends = np.arange(min(count, _END_SEEDS))
    steps_s = np.diff(edges_s)
    ranked: list[tuple[float, int, Seed]] = []
    for mark in np.unique(np.concatenate([ends, count - 1 - ends, spread])).tolist():
        ranked += _seeds_of(
            mark, marks_s, edges_s, steps_s=steps_s, reach_s=reach_s, any_rate=any_rate
        )
    ranked.sort(key=lambda entry: entry[:2])
    return [seed for _, _, seed in ranked]


def _seeds_of(
    mark: int,
    marks_s: Float64s,
    edges_s: Float64s,
    *,
    steps_s: Float64s,
    reach_s: float,
    any_rate: bool,
) -> list[tuple[float, int, Seed]]:
    """Return the seeds at one mark, each after its two keys of order."""
    one_s = float(marks_s[mark + 1] - marks_s[mark])
    two_s = float(marks_s[mark + 2] - marks_s[mark + 1])
    whole_s = one_s + two_s
    if min(one_s, two_s) <= 2 * reach_s:
        return []
    first_s = steps_s[:-1]
    second_s = steps_s[1:]
    if any_rate:
        rates = (first_s + second_s) / whole_s
        error_s = 2 * reach_s * whole_s * np.maximum(rates, 1.0)
        fits = np.abs(second_s * one_s - first_s * two_s) <= error_s
        fits &= (rates >= _RATES[0]) & (rates <= _RATES[1])
        fits &= np.minimum(first_s, second_s) > 2 * reach_s
    else:
        fits = np.abs(first_s - one_s) <= 2 * reach_s + 2 * CLOCK_LIMIT * one_s
        fits &= np.abs(second_s - two_s) <= 2 * reach_s + 2 * CLOCK_LIMIT * two_s
    edges = np.flatnonzero(fits)
    if not len(edges):
        return []
    marks = len(marks_s)
    total = len(edges_s)
    from_end = (total - edges) - (marks - mark)
    disorder = np.minimum(np.abs(edges - mark), np.abs(from_end))
    disorder = np.minimum(disorder, np.abs(edges - mark * total // marks))
    order = np.argsort(disorder, kind="stable")[:_SEED_EDGES]
    edges = edges[order]
    rates = (first_s[edges] + second_s[edges]) / whole_s
    rate_u = 2 * reach_s / whole_s
    if not any_rate:
        rate_u = min(rate_u, CLOCK_LIMIT)
        rates = np.clip(rates, 1 - CLOCK_LIMIT, 1 + CLOCK_LIMIT)
    around_s = marks_s[max(mark - _CHUNK, 0) : mark + _CHUNK + 1] - marks_s[mark]
    scores = _scores(around_s, edges_s, edges, rates, rate_u=rate_u, reach_s=reach_s)
    seeds = []
    for score, at, edge, rate in zip(scores, order, edges, rates, strict=True):
        seed = Seed(mark, int(edge), float(rate), rate_u)
        seeds.append((-round(float(score), 2), int(disorder[at]), seed))
    return seeds


def _scores(
    around_s: Float64s,
    edges_s: Float64s,
    edges: Int64s,
    rates: Float64s,
    *,
    rate_u: float,
    reach_s: float,
) -> Float64s:
    """Return the share of the marks around a mark that find an edge.

    There is a share for each of `edges`, taken as the mark's own, with its rate;
    `around_s` are the times of the marks from the mark on.
    """
    due_s = edges_s[edges][:, None] + rates[:, None] * around_s
    away_s = np.abs(
        edges_s[nearest(edges_s, due_s.ravel())].reshape(due_s.shape) - due_s
    )
    # Far from the mark the rate is not known well enough to tell an edge from the next.
    usual_s = median(np.diff(around_s).tolist())
    limit_s = 2 * reach_s + np.minimum(rate_u * np.abs(around_s), usual_s / 4)
    share: Float64s = np.mean(
        away_s <= limit_s * np.maximum(rates[:, None], 1.0), axis=1
    )
    return share
