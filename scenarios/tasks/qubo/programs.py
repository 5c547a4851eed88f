# SPDX-License-Identifier: Apache-2.0
"""Programs of the task for this computer's processor, which [sut.cpu] runs in a process
of their own.

`reference` is the firmware's own search, compiled for this host; `one_flip`
(one_flip.py) is a search on torch, which [sut.gpu] runs as well. `tabu` and `annealing`
are D-Wave's samplers (the extra `qubo`). A sampler returns only when it is done, so
intermediate results are known then: tabu is called for one threshold after the other,
annealing for one read after the other, each of more sweeps. Before the end of the first
read the answer is the empty vector, cost 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain, pairwise
from typing import Any

import numpy as np

from rig.interfaces.cpu_program import Program, Routine
from scenarios.tasks.qubo import lava_solver, one_flip, problem_wire, tuning
from scenarios.tasks.qubo.answer import encode, packed_bits
from scenarios.tasks.qubo.reference import COST_MIN, WORK_PER_POLL, Solver

#: Tabu makes a dense copy of its problem, 8 bytes a pair of nodes: 0.5 GB of this many.
TABU_NODES_MAX = 8000
#: The least time that tabu can be asked for: its limit is a whole number of
#: milliseconds.
TABU_LIMIT_S = 1e-3
TABU: Mapping[str, Any] = {"tenure": None, "restarts": 1_000_000}
#: D-Wave's own range of beta does badly here (500 nodes at 5 %, 1000 sweeps: -76
#: instead of -83): the baseline gets a better one.
ANNEALING: Mapping[str, Any] = {"sweeps": 1000, "beta_range": (0.5, 8.0)}
#: The parameters of each program, with its own values.
PARAMETERS: Mapping[str, Mapping[str, Any]] = {
    "reference": {},
    "tabu": TABU,
    "annealing": ANNEALING,
    "one_flip": one_flip.PARAMETERS,
    "loihi": lava_solver.PARAMETERS,
}
KNOWN = tuple(dict.fromkeys(chain.from_iterable(PARAMETERS.values())))
FIRST_SWEEPS = 16
GROWTH = 8

Tables = Sequence[Mapping[str, Any]]


def programs(tables: Tables) -> dict[str, Program]:
    """Return the programs, each with the parameters of the bench file."""
    arguments = {"tables": [dict(table) for table in tables]}
    return {
        function.__name__: Program(
            f"{function.__module__}:{function.__name__}",
            "qubo",
            model,
            arguments | more,
        )
        for function, model, more in (
            (reference, "local search", {}),
            (tabu, "D-Wave tabu", {}),
            (annealing, "D-Wave simulated annealing", {}),
            (one_flip.one_flip, "one-flip tabu on torch", {"device": "cpu"}),
            (lava_solver.loihi, "Lava QUBO solver", {"lava_backend": "CPU"}),
        )
    }


def reference(tables: Tables) -> Routine:
    """Return the firmware's search."""
    _known(tables, {})
    return Routine(Solver, (), bytes, lambda solver, seed: Reference(solver, seed))


def tabu(tables: Tables) -> Routine:
    """Return D-Wave's tabu search; parameters: tenure (None: its own), restarts."""
    rules = _known(tables, TABU)
    sampler = _samplers().TabuSampler()

    def load(payload: bytes) -> Quadratic:
        nodes = problem_wire.head_of(payload).nodes
        if nodes > TABU_NODES_MAX:
            raise ValueError(
                f"tabu copies its problem densely: {TABU_NODES_MAX} nodes at most, not"
                f" {nodes}"
            )
        return Quadratic(payload, {**TABU, **_of(rules, payload)})

    return Routine(load, (), bytes, lambda problem, seed: Tabu(sampler, problem, seed))


def annealing(tables: Tables) -> Routine:
    """Return D-Wave's simulated annealing; parameters: sweeps (the most of a read),
    beta_range."""
    rules = _known(tables, ANNEALING)
    sampler = _samplers().SimulatedAnnealingSampler()

    def load(payload: bytes) -> Quadratic:
        return Quadratic(payload, {**ANNEALING, **_of(rules, payload)})

    return Routine(load, (), bytes, partial(Annealing, sampler))


class Reference:
    """The firmware's search; the clock is looked at as often as its C code returns."""

    def __init__(self, solver: Solver, seed: int) -> None:
        self._solver = solver
        solver.start(seed)

    @property
    def cost(self) -> int:
        """The best cost so far."""
        return self._solver.cost

    def advance(self, left_s: float, until: int | None) -> bool:
        """Search on for some 20 us, or until the cost is at or below `until`."""
        self._solver.step(WORK_PER_POLL, COST_MIN if until is None else until)
        return True

    def output(self, met: bool) -> bytes:
        """Return the answer."""
        return encode(self._solver.cost, met, self._solver.nodes, self._solver.bits)


