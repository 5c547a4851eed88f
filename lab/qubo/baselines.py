# SPDX-License-Identifier: Apache-2.0
"""Gap after fixed time-outs of three programs that [sut.cpu] runs for QUBO, in one run,
timed as the rig times them.

Run it: `python -m lab.qubo.baselines [NODES...]`; 100, 500, 1000 and
2500 nodes by default. A C compiler and the extra `qubo` are needed. For each cell the
mean over the seeds 0 to 4 of the gap to our targets, and of the time it really took.
"""

from __future__ import annotations

import statistics
import sys
from contextlib import closing

from rig.interfaces.context import BenchContext
from rig.model.steps import Load, Solve
from scenarios.common.cost_gap import CostGap
from scenarios.tasks.qubo.task import TUNING_SEEDS, QuboTask
from sut_backends.cpu.backend import CpuSut

TIMEOUTS_S = (1e-3, 1e-2, 1e-1, 1.0)
PROGRAMS = ("reference", "tabu", "annealing")
DENSITIES = (0.01, 0.05, 0.25)


def row(task: QuboTask, sut: CpuSut, timeout_s: float) -> str:
    """Return mean gap and mean duration over the workloads of a cell."""
    gaps = []
    took_s = []
    for index in range(len(task)):
        sut.do(Load(index), [task.payload(index)])
        completion = sut.do(Solve(index, timeout_s, seed=1, limit_s=60.0))
        costs = task.score(index, completion.output).costs
        assert costs is not None and costs.cost == costs.claimed
        gaps.append(
            CostGap(
                costs.cost,
                task.target(index) if costs.best_known is None else costs.best_known,
            ).gap
            or 0.0
        )
        took_s.append((completion.marks[-1].tick - completion.marks[0].tick) * 1e-9)
    late = statistics.fmean(took_s)
    return f"{statistics.fmean(gaps):7.1%}" + (
        f" ({late:.3g} s)" if late > 1.02 * timeout_s + 2e-4 else ""
    )


def main() -> int:
    """Print a table a cell: programs down, time-outs across."""
    sizes = [int(size) for size in sys.argv[1:]] or [100, 500, 1000, 2500]
    print(f"{'':<28}" + "".join(f"{timeout_s:>18g} s" for timeout_s in TIMEOUTS_S))
    for nodes in sizes:
        for density in DENSITIES:
            task = QuboTask.open(
                QuboTask.Settings((nodes,), (density,), TUNING_SEEDS), BenchContext()
            )
            assert isinstance(task, QuboTask)
            for name in PROGRAMS:
                context = BenchContext(programs={name: task.programs[name]})
                with closing(CpuSut.open(CpuSut.Settings(name), context)) as sut:
                    cells = [row(task, sut, timeout_s) for timeout_s in TIMEOUTS_S]
                print(
                    f"{nodes:>5} {100 * density:>3g} % {name:<18}"
                    + "".join(f"{cell:>20}" for cell in cells),
                    flush=True,
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
