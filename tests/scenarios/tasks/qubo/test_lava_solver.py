# SPDX-License-Identifier: Apache-2.0
"""Lava's solver of QUBO as a program: its calls against a stand-in, and refusals."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.errors import BenchError, ConfigError
from rig.interfaces.context import BenchContext
from rig.model.completion import END, REACHED
from scenarios.tasks.qubo import answer as answers
from scenarios.tasks.qubo import edges, problem_wire
from scenarios.tasks.qubo.cost import cost
from scenarios.tasks.qubo.graph import Workload, generate
from scenarios.tasks.qubo.lava_solver import CHIP, COUPLING_MAX, loihi
from scenarios.tasks.qubo.problem import GENERAL, QuadraticProblem
from scenarios.tasks.qubo.programs import programs
from sut_backends.loihi.backend import LoihiSut
from sut_backends.workers.inside.search import Order, solved
from tests.scenarios.tasks.qubo import lava_optimization
from tests.scenarios.tasks.qubo.problems import small_problems

GRAPH = generate(Workload(50, 0.05, 0))


def order(target: int | None, timeout_s: float) -> Order:
    return Order(3, round(timeout_s * 1e9), target, [-5, -20], 0)


def test_calls_go_on_from_the_best_vector_until_the_target_is_met() -> None:
    with lava_optimization.installed() as calls:
        routine = loihi([{"steps": 30}], CHIP)
        problem = routine.load(edges.encode(GRAPH))
        marks, known, output = solved(routine, problem, order(-24, 30.0))
    assert [phase for phase, _ in marks][-2:] == [REACHED + 1, END]
    assert len(known) == 2
    claimed = int.from_bytes(output[:4], "little", signed=True)
    bits = np.unpackbits(np.frombuffer(output[9:], np.uint8), bitorder="little")[:50]
    assert claimed == cost(GRAPH, bits.astype(np.int8)) <= -24
    assert output[4] == 1
    assert [call.target_cost for call in calls][:1] == [-5]
    assert {call.timeout for call in calls} == {30}
    assert len({call.hyperparameters["refract_seed"] for call in calls}) == len(calls)
    assert calls[0].hyperparameters["max_temperature"] == 5
    assert len(calls) > 3
    assert calls[-1].hyperparameters["init_value"].sum() > 10


def test_a_search_without_a_target_ends_with_its_time() -> None:
    with lava_optimization.installed() as calls:
        routine = loihi([{"steps": 10}], CHIP)
        marks, _, output = solved(
            routine, routine.load(edges.encode(GRAPH)), order(None, 0.05)
        )
    assert output[4] == 0
    assert len(calls) > 2
    assert marks[-1][1] - marks[0][1] >= 50_000_000


def test_an_answer_that_is_no_vector_is_none() -> None:
    reported = lava_optimization.SolverReport(-60, np.full(50, 2), 1)
    with (
        lava_optimization.installed(),
        patch.object(
            lava_optimization.OptimizationSolver, "solve", lambda one, config: reported
        ),
    ):
        routine = loihi([], CHIP)
        with pytest.raises(RuntimeError, match="no binary vector of 50"):
            solved(routine, routine.load(edges.encode(GRAPH)), order(None, 1.0))


def test_without_a_chip_it_is_refused_with_the_reason() -> None:
    with pytest.raises(ValueError, match="no solver that works on a processor"):
        loihi([])
    with pytest.raises(
        ValueError, match="lava is not installed: rig sdk install loihi"
    ):
        loihi([], CHIP)
    with (
        lava_optimization.installed(chip=False),
        pytest.raises(
            ValueError, match="lava-loihi, Lava's extension for it, is not installed"
        ),
    ):
        loihi([], CHIP)


def test_the_backend_says_why_it_does_not_search() -> None:
    context = BenchContext()
    settings = LoihiSut.Settings(interpreter=sys.executable)
    with pytest.raises(ConfigError, match="neither a network nor a search"):
        LoihiSut.open(settings, context)
    with pytest.raises(BenchError) as caught:
        LoihiSut.open(settings, replace(context, programs=programs(())))
    assert "'nebm' is deprecated" in caught.value.evidence


@pytest.mark.parametrize(
    ("linear", "pair", "said"),
    [
        ([1 - 2**23] * 256, 0, ""),
        ([-(2**23)], 0, "by up to 8388608, and .*to 8388607: smaller .*sut.gpu"),
        ([1 - 2**22, 0], 3, "by up to 8388612"),  # an odd pair: twice the costs
        ([-(2**22)] * 513, 0, "down to -2151677952 .*down to -2147483648"),
    ],
)
def test_costs_that_the_chip_cannot_count_are_refused(
    linear: list[int], pair: int, said: str
) -> None:
    weights = np.array([pair] if pair else [], np.int64)
    costs = np.array(linear, np.int64)
    nodes = len(costs)
    problem = QuadraticProblem(GENERAL, nodes, costs, np.full(len(weights), 1), weights)
    refused = pytest.raises(ValueError, match=said) if said else nullcontext()
    with lava_optimization.installed(), refused:
        loihi([], CHIP).load(problem_wire.encode(problem))


@given(small_problems(7), st.integers(0, 2**15))
@settings(deadline=None, max_examples=40)
def test_problems_with_weights_are_lavas_matrix(
    problem: QuadraticProblem, seed: int
) -> None:
    payload = problem_wire.encode(problem)
    twice = 2 if (problem.quadratic % 2).any() else 1
    is_small = (np.abs(twice * problem.quadratic) <= 2 * COUPLING_MAX).all()
    with lava_optimization.installed() as calls:
        routine = loihi([{"steps": 60}], CHIP)
        if not is_small:
            with pytest.raises(ValueError, match=r"holds 127 at most: smaller weights"):
                routine.load(payload)
            return
        loaded = routine.load(payload)
        draw = np.random.default_rng(seed)
        for _ in range(3):
            vector = draw.integers(0, 2, problem.nodes)
            valued = vector @ loaded.qubo.q @ vector
            assert valued == twice * problem.cost(vector)
        assert routine.search is not None
        search = routine.search(loaded, seed)
        search.advance(1.0, -3)
        assert calls[0].target_cost == -3 * twice
        answer = answers.decode(search.output(False), problem.nodes)
        assert answer.claimed == problem.cost(answer.vector) <= 0