class Quadratic:
    """A problem as D-Wave's samplers want it, and the parameters for its size and
    density."""

    def __init__(self, payload: bytes, parameters: Mapping[str, Any]) -> None:
        import dimod

        problem = problem_wire.decode(payload)
        self.nodes = problem.nodes
        self.parameters = parameters
        coupling = (*problem.ends, problem.quadratic.astype(float))
        self.model = dimod.BinaryQuadraticModel.from_numpy_vectors(
            problem.linear.astype(float), coupling, 0.0, "BINARY"
        )


class ProgramSampling:
    """A search by a sampler: the best of its results so far."""

    def __init__(self, sampler: Any, problem: Quadratic, seed: int) -> None:
        self._sampler = sampler
        self._problem = problem
        self._seed = seed
        self._calls = 0
        self.cost = 0
        self._vector = np.zeros(problem.nodes, np.int8)

    def output(self, met: bool) -> bytes:
        """Return the answer; its cost is the sampler's own."""
        return encode(self.cost, met, self._problem.nodes, packed_bits(self._vector))

    def _sample(self, **how: Any) -> None:
        """Call the sampler once, with a new seed, and keep a better result."""
        # The samplers take 31 bits.
        seed = (self._seed * 1_000_003 + self._calls) % (1 << 31)
        self._calls += 1
        samples = self._sampler.sample(
            self._problem.model, num_reads=1, seed=seed, **how
        )
        if samples.record.energy[0] < self.cost:
            self.cost = round(samples.record.energy[0])
            self._vector = samples.record.sample[0]


class Tabu(ProgramSampling):
    """D-Wave's tabu search, one call a threshold, each from the best vector so far; a
    call copies its problem first.
    """

    def advance(self, left_s: float, until: int | None) -> bool:
        """Search until the cost is at or below `until` or the time is over; False where
        less is left than it can be asked for.
        """
        if self._calls and left_s < TABU_LIMIT_S:
            return False
        num_restarts = self._problem.parameters["restarts"]
        how: dict[str, Any] = {
            "timeout": max(int(1e3 * left_s), 1),
            "num_restarts": num_restarts,
        }
        if until is not None:
            how |= {"energy_threshold": until}
        if self._calls:
            variables = list(range(self._problem.nodes))
            how |= {"initial_states": (self._vector[None], variables)}
        self._sample(tenure=self._problem.parameters["tenure"], **how)
        return True


class Annealing(ProgramSampling):
    """D-Wave's simulated annealing, read after read: of 16, 128, ... sweeps up to the
    most, and at the end of as many as fit.
    """

    def __init__(self, sampler: Any, problem: Quadratic, seed: int) -> None:
        super().__init__(sampler, problem, seed)
        # sweeps, and what was left when they began
        self._reads: list[tuple[int, float]] = []

    def advance(self, left_s: float, until: int | None) -> bool:
        """Do one read; False where none fits into the rest of the time."""
        sweeps = min(self._wanted(left_s), self._problem.parameters["sweeps"])
        if sweeps < 1:
            return False
        self._reads.append((sweeps, left_s))
        self._sample(
            num_sweeps=sweeps, beta_range=tuple(self._problem.parameters["beta_range"])
        )
        return True

    def _wanted(self, left_s: float) -> int:
        """Choose the sweeps of the next read: more than the last one had, but no more
        than fit.

        A read has a constant cost, which one read alone does not show: its whole time
        is then divided by its sweeps.
        """
        if not self._reads:
            return FIRST_SWEEPS
        lefts_s = [left for _, left in self._reads] + [left_s]
        lengths_s = [early - late for early, late in pairwise(lefts_s)]
        sweeps = self._reads[-1][0]
        took_s = lengths_s[-1]
        sweep_s = took_s / sweeps
        if len(self._reads) > 1 and sweeps > self._reads[-2][0]:
            pace_s = (took_s - lengths_s[-2]) / (sweeps - self._reads[-2][0])
            sweep_s = min(max(pace_s, sweep_s / 10), sweep_s)
        fit = int((left_s - (took_s - sweeps * sweep_s)) / sweep_s)
        return min(GROWTH * sweeps, fit)


def _known(tables: Tables, own: Mapping[str, Any]) -> tuple[tuning.Rule, ...]:
    rules = tuning.rules(tables, KNOWN)
    for rule in rules:
        for name in rule.values:
            if name not in own:
                raise ValueError(
                    f"no such parameter: {name}; it has {', '.join(own) or 'none'}"
                )
    return rules


def _of(rules: Sequence[tuning.Rule], payload: bytes) -> dict[str, Any]:
    head = problem_wire.head_of(payload)
    return tuning.values(rules, head.nodes, head.edges)


def _samplers() -> Any:
    try:
        import dwave.samplers
    except ImportError as error:
        raise ValueError(
            f"{error.name} is not installed: pip install 'neurorig[qubo]'"
        ) from error
    return dwave.samplers
