# SPDX-License-Identifier: Apache-2.0
"""Lava's solver of QUBO on Loihi 2, as a program: what [sut.loihi] runs.

The solver (lava-optimization 0.5.0) takes its limit in time steps of the chip and
returns when they are over or its target is met, so a search is call after call, each
from the best vector so far. On a processor it does not work, and is refused. No chip
was used: the calls are tested against a stand-in with the same interface
(tests/scenarios/tasks/qubo/lava_optimization.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from rig.interfaces.cpu_program import Routine
from scenarios.tasks.qubo import problem_wire, tuning
from scenarios.tasks.qubo.answer import encode, packed_bits

#: Time steps of one call; temperatures of its annealing, as published programs have
#: them.
PARAMETERS: Mapping[str, Any] = {
    "steps": 1000,
    "max_temperature": 5,
    "min_temperature": 1,
    "steps_per_temperature": 200,
    "refract_scaling": 1,
}
#: The only one of its neuron models that has a model for the chip and is not
#: deprecated.
NEURON_MODEL = "nebm-sa-refract"
CHIP = "Loihi2"
WHY_NO_PROCESSOR = (
    "lava-optimization 0.5.0 has no solver that works on a processor (tried again on 24"
    " November 2026, 10 nodes, 200 steps): 'nebm' is deprecated, 'nebm-sa' is not"
    " accepted, 'sa' and 'nebm-sa-refract' have no process model, 'scif' did not return"
    " within 150 s; [sut.loihi] with hardware = true runs it on Loihi 2"
)
#: The matrix is dense: eight bytes a pair.
NODES_MAX = 8000
#: Lava's connections hold weights of 8 bits, signed, where no other width is asked for
#: (`num_weight_bits` of its Sparse process); the solver asks for none.
COUPLING_MAX = 127
#: The chip counts costs in 32 bits, and a message between neurons holds 24, both
#: signed.
LEAST_COST_MIN = -(1 << 31)
CHANGE_MAX = (1 << 23) - 1


def loihi(tables: Sequence[Mapping[str, Any]], lava_backend: str = "CPU") -> Routine:
    """Return the search; ValueError where the chip or the package is missing."""
    rules = tuning.rules(tables, tuple(PARAMETERS))
    if lava_backend != CHIP:
        raise ValueError(WHY_NO_PROCESSOR)
    try:
        solver: Any = import_module("lava.lib.optimization.solvers.generic.solver")
        problems = import_module("lava.lib.optimization.problems.problems")
        there = import_module("lava.utils.loihi").is_installed()
    except ImportError as error:
        raise ValueError(
            f"{error.name} is not installed: rig sdk install loihi"
        ) from error
    if not there:
        raise ValueError(
            "searches run on Loihi 2 alone, and lava-loihi, Lava's extension for it, is"
            " not installed; members of Intel's research community get it"
        )

    def load(payload: bytes) -> LavaProblem:
        head = problem_wire.head_of(payload)
        if head.nodes > NODES_MAX:
            raise ValueError(
                f"the problem is dense: {NODES_MAX} nodes at most, not {head.nodes}"
            )
        parameters = {**PARAMETERS, **tuning.values(rules, head.nodes, head.edges)}
        return LavaProblem(problems.QUBO, payload, parameters)

    about = {
        "solver": "OptimizationSolver",
        "neuron_model": NEURON_MODEL,
        "runs on": "Loihi 2",
    }
    return Routine(load, (), bytes, partial(LavaSearch, solver), about=about)


class LavaProblem:
    """A problem as Lava's QUBO, and the parameters for its size and density.

    The matrix is symmetric, so that a pair's weight is its two halves: where one is
    odd, the matrix has twice the costs, and `unit` is 2.
    """

    def __init__(
        self, qubo: Any, payload: bytes, parameters: Mapping[str, Any]
    ) -> None:
        problem = problem_wire.decode(payload)
        self.nodes = problem.nodes
        self.parameters = parameters
        self.unit = 2 if (problem.quadratic % 2).any() else 1
        couplings = self.unit * problem.quadratic // 2
        largest = int(np.abs(couplings).max(initial=0))
        if largest > COUPLING_MAX:
            raise ValueError(
                f"a pair of the problem weighs {largest} in the solver's matrix, and a"
                f" connection of the chip holds {COUPLING_MAX} at most: smaller"
                " weights, or [sut.cpu] or [sut.gpu], whose programs search any"
            )
        self.least = self.unit * problem.least_cost
        change = self.unit * problem.largest_change
        if self.least < LEAST_COST_MIN or change > CHANGE_MAX:
            raise ValueError(
                f"in the solver's matrix costs go down to {self.least} and a flip"
                f" changes them by up to {change}, and the chip counts down to"
                f" {LEAST_COST_MIN} and holds changes up to {CHANGE_MAX}: smaller"
                " weights, or [sut.cpu] or [sut.gpu], whose programs search any"
            )
        matrix = np.diag(self.unit * problem.linear)
        lesser, greater = problem.ends
        matrix[lesser, greater] = couplings
        matrix[greater, lesser] = couplings
        self.qubo = qubo(matrix)


class LavaSearch:
    """A search by Lava's solver: the best vector of its calls so far."""

    def __init__(self, solver: Any, problem: LavaProblem, seed: int) -> None:
        self._solver = solver
        self._problem = problem
        self._seed = seed
        self._calls = 0
        self.cost = 0
        self._vector = np.zeros(problem.nodes, np.int8)

    def advance(self, left_s: float, until: int | None) -> bool:
        """Call the solver once, for its number of steps; it does not know of
        seconds."""
        if self._calls and left_s <= 0:
            return False
        parameters = dict(self._problem.parameters)
        steps = int(parameters.pop("steps"))
        seed = (self._seed * 1_000_003 + self._calls) % (1 << 15)
        self._calls += 1
        hyperparameters = {
            **parameters,
            "neuron_model": NEURON_MODEL,
            "refract_seed": seed,
            "init_value": self._vector.astype(np.int64),
        }
        config = self._solver.SolverConfig(
            timeout=steps,
            target_cost=self._target(until),
            backend=CHIP,
            hyperparameters=hyperparameters,
        )
        report = self._solver.OptimizationSolver(self._problem.qubo).solve(
            config=config
        )
        vector = np.asarray(report.best_state).reshape(-1)
        if vector.shape != self._vector.shape or not np.isin(vector, (0, 1)).all():
            raise RuntimeError(
                f"the solver returned no binary vector of {self._problem.nodes}"
            )
        if int(report.best_cost) < self._problem.unit * self.cost:
            self.cost = int(report.best_cost) // self._problem.unit
            self._vector = vector.astype(np.int8)
        return True

    def _target(self, until: int | None) -> int:
        if until is None:
            return self._problem.least
        return self._problem.unit * until

    def output(self, met: bool) -> bytes:
        """Return the answer; its cost is the solver's own."""
        return encode(self.cost, met, self._problem.nodes, packed_bits(self._vector))
