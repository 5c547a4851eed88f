# SPDX-License-Identifier: Apache-2.0
"""The one-flip search on torch, on the processor: exact where the optimum is proven.
Needs torch (the extra `gpu` has it).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.interfaces.context import BenchContext
from rig.interfaces.cpu_program import Routine, Search
from scenarios.tasks.qubo import edges, problem_wire
from scenarios.tasks.qubo.answer import decode
from scenarios.tasks.qubo.cost import cost
from scenarios.tasks.qubo.graph import from_edges
from scenarios.tasks.qubo.one_flip import NODES_MAX, one_flip
from scenarios.tasks.qubo.problem import GENERAL, QuadraticProblem
from scenarios.tasks.qubo.reference import Solver
from scenarios.tasks.qubo.task import QuboTask
from tests.scenarios.tasks.qubo.problems import (
    frustrated_loops,
    least_cost,
    small_problems,
)

torch = pytest.importorskip("torch", reason="torch is not installed: the extra gpu")

PIECES_MAX = 200


@pytest.fixture(scope="module")
def routine() -> Routine:
    torch.set_num_threads(1)
    return one_flip([{"chains": 8}])


def started(routine: Routine, payload: bytes, seed: int = 1) -> Search:
    assert routine.search is not None
    return routine.search(routine.load(payload), seed)


@pytest.mark.parametrize("nodes", [10, 25, 50])
def test_proven_optima_are_found_and_never_beaten(routine: Routine, nodes: int) -> None:
    # All optima up to 100 nodes are proven.
    densities = (0.01, 0.05, 0.1, 0.25)
    task = QuboTask.open(QuboTask.Settings((nodes,), densities, (0, 1)), BenchContext())
    for index in range(len(task)):
        search = started(routine, task.payload(index), index)
        for _ in range(PIECES_MAX):
            if search.cost <= task.target(index):
                break
            assert search.advance(1.0, None)
        assert search.cost == task.target(index)
        score = task.score(index, search.output(True))
        assert score.costs is not None
        assert score.costs.cost == score.costs.claimed == task.target(index)


def test_each_better_cost_has_a_vector_of_that_cost(routine: Routine) -> None:
    task = QuboTask.open(QuboTask.Settings((250,), (0.05,), (0,)), BenchContext())
    payload = task.payload(0)
    graph = edges.decode(payload)
    search = started(routine, payload)
    seen = [search.cost]
    for _ in range(12):
        search.advance(1.0, None)
        answer = decode(search.output(False), 250)
        assert cost(graph, answer.vector) == answer.claimed == search.cost <= seen[-1]
        seen.append(search.cost)
    assert seen[0] == 0
    assert len(set(seen)) > 3
    assert seen[-1] < -50


def test_a_device_that_counts_wrong_is_found_out(routine: Routine) -> None:
    task = QuboTask.open(QuboTask.Settings((50,), (0.05,), (0,)), BenchContext())
    search = started(routine, task.payload(0))
    search.advance(1.0, None)
    search.cost -= 1  # type: ignore[misc]
    with pytest.raises(RuntimeError, match="the device counted a cost of"):
        search.output(False)


def test_graphs_at_the_limits(routine: Routine) -> None:
    none = np.zeros((0, 2), np.int64)
    empty = started(routine, edges.encode(from_edges(0, none)))
    assert not empty.advance(1.0, None)
    assert decode(empty.output(False), 0).claimed == 0
    single = started(routine, edges.encode(from_edges(1, none)))
    assert single.advance(1.0, None)
    assert single.cost == -1
    with pytest.raises(ValueError, match=f"{NODES_MAX} nodes at most"):
        routine.load(edges.encode(from_edges(NODES_MAX + 1, none)))


def test_a_device_without_memory_is_reported_with_what_to_change(
    routine: Routine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise torch.cuda.OutOfMemoryError("CUDA out of memory")

    task = QuboTask.open(QuboTask.Settings((10,), (0.25,), (0,)), BenchContext())
    monkeypatch.setattr(torch, "zeros", full)
    with pytest.raises(
        ValueError, match="no memory for 8 chains on 10 nodes: fewer chains"
    ):
        routine.load(task.payload(0))


@pytest.mark.parametrize(
    ("name", "value"),
    [("chains", -1), ("chains", 2.5), ("chains", 10**9), ("tenure", "x")],
)
def test_a_parameter_out_of_its_range_is_refused(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{name} = .*: a whole number, 0 to"):
        one_flip([{name: value}])


def test_without_a_gpu_it_says_what_torch_sees() -> None:
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    with pytest.raises(ValueError, match="sees no CUDA device"):
        one_flip([], "cuda")


@given(small_problems(10), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=60)
def test_small_problems_with_weights_are_solved_to_the_optimum(
    routine: Routine, problem: QuadraticProblem, seed: int
) -> None:
    best = least_cost(problem)
    search = started(routine, problem_wire.encode(problem), seed)
    for _ in range(PIECES_MAX):
        if search.cost <= best:
            break
        assert search.advance(1.0, None)
    assert search.cost == best
    answer = decode(search.output(True), problem.nodes)
    assert problem.cost(answer.vector) == answer.claimed == best


@pytest.mark.parametrize("seed", [0, 1])
def test_the_best_cut_of_planted_loops_is_found(routine: Routine, seed: int) -> None:
    problem, best = frustrated_loops(60, 40, seed)
    search = started(routine, problem_wire.encode(problem), seed)
    for _ in range(PIECES_MAX):
        if search.cost <= -best:
            break
        assert search.advance(1.0, None)
    assert search.cost == -best


def test_sums_that_float32_does_not_hold_are_counted_exactly(routine: Routine) -> None:
    # Nodes whose weights differ by 1 in 2**26: the least cost leaves out one of them.
    nodes = 6
    linear = np.full(nodes, -(2**26)) - np.arange(nodes)
    pairs = np.array([nodes * lesser + lesser + 1 for lesser in range(nodes - 1)])
    quadratic = np.full(nodes - 1, 2**26 + 1)
    problem = QuadraticProblem(GENERAL, nodes, linear, pairs, quadratic)
    search = started(routine, problem_wire.encode(problem))
    for _ in range(20):
        search.advance(1.0, None)
    assert search.cost == least_cost(problem)
    search.output(True)


def test_flips_beyond_what_float32_counts_hold_and_free_nodes_as_before() -> None:
    task = QuboTask.open(QuboTask.Settings((25,), (0.1,), (0,)), BenchContext())
    chains = one_flip([{"chains": 4}]).load(task.payload(0))
    chains.begin(1)
    for number in range(chains.piece):
        chains._flip(number)
    chains._step += 2**24 - 10 - chains.piece
    chains._free_from.zero_()
    for number in range(chains.piece):
        chains._flip(number)
    assert int(chains._step) == 2**24 - 10 + chains.piece
    late = chains._flips[20:].numpy()
    # A node that left stays out for 7 to 14 steps: no chain flips one again and again.
    assert all(len(set(chain)) > 5 for chain in late.T.tolist())
    assert ((chains._free_from - chains._step).numpy() <= 14).all()


def test_the_processors_search_finds_no_better_cost(routine: Routine) -> None:
    draw = np.random.default_rng(3)
    nodes = 120
    pairs = np.sort(draw.choice(_upper(nodes), 700, replace=False))
    weights = draw.integers(1, 40, 700) * draw.choice([-1, 1], 700)
    linear = draw.integers(-60, 60, nodes)
    problem = QuadraticProblem(GENERAL, nodes, linear, pairs, weights)
    payload = problem_wire.encode(problem)
    solver = Solver(payload)
    solver.start(1)
    solver.step(20_000_000, -(2**31))
    search = started(routine, payload)
    for _ in range(PIECES_MAX):
        if search.cost <= solver.cost:
            break
        assert search.advance(1.0, None)
    assert search.cost == solver.cost


def _upper(nodes: int) -> Any:
    lesser, greater = np.triu_indices(nodes, 1)
    return lesser * nodes + greater
