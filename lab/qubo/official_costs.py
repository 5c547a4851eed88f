# SPDX-License-Identifier: Apache-2.0
"""Official target costs as NeuroBench makes them: D-Wave's tabu search, below 50 nodes
a proof.

    python -m lab.qubo.official_costs --official mine.csv --nodes 250 --problem-seed 11

Rows of the file stay; missing ones are made, each written when it is done.

QUBO/generation_scripts/find_optimal_costs.py of NeuroBench/system_benchmarks, revision
f9c0b4f495558f6dae0de304286d0a81de89020c, calls

    TabuSampler().sample(bqm, timeout=None, num_reads=100, num_restarts=50)

and refuses a best vector that is no independent set. It names no seed; one is named
here.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lab.qubo.proof import by_branching
from rig.errors import ConfigError, DataError
from scenarios.tasks.qubo import edges, official
from scenarios.tasks.qubo.cost import cost
from scenarios.tasks.qubo.graph import Graph, Workload, generate
from scenarios.tasks.qubo.official import (
    GLOBAL_BELOW_NODES,
    OPTIMUM,
    READS,
    RESTARTS,
    Made,
    Official,
)
from scenarios.tasks.qubo.programs import Quadratic
from scenarios.tasks.qubo.targets import packed
from scenarios.tasks.qubo.targets_command import Selection

METHOD = "D-Wave tabu"
PACKAGE = "dwave-samplers"


def make(workload: Workload, reads: int, restarts: int, seed: int) -> Official:
    """Make the official target of a workload as the rules say.

    Raises ConfigError where D-Wave's sampler is not installed, DataError where it finds
    no independent set.
    """
    graph = generate(workload)
    if workload.nodes < GLOBAL_BELOW_NODES:
        vector = _optimum(graph)
        how = (OPTIMUM, "", 0, 0, 0)
    else:
        vector = search(graph, reads, restarts, seed)
        version = f"{PACKAGE} {importlib.metadata.version(PACKAGE)}"
        how = (METHOD, version, reads, restarts, seed)
    today = datetime.now(UTC).date().isoformat()
    made = Made(graph.sha256, *how, today, packed(vector))
    return Official(workload, cost(graph, vector), made)


def search(graph: Graph, reads: int, restarts: int, seed: int) -> NDArray[np.int8]:
    """Return the best vector (nodes) of D-Wave's tabu search, which must be an
    independent set."""
    try:
        from dwave.samplers import TabuSampler
    except ImportError as error:
        install = "pip install 'neurorig[qubo]'"
        evidence = "D-Wave's samplers are not installed"
        raise ConfigError(evidence, try_next=install) from error
    model = Quadratic(edges.encode(graph), {}).model
    how = {"timeout": None, "num_reads": reads, "num_restarts": restarts}
    samples = TabuSampler().sample(model, seed=seed, **how)
    vector = np.zeros(graph.nodes, np.int8)
    best = int(np.argmin(samples.record.energy))
    vector[np.asarray(list(samples.variables), np.int64)] = samples.record.sample[best]
    lesser, greater = graph.ends
    if (vector[lesser] & vector[greater]).any():
        evidence = (
            f"the best vector of {METHOD} for {graph.nodes} nodes is no independent set"
        )
        raise DataError(evidence, try_next="more --reads or --restarts")
    return vector


def _optimum(graph: Graph) -> NDArray[np.int8]:
    proof = by_branching(graph, np.zeros(graph.nodes, np.int8))
    if not proof.proven:
        raise DataError(f"no proof for {graph.nodes} nodes", evidence=graph.sha256)
    return proof.vector


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the official costs that a file lacks; return the exit code."""
    parser = argparse.ArgumentParser(description="Make official QUBO costs.")
    parser.add_argument("--official", type=Path, required=True)
    parser.add_argument("--nodes", type=int, action="append", default=[])
    parser.add_argument("--density", type=float, action="append", default=[])
    parser.add_argument("--problem-seed", type=int, action="append", default=[])
    parser.add_argument("--reads", type=int, default=READS)
    parser.add_argument("--restarts", type=int, default=RESTARTS)
    parser.add_argument("--seed", type=int, default=1, help="seed of the tabu search")
    options = parser.parse_args(arguments)
    path = options.official
    selection = Selection(
        tuple(options.nodes), tuple(options.density), tuple(options.problem_seed)
    )
    rows = dict(official.read(path).rows) if path.exists() else {}
    todo = [workload for workload in selection.workloads() if workload not in rows]
    for done, workload in enumerate(todo, start=1):
        row = make(workload, options.reads, options.restarts, options.seed)
        rows[workload] = row
        official.write(rows.values(), path)
        source = row.made.source if row.made else ""
        print(f"{done:>4} of {len(todo)}  {workload}: {row.cost}, {source}")
    print(f"{path}: {len(todo)} costs made, {len(rows)} in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
