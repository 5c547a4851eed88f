# SPDX-License-Identifier: Apache-2.0
"""The searches that this computer runs: the firmware's own, and D-Wave's where they are
installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest

from rig.errors import BenchError, SutError
from rig.interfaces.context import BenchContext
from rig.model.completion import END, REACHED, Completion
from rig.model.steps import Load, Solve
from scenarios.common.cost_gap import threshold_cost
from scenarios.tasks.qubo import edges
from scenarios.tasks.qubo.graph import Workload, generate
from scenarios.tasks.qubo.reference import Solver
from scenarios.tasks.qubo.task import QuboTask
from sut_backends.cpu.backend import CpuSut

SETTINGS = QuboTask.Settings(nodes=(50, 250), densities=(0.05,), seeds=(0,))
Start = Callable[..., tuple[QuboTask, CpuSut]]


@pytest.fixture(scope="module")
def start(compiler: str) -> Iterator[Start]:
    """Start a program by name, with parameters; one without serves several tests; all
    are ended. Skips where D-Wave's samplers are wanted and not there.
    """
    with ExitStack() as stack:
        running: dict[str, tuple[QuboTask, CpuSut]] = {}

        def opened(name: str, *parameters: dict[str, Any]) -> tuple[QuboTask, CpuSut]:
            if parameters:
                return new(name, *parameters)
            if name not in running:
                running[name] = new(name)
            return running[name]

        def new(name: str, *parameters: dict[str, Any]) -> tuple[QuboTask, CpuSut]:
            if name == "one_flip":
                pytest.importorskip("torch", reason="the extra gpu is not installed")
            elif name != "reference":
                pytest.importorskip(
                    "dwave.samplers", reason="the extra qubo is not installed"
                )
            task = QuboTask.open(
                QuboTask.Settings(
                    SETTINGS.nodes,
                    SETTINGS.densities,
                    SETTINGS.seeds,
                    parameters=parameters,
                ),
                BenchContext(),
            )
            context = BenchContext(programs=task.programs)
            context.world.supply_on = True
            sut = stack.enter_context(
                closing(CpuSut.open(CpuSut.Settings(name), context))
            )
            for index in range(len(task)):
                sut.do(Load(index), [task.payload(index)])
            return task, sut

        yield opened


def length_s(completion: Completion) -> float:
    return (completion.marks[-1].tick - completion.marks[0].tick) * 1e-9


@pytest.mark.parametrize("name", ["reference", "tabu", "annealing", "one_flip"])
def test_each_program_answers_vectors_that_cost_what_it_claims_and_ends_at_its_target(
    start: Start, name: str
) -> None:
    task, sut = start(name)
    for index in range(len(task)):
        target = threshold_cost(task.target(index), 0.3)
        completion = sut.do(
            Solve(
                index,
                20.0,
                seed=3,
                target=target,
                thresholds=(threshold_cost(target, 0.3), target),
            )
        )
        score = task.score(index, completion.output)
        assert score.costs is not None
        assert score.costs.claimed == score.costs.cost <= target
        phases = [mark.phase for mark in completion.marks]
        assert phases in ([1, REACHED, REACHED + 1, END], [1, REACHED + 1, END])
        assert length_s(completion) < 19.0
        assert completion.output[4] == 1, "it says that it ended at its target"


@pytest.mark.parametrize("name", ["reference", "tabu", "annealing", "one_flip"])
def test_a_search_ends_after_its_time_where_nothing_can_be_reached(
    start: Start, name: str
) -> None:
    task, sut = start(name)
    completion = sut.do(Solve(0, 0.2, seed=3, target=-51))
    score = task.score(0, completion.output)
    assert score.costs is not None and -50 <= score.costs.cost < 0
    assert completion.output[4] == 0
    # Annealing ends early where no sweep fits any more; how late any of them is, the
    # machine's load decides.
    assert length_s(completion) >= (0.2 if name == "reference" else 0.1)


def test_the_reference_makes_the_moves_of_the_firmware_in_this_process(
    start: Start,
) -> None:
    task, sut = start("reference")
    target = task.target(1)
    completion = sut.do(Solve(1, 20.0, seed=9, target=target))
    solver = Solver(generate(Workload(250, 0.05, 0)))
    solver.start(9)
    result = solver.search(20.0, target)
    assert result.cost == target
    assert completion.output[9:] == solver.bits


@pytest.mark.parametrize("name", ["tabu", "annealing", "one_flip"])
def test_the_same_seed_gives_the_same_vector_and_another_one_another(
    start: Start, name: str
) -> None:
    parameter = {
        "annealing": {"sweeps": 4},
        "tabu": {"restarts": 1},
        "one_flip": {"chains": 2},
    }
    task, sut = start(name, parameter[name])
    target = threshold_cost(task.target(1), 0.5)
    outputs = [
        sut.do(Solve(1, 20.0, seed=seed, target=target)).output for seed in (1, 1, 2)
    ]
    assert outputs[0] == outputs[1] != outputs[2]


@pytest.mark.parametrize(
    ("name", "other", "said"),
    [
        ("reference", "sweeps", "it has none"),
        ("tabu", "sweeps", "tenure, restarts"),
        ("annealing", "tenure", "sweeps, beta"),
    ],
)
def test_a_parameter_that_a_program_does_not_have_is_refused_with_those_it_has(
    start: Start, name: str, other: str, said: str
) -> None:
    with pytest.raises(BenchError) as caught:
        start(name, {other: 3})
    assert said in caught.value.evidence


def test_parameters_reach_the_workloads_that_they_are_for(start: Start) -> None:
    # Tabu refuses a tenure that is not below the number of nodes.
    task, sut = start("tabu", {"tenure": 60, "nodes_to": 100})
    with pytest.raises(SutError, match="refuses") as caught:
        sut.do(Solve(0, 0.1, seed=1))
    assert "tenure" in caught.value.evidence.lower()
    assert task.score(1, sut.do(Solve(1, 0.1, seed=1)).output).costs is not None


def test_a_graph_that_tabu_could_not_copy_is_refused_with_the_limit(
    start: Start,
) -> None:
    _, sut = start("tabu")
    with pytest.raises(SutError, match="refuses") as caught:
        sut.do(Load(5), [edges.encode(generate(Workload(8001, 0.0, 0)))])
    assert "8000 nodes at most" in caught.value.evidence


def test_a_damaged_graph_is_refused(start: Start) -> None:
    task, sut = start("reference")
    damaged = bytearray(task.payload(0))
    damaged[-1] ^= 1
    with pytest.raises(SutError) as caught:
        sut.do(Load(5), [bytes(damaged)])
    assert "checksum" in caught.value.evidence
