# SPDX-License-Identifier: Apache-2.0
"""Proofs that a solution is optimal: branch and bound for dense graphs, CP-SAT for
sparse ones.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rig.errors import ConfigError
from scenarios.tasks.qubo.cost import chosen
from scenarios.tasks.qubo.graph import Graph
from scenarios.tasks.qubo.library import Library

#: Branch and bound: the sizes of its bit sets, and the branches of about a minute.
EXACT_NODES_MAX = 512
EXACT_BRANCHES = 60_000_000


@dataclass(frozen=True, slots=True)
class Proof:
    """A best vector (nodes, int8), whether it is proven that there is no better one,
    and the method.
    """

    vector: NDArray[np.int8]
    proven: bool
    method: str


def by_branching(
    graph: Graph, known: NDArray[np.int8], branches: int = EXACT_BRANCHES
) -> Proof:
    """Look for a larger independent set than `known` until there is provably none, or
    for `branches` branches.
    """
    if graph.nodes > EXACT_NODES_MAX:
        return Proof(known, False, "branch and bound")
    c = ctypes.CDLL(
        str(Library("qubo-exact", [Path(__file__).with_name("exact.c")]).compiled())
    )
    starts, neighbours = graph.rows
    vector = np.zeros(max(graph.nodes, 1), np.uint16)
    size = int(np.count_nonzero(known))
    arrays = [array.ctypes.data_as(ctypes.c_void_p) for array in (starts, neighbours)]
    position = vector.ctypes.data_as(ctypes.c_void_p)
    most = c.exact_independent(
        graph.nodes, *arrays, size, ctypes.c_uint64(branches), position
    )
    best = chosen(graph, vector[:most]) if most > size else known
    return Proof(best, most >= 0, "branch and bound")


def by_cp_sat(
    graph: Graph, known: NDArray[np.int8], limit_s: float = 60.0, workers: int = 1
) -> Proof:
    """Ask CP-SAT for a larger independent set than `known` until there is provably
    none, or for `limit_s`.

    Of each clique of a greedy cover of the edges at most one node is chosen: a bound
    far better than that of single edges.
    """
    try:
        from ortools.sat.python import cp_model
    except ImportError as error:
        raise ConfigError(
            "CP-SAT is not installed",
            path="--prove",
            try_next="pip install -r lab/requirements.txt",
        ) from error
    model = cp_model.CpModel()
    nodes = [model.new_bool_var("") for _ in range(graph.nodes)]
    for clique in cliques(graph):
        model.add_at_most_one(nodes[node] for node in clique)
    for node, value in zip(nodes, known, strict=True):
        model.add_hint(node, int(value))
    model.maximize(sum(nodes))
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = limit_s
    solver.parameters.num_workers = workers
    solver.parameters.linearization_level = 2
    status = solver.solve(model)
    best = known
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        vector = np.array([solver.value(node) for node in nodes], np.int8)
        best = vector if vector.sum() > known.sum() else known
    return Proof(best, status == cp_model.OPTIMAL, "CP-SAT")


def cliques(graph: Graph) -> list[list[int]]:
    """Return cliques that cover all edges: each edge not yet covered is extended
    greedily."""
    starts, neighbours = graph.rows
    near = [
        set(neighbours[starts[node] : starts[node + 1]].tolist())
        for node in range(graph.nodes)
    ]
    covered: set[tuple[int, int]] = set()
    result = []
    for first, other in zip(*(end.tolist() for end in graph.ends), strict=True):
        if (first, other) in covered:
            continue
        clique = [first, other]
        common = near[first] & near[other]
        while common:
            node = min(common)
            clique.append(node)
            common &= near[node]
        covered |= set(combinations(sorted(clique), 2))
        result.append(clique)
    return result
