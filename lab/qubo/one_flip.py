# SPDX-License-Identifier: Apache-2.0
"""Costs of the one-flip search on torch against those of the firmware's search after
the same times, as ratios, on this processor or on a GPU.

Run it: `python -m lab.qubo.one_flip [cpu|cuda]`; the extra `gpu` and a C
compiler are needed. A ratio of 1 is the same cost, less than 1 a worse vector of the
search on torch. Both start after the graph is loaded, and run one after the other, each
on one thread of the processor.
"""

from __future__ import annotations

import statistics
import sys
import time

import torch

from rig.interfaces.cpu_program import Routine
from scenarios.tasks.qubo import edges, programs
from scenarios.tasks.qubo.graph import Workload, generate
from scenarios.tasks.qubo.one_flip import one_flip

CELLS = (
    (100, 0.05),
    (250, 0.05),
    (500, 0.05),
    (1000, 0.01),
    (1000, 0.05),
    (2500, 0.05),
)
TIMES_S = (0.1, 1.0, 5.0)
SEEDS = (0, 1)


def costs(routine: Routine, payload: bytes) -> list[int]:
    """Return the cost of one search after each of the times, its vector counted at the
    end."""
    assert routine.search is not None
    loaded = routine.load(payload)
    start_s = time.monotonic()
    search = routine.search(loaded, 1)
    result = []
    for end_s in TIMES_S:
        while (left_s := start_s + end_s - time.monotonic()) > 0:
            search.advance(left_s, None)
        result.append(search.cost)
    search.output(False)
    return result


def main() -> int:
    """Print a row a cell: mean costs of both, and their ratio, at each time."""
    device = sys.argv[1] if len(sys.argv) > 1 else "cpu"
    torch.set_num_threads(1)
    pair = one_flip([], device), programs.reference([])
    name = torch.cuda.get_device_name() if device == "cuda" else "this processor"
    print(
        f"torch {torch.__version__}, one_flip on {name}: one_flip / reference = ratio"
    )
    print(f"{'':<16}" + "".join(f"{time_s:>26g} s" for time_s in TIMES_S))
    for nodes, density in CELLS:
        payloads = [
            edges.encode(generate(Workload(nodes, density, seed))) for seed in SEEDS
        ]
        rows = []
        for routine in pair:
            rows.append([costs(routine, payload) for payload in payloads])
        columns = [zip(*row, strict=True) for row in rows]
        ours, theirs = (list(map(statistics.fmean, column)) for column in columns)
        cells = [
            f"{a:.1f} / {b:.1f} = {a / b:.3f}"
            for a, b in zip(ours, theirs, strict=True)
        ]
        print(
            f"{nodes:>6} {100 * density:>4g} %   " + "".join(f"{c:>28}" for c in cells),
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
