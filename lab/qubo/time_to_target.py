# SPDX-License-Identifier: Apache-2.0
"""Time to the published target, on one core in one run: the firmware's search on this
host against D-Wave's tabu search.

Run it: `python -m lab.qubo.time_to_target [CAP_S [NODES...]]`; 2 s a
search and 100 nodes up by default. Needs the extra `qubo`. Exit code 1 where tabu was
as fast on any workload.

The target is the published cost, which tabu itself found (100 reads, 50 restarts).
Times are CPU times after the graph is loaded: tabu copies its problem in every call, so
a call whose target any state meets is timed as well, and taken off. Quick workloads are
searched 20 times with different seeds and averaged, slow ones once; a search that
missed the target counts with its whole time.
"""

from __future__ import annotations

import statistics
import sys
import time
from dataclasses import dataclass

import dimod
import numpy as np
from dwave.samplers import TabuSampler

from scenarios.tasks.qubo import targets
from scenarios.tasks.qubo.cost import EDGE, NODE
from scenarios.tasks.qubo.graph import Graph, generate
from scenarios.tasks.qubo.reference import Solver

READS = 20
QUICK_S = 0.05
ANY = 1e12


@dataclass(frozen=True, slots=True)
class Result:
    """Mean CPU seconds of a search, and which share of the searches met the target."""

    mean_s: float
    met: float

    def __str__(self) -> str:
        return f"{1e3 * self.mean_s:11.3f}" + (
            "  " if self.met == 1 else f" ({self.met:.0%} met)"
        )


def tabu_calls(
    model: dimod.BinaryQuadraticModel,
    threshold: float,
    reads: int,
    cap_s: float,
    seed: int,
) -> Result:
    """Time one call of `reads` searches, copying included."""
    start_s = time.process_time()
    result = TabuSampler().sample(
        model,
        num_reads=reads,
        timeout=round(1e3 * cap_s),
        num_restarts=1_000_000,
        energy_threshold=threshold,
        seed=seed,
    )
    return Result(
        (time.process_time() - start_s) / reads,
        float(np.mean(result.record.energy <= threshold)),
    )


def tabu(graph: Graph, target: int, cap_s: float) -> Result:
    """Return what tabu needs, less its copying."""
    lesser, greater = graph.ends
    coupling = (lesser, greater, np.full(graph.edges, float(EDGE)))
    model = dimod.BinaryQuadraticModel.from_numpy_vectors(
        np.full(graph.nodes, float(NODE)), coupling, 0.0, "BINARY"
    )
    reads = 1
    call, copying = (
        tabu_calls(model, threshold, reads, cap_s, 1) for threshold in (target, ANY)
    )
    if call.mean_s - copying.mean_s < QUICK_S:
        call, copying = (
            tabu_calls(model, threshold, READS, cap_s, 2) for threshold in (target, ANY)
        )
    return Result(max(call.mean_s - copying.mean_s, 0.0), call.met)


def ours(graph: Graph, target: int, cap_s: float) -> Result:
    """Return the input of the firmware's search."""
    solver = Solver(graph)
    result = []
    for seed in range(1, READS + 1):
        solver.start(seed)
        result.append(solver.search(cap_s, target))
        if result[0].duration_s > QUICK_S:
            break
    return Result(
        statistics.fmean(item.duration_s for item in result),
        statistics.fmean(float(item.cost <= target) for item in result),
    )


def main() -> int:
    """Print a row a workload, and the least ratio."""
    cap_s = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    sizes = [int(size) for size in sys.argv[2:]]
    table = targets.read()
    print(
        f"cap {cap_s:g} s; CPU milliseconds\n{'workload':<30} {'target':>6}"
        f" {'tabu':>13} {'here':>13} {'ratio':>9}"
    )
    ratios = []
    for target in table.rows.values():
        if (
            target.published is None
            or target.nodes < 100
            or (sizes and target.nodes not in sizes)
        ):
            continue
        graph = generate(target.workload)
        theirs = tabu(graph, target.published, cap_s)
        mine = ours(graph, target.published, cap_s)
        ratio = theirs.mean_s / mine.mean_s if mine.met == 1 else 0.0
        ratios.append(ratio)
        over = "" if theirs.met == 1 else "over "
        print(
            f"{target.workload!s:<30} {target.published:>6} {theirs!s} {mine!s}"
            f" {over}{ratio:9.1f}",
            flush=True,
        )
    print(
        f"\n{len(ratios)} workloads, faster on {sum(ratio > 1 for ratio in ratios)};"
        f" least ratio {min(ratios):.1f}"
    )
    return 0 if min(ratios) > 1 else 1


if __name__ == "__main__":
    sys.exit(main())
