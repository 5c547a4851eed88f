# SPDX-License-Identifier: Apache-2.0
"""Moves a second of the one-flip search, against D-Wave's steepest descent, which
counts its moves; and the processor time to a cut, against D-Wave's tabu search.

All in one run, one thread each, in processor time. The problems are random graphs of
the sizes of Gset. A move of both is the flip of one node of largest gain, with all
gains kept up to date. Needs the extra `qubo` and a C compiler.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from typing import Any

import dimod
import numpy as np
from dwave.samplers import SteepestDescentSampler, TabuSampler

from scenarios.tasks.qubo import problem_wire
from scenarios.tasks.qubo.problem import QuadraticProblem, cut
from scenarios.tasks.qubo.reference import Solver

#: Name, nodes, edges, and whether weights are 1 and -1.
PROBLEMS = (
    ("like G1", 800, 19_176, False),
    ("like G6", 800, 19_176, True),
    ("like G22", 2000, 19_990, False),
)
#: The cut to reach, as a share of the best of a longer search.
SHARE = 0.995
SEED = 1


def problem(nodes: int, edges: int, signs: bool) -> QuadraticProblem:
    """Return a random cut."""
    random = np.random.default_rng(SEED)
    every = np.flatnonzero(np.triu(np.ones((nodes, nodes), bool), 1))
    pairs = np.sort(random.choice(every, edges, replace=False))
    weights = random.choice([-1, 1], edges) if signs else np.ones(edges, np.int64)
    return cut(nodes, pairs, weights)


def model(of: QuadraticProblem) -> Any:
    """Return a problem as D-Wave's samplers want it."""
    coupling = (*of.ends, of.quadratic.astype(float))
    return dimod.BinaryQuadraticModel.from_numpy_vectors(
        of.linear.astype(float), coupling, 0.0, "BINARY"
    )


def own_moves_hz(solver: Solver, seconds: float) -> float:
    """Return moves a second of the one-flip search."""
    solver.start(SEED)
    found = solver.search(seconds)
    return solver.moves / found.duration_s


def descent_moves_hz(of: Any, seconds: float) -> float:
    """Return moves a second of descents from random vectors."""
    sampler = SteepestDescentSampler()
    sampler.sample(of, num_reads=1, seed=SEED)
    moves = 0
    start_s = time.process_time()
    while time.process_time() - start_s < seconds:
        found = sampler.sample(of, num_reads=200, seed=SEED, large_sparse_opt=True)
        moves += int(found.record.num_steps.sum())
    return moves / (time.process_time() - start_s)


def tabu_s(of: Any, cost: int, limit_s: float) -> float:
    """Return the processor time of D-Wave's tabu search to a cost, infinite where it
    does not get there."""
    start_s = time.process_time()
    found = TabuSampler().sample(
        of,
        num_reads=1,
        seed=SEED,
        timeout=int(1000 * limit_s),
        num_restarts=1_000_000,
        energy_threshold=cost,
    )
    took_s = time.process_time() - start_s
    return took_s if found.first.energy <= cost else math.inf


def main() -> int:
    """Print a row a problem."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the time")
    seconds = 0.2 if parser.parse_args().quick else 2.0
    print(
        f"{'problem':<10}{'moves/s':>12}{'descent/s':>12}{'ratio':>8}"
        f"{'to the cut':>14}{'tabu':>12}"
    )
    slower = False
    for name, nodes, edges, signs in PROBLEMS:
        one = problem(nodes, edges, signs)
        solver = Solver(problem_wire.encode(one))
        best = solver.search(5 * seconds)
        if one.cost(best.vector) != best.cost:
            print(f"wrong result: {name} costs {one.cost(best.vector)}")
            return 1
        theirs = model(one)
        own_hz = own_moves_hz(solver, seconds)
        peer_hz = descent_moves_hz(theirs, seconds)
        aim = math.ceil(SHARE * best.cost)
        solver.start(SEED)
        own_s = solver.search(10 * seconds, target=aim).duration_s
        peer_s = tabu_s(theirs, aim, 10 * seconds)
        slower |= own_hz < peer_hz
        print(
            f"{name:<10}{own_hz:>12.3g}{peer_hz:>12.3g}{own_hz / peer_hz:>8.2f}"
            f"{own_s * 1e3:>11.3g} ms{peer_s * 1e3:>9.3g} ms",
            flush=True,
        )
    return int(slower)


if __name__ == "__main__":
    sys.exit(main())
