# SPDX-License-Identifier: Apache-2.0
"""How much faster QUBO workloads are made here than by the published recipe, in one
run; exit code 1 below ten times.

Run it: `python -m lab.qubo.graphs [NODES DENSITY [ROUNDS]]`; 5000
nodes, 25 %, best of 3 rounds by default. The recipe is networkx's random graph, its
adjacency as a dense array, and the matrix -1 on the diagonal, 4 at edges, as int8
(NeuroBench/system_benchmarks, QUBO/mis.py). Here it is the graph, its sparse rows and
its hash. Needs networkx and scipy. Times are of this process alone (CPU), so that other
load does not count.
"""

from __future__ import annotations

import sys
import time

import networkx
import numpy as np

from scenarios.tasks.qubo.graph import Graph, Workload, generate

WANTED = 10.0


def recipe(workload: Workload) -> np.ndarray:
    """Make the matrix as the published script does."""
    graph = networkx.gnm_random_graph(
        workload.nodes, int(0.5 * workload.density * workload.nodes**2), workload.seed
    )
    adjacency = np.array(
        networkx.to_scipy_sparse_array(graph, nodelist=range(workload.nodes)).toarray()
    )
    matrix: np.ndarray = -np.eye(workload.nodes) + 4 * adjacency
    return matrix.astype(np.int8)


def ours(workload: Workload) -> Graph:
    """Make the graph, its rows and its hash."""
    graph = generate(workload)
    assert len(graph.rows[1]) == 2 * graph.edges
    assert graph.sha256
    return graph


def main() -> int:
    """Print both times and their ratio."""
    nodes, density, rounds = [
        *sys.argv[1:],
        *("5000", "0.25", "3")[len(sys.argv) - 1 :],
    ]
    workload = Workload(int(nodes), float(density), 0)
    theirs_s = []
    ours_s = []
    for _ in range(int(rounds)):
        start_s = time.process_time()
        matrix = recipe(workload)
        middle_s = time.process_time()
        graph = ours(workload)
        theirs_s.append(middle_s - start_s)
        ours_s.append(time.process_time() - middle_s)
        lesser, greater = np.nonzero(np.triu(matrix, 1))
        assert all(
            np.array_equal(item, other)
            for item, other in zip((lesser, greater), graph.ends, strict=True)
        ), "another graph"
    ratio = min(theirs_s) / min(ours_s)
    print(f"{workload}: {graph.edges} edges, the same in both")
    print(
        f"published recipe {min(theirs_s):7.3f} s\nhere             {min(ours_s):7.3f}"
        f" s\nratio            {ratio:7.1f}"
    )
    return 0 if ratio >= WANTED else 1


if __name__ == "__main__":
    sys.exit(main())
