# SPDX-License-Identifier: Apache-2.0
"""Graphs are edge for edge those of networkx, for any size, density and seed."""

from __future__ import annotations

import tracemalloc

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.errors import ConfigError
from scenarios.tasks.qubo.graph import Workload, from_edges, generate


def published(workload: Workload) -> networkx.Graph:
    """Make the graph as the published script does."""
    return networkx.gnm_random_graph(
        workload.nodes, int(0.5 * workload.density * workload.nodes**2), workload.seed
    )


def edge_list(graph: networkx.Graph) -> list[tuple[int, int]]:
    return sorted((min(edge), max(edge)) for edge in graph.edges())


def assert_same(workload: Workload) -> None:
    theirs = published(workload)
    ours = generate(workload)
    lesser, greater = ours.ends
    assert list(zip(lesser.tolist(), greater.tolist(), strict=True)) == edge_list(
        theirs
    )
    assert ours.edges == workload.edges == theirs.number_of_edges()


@settings(deadline=None, max_examples=150)
@given(st.integers(0, 90), st.floats(0, 1.3), st.integers(-(2**40), 2**80))
def test_the_edges_are_those_of_networkx(nodes: int, density: float, seed: int) -> None:
    assert_same(Workload(nodes, density, seed))


@pytest.mark.parametrize(
    ("nodes", "density", "seed"),
    [
        (250, 0.05, 4),
        (256, 0.25, 0),
        (255, 0.98, 1),
        (500, 0.999, 2),
        (1000, 0.01, 0),
        (1023, 0.1, 3),
        (1024, 0.05, 1),
    ],
)
def test_so_are_those_of_larger_graphs_and_of_sizes_around_a_power_of_two(
    nodes: int, density: float, seed: int
) -> None:
    assert_same(Workload(nodes, density, seed))


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 60), st.floats(0, 1.1), st.integers(0, 99))
def test_the_rows_hold_the_sorted_neighbours_of_each_node(
    nodes: int, density: float, seed: int
) -> None:
    workload = Workload(nodes, density, seed)
    theirs = published(workload)
    starts, neighbours = generate(workload).rows
    assert (starts.dtype, neighbours.dtype) == (np.int64, np.int32)
    assert len(neighbours) == starts[-1] == 2 * workload.edges
    for node in range(nodes):
        assert neighbours[starts[node] : starts[node + 1]].tolist() == sorted(
            theirs[node]
        )


def test_the_smallest_published_density_has_no_edge_and_a_full_one_all() -> None:
    assert [generate(Workload(10, 0.01, seed)).edges for seed in range(5)] == [0] * 5
    assert generate(Workload(40, 1.0, 0)).edges == 40 * 39 // 2


def test_the_hash_is_of_the_graph_and_not_of_how_it_was_made() -> None:
    made = generate(Workload(60, 0.1, 3))
    edges = np.stack(made.ends, axis=1)
    shuffled = np.random.default_rng(1).permutation(edges)[:, ::-1]
    assert from_edges(60, np.concatenate([shuffled, edges[:5]])).sha256 == made.sha256
    assert from_edges(60, edges[1:]).sha256 != made.sha256
    assert from_edges(61, edges).sha256 != made.sha256


def test_the_hash_is_that_of_the_documented_bytes() -> None:
    # sha256 of "neurorig graph 1\n", 4 nodes, 2 edges, (0, 2), (1, 3), each number 4
    # bytes, low first; by another program.
    known = "4fb39854dcad26dd936fea2cd92870fd5adc6ee2ff76f724a1cd921a1f0a8b4a"
    assert from_edges(4, np.array([[3, 1], [0, 2]])).sha256 == known


@pytest.mark.parametrize("edges", [[[1, 1]], [[0, 4]], [[-1, 2]]])
def test_loops_and_strange_nodes_are_refused(edges: list[list[int]]) -> None:
    with pytest.raises(ConfigError):
        from_edges(4, np.array(edges))


@pytest.mark.parametrize(
    ("nodes", "density"),
    [(-1, 0.1), (65_536, 0.1), (10, -0.1), (10, float("nan")), (10, float("inf"))],
)
def test_impossible_workloads_are_refused(nodes: int, density: float) -> None:
    with pytest.raises(ConfigError):
        Workload(nodes, density, 0)


def peak_b(workload: Workload) -> int:
    tracemalloc.start()
    try:
        assert len(generate(workload).rows[1]) == 2 * workload.edges
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_grows_with_the_edges_and_not_with_the_square_of_the_nodes() -> None:
    # A byte a pair would be 2.5 GB here.
    assert (
        peak_b(Workload(50_000, 0.0005, 0))
        < 100 * Workload(50_000, 0.0005, 0).edges + 20_000_000
    )
