# SPDX-License-Identifier: Apache-2.0
"""Problems with weights: their bytes, and the search for them, against every vector and
against optima known by construction.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import replace

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.errors import DataError
from scenarios.tasks.qubo import edges, problem_wire, reference
from scenarios.tasks.qubo.graph import Graph, Workload, from_edges, generate
from scenarios.tasks.qubo.problem import (
    QuadraticProblem,
    cut,
    independent_set,
    of_graph,
)
from scenarios.tasks.qubo.reference import Solver
from tests.scenarios.tasks.qubo.conftest import Firmware
from tests.scenarios.tasks.qubo.problems import (
    frustrated_loops,
    least_cost,
    small_problems,
)

GOOD, TRUNCATED, TOO_LARGE, CHECKSUM, NODE, NUMBER, EDGES, KIND, WEIGHT = range(9)


def signed(first: int, count: int, body: bytes) -> bytes:
    """Put a right checksum to any body."""
    sizes = struct.pack("<II", first, count)
    return sizes + struct.pack("<I", zlib.crc32(sizes + body)) + body


def same(one: QuadraticProblem, other: QuadraticProblem) -> bool:
    """Compare what each vector costs."""
    parts = (
        (one.linear, other.linear),
        (one.pairs, other.pairs),
        (one.quadratic, other.quadratic),
    )
    equal = all(np.array_equal(*pair) for pair in parts)
    return equal and (one.kind, one.nodes) == (other.kind, other.nodes)


@settings(deadline=None)
@given(small_problems(40))
def test_a_problem_is_read_from_its_bytes_again(problem: QuadraticProblem) -> None:
    again = problem_wire.decode(problem_wire.encode(problem), problem.kind)
    assert same(again, problem)


def test_a_set_without_weights_has_the_bytes_of_its_graph() -> None:
    graph = generate(Workload(250, 0.05, 0))
    assert problem_wire.encode(of_graph(graph)) == edges.encode(graph)


@settings(deadline=None, max_examples=100)
@given(small_problems(), st.integers(0, 2**32 - 1))
def test_small_problems_are_solved_to_the_optimum(
    firmware: Firmware, problem: QuadraticProblem, seed: int
) -> None:
    # The search proves nothing: one seed of some thousands ends beside the optimum.
    costs = []
    for each in range(4):
        found = firmware.ask(
            problem_wire.encode(problem), seed=(seed + each) % 2**32, polls=200
        )
        assert found.refusal == GOOD
        assert found.cost == problem.cost(found.vector(problem.nodes))
        costs.append(found.cost)
    assert min(costs) == least_cost(problem)


@pytest.mark.parametrize("seed", [0, 8, 10])
def test_a_heavy_node_that_is_forced_in_for_two_light_ones_counts(
    firmware: Firmware, seed: int
) -> None:
    # Nodes 0 and 2 keep node 1 out; node 3 is alone. No swap leads to 1 and 3.
    problem = QuadraticProblem(
        kind="independent-set",
        nodes=4,
        linear=np.array([-1, -3, -1, -1]),
        pairs=np.array([1, 6]),
        quadratic=np.array([8, 8]),
    )
    found = firmware.ask(problem_wire.encode(problem), seed=seed, polls=200)
    assert found.cost == -4


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_three_nodes_are_searched_beyond_the_first_local_optimum(
    firmware: Firmware, seed: int
) -> None:
    problem = QuadraticProblem(
        kind="qubo",
        nodes=3,
        linear=np.array([2, 14336, -1]),
        pairs=np.array([1, 5]),
        quadratic=np.array([-5, -14334]),
    )
    found = firmware.ask(problem_wire.encode(problem), seed=seed, polls=200)
    assert found.cost == -2


@settings(deadline=None, max_examples=200)
@given(small_problems(30), st.data())
def test_python_and_firmware_agree_on_damaged_problems_whose_checksum_is_right(
    firmware: Firmware, problem: QuadraticProblem, data: st.DataObject
) -> None:
    whole = problem_wire.encode(problem)
    body = bytearray(whole[edges.HEAD.size :])
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(body)))
        there = data.draw(st.binary(max_size=2))
        body[place : place + data.draw(st.integers(0, 2))] = there
    count = max(problem.edges + data.draw(st.integers(-1, 1)), 0)
    (first,) = struct.unpack_from("<I", whole)
    damaged = signed(first, count, bytes(body))
    refused = firmware.ask(damaged).refusal
    try:
        again = problem_wire.decode(damaged)
    except DataError:
        assert refused != GOOD
    else:
        # A device counts in 31 bits, and a node's weight in 16.
        assert refused in (GOOD, WEIGHT)
        assert problem_wire.kind_of(again) in (first >> 24, 0, 3)


GENERAL_KIND = 3 << 24


@pytest.mark.parametrize(
    ("data", "refusal"),
    [
        (signed(2 | 4 << 24, 0, b"\0\0\0"), KIND),
        (signed(2 | GENERAL_KIND, 1, bytes([2, 2, 1, 0, 0])), WEIGHT),
        (signed(2 | GENERAL_KIND, 1, bytes([2, 2, 1, 0])), TRUNCATED),
        (signed(1 | GENERAL_KIND, 0, b"\xff\xff\xff\xff\x1f"), NUMBER),
        (signed(1 | GENERAL_KIND, 0, b"\xff\xff\xff\xff\x0f"), WEIGHT),
        (signed(1 | 1 << 24, 0, b"\0"), WEIGHT),
        (signed(1 | 1 << 24, 0, b"\xff\xff\x04"), WEIGHT),
        (signed(1 | 1 << 24, 0, b""), TRUNCATED),
        (signed(40_000 | 2 << 24, 0, bytes(39_999)), TOO_LARGE),
    ],
)
def test_each_fault_has_its_refusal(
    firmware: Firmware, data: bytes, refusal: int
) -> None:
    assert firmware.ask(data).refusal == refusal


@pytest.mark.parametrize("seed", [1, 2])
def test_a_planted_cut_is_found(compiler: str, seed: int) -> None:
    problem, best = frustrated_loops(2000, 2400, seed)
    solver = Solver(problem_wire.encode(problem))
    solver.start(seed)
    found = solver.search(20.0, target=-best)
    assert problem.cost(found.vector) == found.cost == -best


def test_the_best_cut_of_a_two_sided_graph_has_all_its_edges(compiler: str) -> None:
    random = np.random.default_rng(3)
    ends = np.stack([random.integers(0, 500, 6000), random.integers(500, 1000, 6000)])
    graph = from_edges(1000, ends.T)
    pairs = graph.pairs.astype(np.int64)
    problem = cut(1000, pairs, np.ones(len(pairs), np.int64))
    found = Solver(problem_wire.encode(problem)).search(20.0, target=-graph.edges)
    assert found.cost == -graph.edges


@pytest.mark.parametrize("seed", range(3))
def test_a_set_of_most_weight_is_the_one_that_networkx_finds(
    compiler: str, seed: int
) -> None:
    graph = generate(Workload(60, 0.25, seed))
    weights = np.random.default_rng(seed).integers(1, 100, 60)
    other = networkx.complement(networkx.gnm_random_graph(60, graph.edges, seed))
    networkx.set_node_attributes(other, dict(enumerate(weights.tolist())), "weight")
    _, most = networkx.max_weight_clique(other)
    problem = independent_set(graph, weights)
    solver = Solver(problem_wire.encode(problem))
    assert solver.search(5.0, target=-most).cost == -most


def test_a_search_goes_the_same_way_however_it_is_cut(compiler: str) -> None:
    problem, _ = frustrated_loops(300, 400, 5)
    wire = problem_wire.encode(problem)
    vectors = []
    for work in (100, 5_000):
        solver = Solver(wire)
        solver.start(3)
        while solver.cost > -450:
            solver.step(work, -450)
        vectors.append(solver.bits)
    assert vectors[0] == vectors[1]


def test_memory_is_that_of_the_description(compiler: str) -> None:
    nodes, count = 800, 19_176
    random = np.random.default_rng(1)
    every = np.flatnonzero(np.triu(np.ones((nodes, nodes)), 1))
    pairs = np.sort(random.choice(every, count, replace=False))
    unit = cut(nodes, pairs, np.ones(count, np.int64))
    needed_b = reference.memory_b(problem_wire.encode(unit))
    assert 12 * nodes + 4 * count < needed_b < 13 * nodes + 4 * count + 1000
    assert needed_b > 84_000
    heavier = cut(nodes, pairs, np.full(count, 3))
    more_b = reference.memory_b(problem_wire.encode(heavier)) - needed_b
    # Weights take 4 bytes at each end of an edge, and gains have more lists.
    assert more_b == 8 * count + 4 * nodes + 2 * 2 * 16 * 16
    plain = independent_set(Graph(nodes, pairs.astype(np.uint64)))
    set_b = reference.memory_b(problem_wire.encode(plain))
    weighted = replace(plain, linear=plain.linear - 1)
    assert reference.memory_b(problem_wire.encode(weighted)) == set_b + 2 * nodes
