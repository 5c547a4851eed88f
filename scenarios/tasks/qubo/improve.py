# SPDX-License-Identifier: Apache-2.0
"""Rows of the table of best known solutions, made by local search."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from scenarios.tasks.qubo.cost import cost
from scenarios.tasks.qubo.graph import Graph, Workload, generate
from scenarios.tasks.qubo.reference import Solver
from scenarios.tasks.qubo.targets import Target, packed


@dataclass(frozen=True, slots=True)
class Solution:
    """A binary vector (nodes, int8) and the method that found it."""

    method: str
    vector: NDArray[np.int8]


def improvements(
    workload: Workload, search_s: float, seeds: Sequence[int], known: Target | None
) -> Iterator[Target]:
    """Search a workload for `search_s` from each seed; yield the best row so far after
    each search, the known solution included.
    """
    graph = generate(workload)
    for candidate in local_searches(graph, search_s, seeds):
        known = row(workload, graph, best(graph, [candidate], known))
        yield known


def local_searches(
    graph: Graph, search_s: float, seeds: Sequence[int]
) -> Iterator[Solution]:
    """Yield the result of a local search from each seed."""
    solver = Solver(graph)
    for seed in seeds:
        solver.start(seed)
        result = solver.search(search_s)
        yield Solution(f"local search of {search_s:g} s, seed {seed}", result.vector)


def best(
    graph: Graph, candidates: Iterable[Solution], known: Target | None
) -> Solution:
    """Return the candidate of the lowest cost; the known solution where none is lower.

    Costs are evaluated on the graph: a solver's own count is not trusted.
    """
    solution = Solution("none", np.zeros(graph.nodes, np.int8))
    if known is not None:
        solution = Solution(known.method, known.vector)
    lowest = cost(graph, solution.vector)
    for candidate in candidates:
        candidate_cost = cost(graph, candidate.vector)
        if candidate_cost < lowest:
            solution = candidate
            lowest = candidate_cost
    return solution


def row(
    workload: Workload, graph: Graph, solution: Solution, proven: bool = False
) -> Target:
    """Return the row of a solution, with today's date and no published cost."""
    return Target(
        nodes=graph.nodes,
        density=workload.density,
        seed=workload.seed,
        graph=graph.sha256,
        cost=cost(graph, solution.vector),
        proven=proven,
        method=solution.method,
        date=datetime.now(UTC).date().isoformat(),
        published=None,
        solution=packed(solution.vector),
    )
