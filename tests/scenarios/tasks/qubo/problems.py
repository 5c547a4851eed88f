# SPDX-License-Identifier: Apache-2.0
"""Problems for tests, their optima by trying every vector, and ones whose optimum is
known by their making.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import strategies as st

from scenarios.tasks.qubo.graph import Graph
from scenarios.tasks.qubo.problem import GENERAL, QuadraticProblem, cut, independent_set


@st.composite
def small_problems(draw: st.DrawFn, nodes_max: int = 12) -> QuadraticProblem:
    """Draw a problem of any kind."""
    nodes = draw(st.integers(1, nodes_max))
    every = [one * nodes + other for one, other in combinations(range(nodes), 2)]
    chosen = draw(st.lists(st.sampled_from(every), unique=True)) if every else []
    pairs = np.array(sorted(chosen), np.int64)
    kind = draw(st.sampled_from(["signs", "cut", "set", "general"]))
    if kind == "signs":
        return cut(nodes, pairs, numbers(draw, len(pairs), st.sampled_from([-1, 1])))
    most = draw(st.sampled_from([3, 200, 60_000, 1_000_000]))
    signed = st.integers(-most, most).filter(bool)
    if kind == "cut":
        return cut(nodes, pairs, numbers(draw, len(pairs), signed))
    if kind == "set":
        weights = numbers(draw, nodes, st.integers(1, min(most, 65_535)))
        return independent_set(Graph(nodes, pairs.astype(np.uint64)), weights)
    linear = numbers(draw, nodes, st.integers(-most, most))
    return QuadraticProblem(
        GENERAL, nodes, linear, pairs, numbers(draw, len(pairs), signed)
    )


def numbers(
    draw: st.DrawFn, count: int, of: st.SearchStrategy[int]
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Draw an array of numbers."""
    return np.array(draw(st.lists(of, min_size=count, max_size=count)), np.int64)


def least_cost(problem: QuadraticProblem) -> int:
    """Return the least cost of all vectors, by the matrix of the problem."""
    nodes = problem.nodes
    matrix = np.diag(problem.linear)
    lesser, greater = problem.ends
    matrix[lesser, greater] = problem.quadratic
    vectors = np.arange(1 << nodes)[:, None] >> np.arange(nodes) & 1
    return int(((vectors @ matrix) * vectors).sum(axis=1).min())


def frustrated_loops(nodes: int, loops: int, seed: int) -> tuple[QuadraticProblem, int]:
    """Return a cut whose best weight is known: a sum of loops, each with one edge that
    the planted cut cannot satisfy (Hen et al. 2015).

    Of a loop of k edges, any cut satisfies k - 1 at most, as the number of its edges
    across is even, and the planted one does. So it is best for the sum.
    """
    random = np.random.default_rng(seed)
    side = random.integers(0, 2, nodes)
    total: dict[int, int] = {}
    best = 0
    for _ in range(loops):
        loop = random.choice(nodes, random.integers(3, 9), replace=False)
        ends = np.sort(np.stack([loop, np.roll(loop, 1)]), axis=0)
        across = side[ends[0]] != side[ends[1]]
        # 1 where the planted cut has the edge across, so that it gains; -1 elsewhere.
        weights = np.where(across, 1, -1)
        odd = random.integers(len(loop))
        weights[odd] = -weights[odd]
        best += int(weights[across].sum())
        for pair, weight in zip(ends[0] * nodes + ends[1], weights, strict=True):
            total[int(pair)] = total.get(int(pair), 0) + int(weight)
    pairs = np.array(sorted(pair for pair, weight in total.items() if weight))
    return cut(nodes, pairs, np.array([total[int(pair)] for pair in pairs])), best
