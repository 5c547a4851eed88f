# SPDX-License-Identifier: Apache-2.0
"""A stand-in for lava-optimization 0.5.0 with the calls that the program makes, and a
random descent; no chip.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np


class Qubo:
    """A problem: a square, symmetric matrix of whole numbers, as the package wants
    it."""

    def __init__(self, q: np.ndarray) -> None:
        assert q.ndim == 2 and q.shape[0] == q.shape[1]
        assert np.issubdtype(q.dtype, np.integer) and np.array_equal(q, q.T)
        self.q = q


@dataclass
class SolverConfig:
    """Arguments of a call; the names are the package's."""

    timeout: int
    target_cost: int
    backend: str
    hyperparameters: dict[str, Any]


@dataclass(frozen=True)
class SolverReport:
    """The result of a call."""

    best_cost: int
    best_state: np.ndarray
    best_timestep: int


class OptimizationSolver:
    """A solver of one problem; `calls` are the configurations of all."""

    calls: list[SolverConfig]

    def __init__(self, problem: Qubo) -> None:
        self._q = problem.q

    def solve(self, config: SolverConfig) -> SolverReport:
        """Flip nodes at random, keep flips that are no worse, for so many steps or down
        to the target.
        """
        self.calls.append(config)
        assert config.backend == "Loihi2" and config.hyperparameters["neuron_model"]
        rng = np.random.default_rng(config.hyperparameters["refract_seed"])
        vector = np.array(config.hyperparameters["init_value"])
        cost = int(vector @ self._q @ vector)
        step = 0
        for step in range(config.timeout):  # noqa: B007 - used below
            if cost <= config.target_cost:
                break
            other = vector.copy()
            other[rng.integers(len(other))] ^= 1
            after = int(other @ self._q @ other)
            if after <= cost:
                vector, cost = other, after
        return SolverReport(cost, vector, step)


@contextmanager
def installed(*, chip: bool = True) -> Iterator[list[SolverConfig]]:
    """Put the modules in place; yields the configurations of all calls."""
    content: dict[str, dict[str, Any]] = {
        "lava.lib.optimization.solvers.generic.solver": {
            "SolverConfig": SolverConfig,
            "OptimizationSolver": OptimizationSolver,
        },
        "lava.lib.optimization.problems.problems": {"QUBO": Qubo},
        "lava.utils.loihi": {"is_installed": lambda: chip},
    }
    made: dict[str, ModuleType] = {}
    for name, values in content.items():
        parts = name.split(".")
        for count in range(1, len(parts) + 1):
            made.setdefault(
                ".".join(parts[:count]), ModuleType(".".join(parts[:count]))
            )
        made[name].__dict__.update(values)
    OptimizationSolver.calls = []
    with patch.dict(sys.modules, made):
        yield OptimizationSolver.calls
