# SPDX-License-Identifier: Apache-2.0
"""Proofs agree with networkx's exact search, find missed solutions, and admit when they
did not finish.
"""

from __future__ import annotations

from itertools import combinations

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.qubo.proof import by_branching, by_cp_sat, cliques
from scenarios.tasks.qubo.cost import cost
from scenarios.tasks.qubo.graph import Workload, generate

pytestmark = pytest.mark.usefixtures("compiler")


def largest(workload: Workload) -> int:
    graph = networkx.gnm_random_graph(
        workload.nodes, int(0.5 * workload.density * workload.nodes**2), workload.seed
    )
    return len(networkx.max_weight_clique(networkx.complement(graph), weight=None)[0])


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 26), st.floats(0, 1.1), st.integers(0, 99))
def test_branching_finds_the_optimum_from_nothing(
    nodes: int, density: float, seed: int
) -> None:
    workload = Workload(nodes, density, seed)
    graph = generate(workload)
    proof = by_branching(graph, np.zeros(nodes, np.int8))
    assert proof.proven
    assert cost(graph, proof.vector) == -largest(workload)


def test_branching_across_words_agrees_with_networkx() -> None:
    workload = Workload(110, 0.25, 2)
    graph = generate(workload)
    proof = by_branching(graph, np.zeros(110, np.int8))
    assert proof.proven
    assert cost(graph, proof.vector) == -largest(workload)


def test_a_search_that_was_cut_off_proves_nothing() -> None:
    graph = generate(Workload(250, 0.25, 0))
    assert not by_branching(graph, np.zeros(250, np.int8), branches=100).proven


def test_more_nodes_than_fit_prove_nothing() -> None:
    assert not by_branching(
        generate(Workload(513, 0.25, 0)), np.zeros(513, np.int8)
    ).proven


def test_cliques_cover_every_edge_and_are_cliques() -> None:
    graph = generate(Workload(80, 0.25, 0))
    edges = set(zip(*(end.tolist() for end in graph.ends), strict=True))
    covered = set()
    for clique in cliques(graph):
        covered |= set(combinations(sorted(clique), 2))
    assert covered == edges


def test_cp_sat_proves_a_sparse_graph() -> None:
    pytest.importorskip("ortools")
    workload = Workload(60, 0.05, 0)
    graph = generate(workload)
    proof = by_cp_sat(graph, np.zeros(60, np.int8))
    assert proof.proven
    assert cost(graph, proof.vector) == -largest(workload)
