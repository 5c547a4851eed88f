# SPDX-License-Identifier: Apache-2.0
"""A solver whose distribution of times is known: what search_coverage.py makes trials
of.

A workload has a rate that is drawn from a gamma distribution; its searches know
thresholds after exponential times, one after the other, are ended at a limit, and find
costs at a fixed time-out that are binomial counts above the target. No best known cost
is there, so gaps have no bound.

Same samples: the truth is that of the workloads drawn, with any seeds. Other samples:
it is that of all workloads there might be, by numbers: means over 400 000 workloads of
their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from benchmarks.skewed_searches import Held, holds
from rig.model.scores import Costs
from rig.model.steps import Solve
from rig.model.trial import Crossing, Measured, Sample, Window
from rig.stats.time_to_target import time_to_solution_s
from scenarios.common.cost_gap import threshold_cost
from scenarios.optimization import intervals as search_intervals
from scenarios.optimization import wade

TRIALS = 5
TARGET = -1000
LIMIT_S = 0.08
TIMEOUT_S = 0.001
GAPS = (0.1, 0.01)
#: Each threshold takes so long on average, of those of WADE in their order, for a
#: workload of rate 1; the last two are the hardest.
STAGES_S = (*[1e-4] * 8, 3e-4, 2e-3, 8e-3)
#: Of so many units of cost, each is left at the time-out with a probability of LEFT
#: times the workload's rate.
UNITS = 40
LEFT = 0.3
POWER_W = 0.03
#: Draws that stand for all workloads, and all seeds of one.
MANY = 400_000
SEEDS = 20_000

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Design:
    """So many workloads of a cell, whose rates have this coefficient of variation, and
    so many attempts in a trial; all times are `pace` times as long.
    """

    workloads: int
    variation: float
    attempts: int = 1
    limit_s: float = LIMIT_S
    cells: int = 1
    pace: float = 1.0


DESIGNS = {
    "5 workloads": Design(5, 0.3),
    "1 workload": Design(1, 0.3),
    "4 cells of 2 workloads": Design(2, 0.3, cells=4),
    "5 workloads, 4 attempts": Design(5, 0.3, 4),
    "5 workloads, cut short": Design(5, 0.3, 4, 0.012),
    "5 workloads, 10 times as fast": Design(5, 0.3, pace=0.1),
}


def times(design: Design, rates: Floats, draw: np.random.Generator) -> Floats:
    """Return when searches of workloads of these rates know each threshold: one row a
    search."""
    stages_s = design.pace * np.array(STAGES_S)
    return np.cumsum(
        draw.exponential(1.0, (len(rates), len(STAGES_S))) * stages_s * rates[:, None],
        axis=1,
    )


def costs(rates: Floats, draw: np.random.Generator) -> NDArray[np.int64]:
    """Return the costs found at the time-out."""
    return TARGET + draw.binomial(UNITS, np.minimum(LEFT * rates, 1.0))


def rates(design: Design, count: int, draw: np.random.Generator) -> Floats:
    """Return the rates of workloads."""
    shape = design.variation**-2
    return draw.gamma(shape, 1 / shape, count)


def truth(design: Design, own: Floats, draw: np.random.Generator) -> dict[str, float]:
    """Return the truth for workloads of these rates in equal shares, by simulation."""
    known_s = times(design, own, draw)
    result = {"gap": float(np.mean((costs(own, draw) - TARGET) / -TARGET))}
    steps = np.maximum(np.ceil(known_s / wade.STEP_S * (1 - 1e-9)), 1.0)
    alphas = 1 - np.array(wade.GAPS)
    result["wade"] = float(
        np.mean(
            np.sum(np.where(known_s <= design.limit_s, alphas / steps, 0.0), axis=1)
        )
        / alphas.sum()
    )
    for gap in GAPS:
        at_s = known_s[:, wade.GAPS.index(gap)]
        share = float(np.mean(at_s <= design.limit_s))
        result |= {
            f"success {gap:g}": share,
            f"tts99 {gap:g}": time_to_solution_s(design.limit_s, share),
        }
        result |= {
            f"latency {gap:g}": float(np.mean(at_s)),
            f"energy {gap:g}": POWER_W * float(np.mean(at_s)),
        }
        result[f"latency_p50 {gap:g}"] = float(np.median(at_s))
    return result


@cache
def of_all(design: Design) -> Mapping[str, float]:
    """Return the truth for all possible workloads."""
    draw = np.random.default_rng(1)
    return truth(design, rates(design, MANY, draw), draw)


def trial(design: Design, own: Floats, draw: np.random.Generator) -> Measured:
    """Return the searches of one trial, with times and costs of their own."""
    samples = []
    for workload, rate in enumerate(own):
        for _ in range(design.attempts):
            seed = int(draw.integers(2**32))
            alone = np.array([rate])
            samples += list(
                _searches(
                    design,
                    workload,
                    seed,
                    times(design, alone, draw)[0],
                    int(costs(alone, draw)[0]),
                )
            )
    return Measured(tuple(samples), ())


def _searches(
    design: Design, workload: int, seed: int, known_s: Floats, cost: int
) -> Iterator[Sample]:
    fixed = Solve(workload, TIMEOUT_S, seed)
    cell = f"cell{workload // design.workloads}"
    yield _sample(cell, fixed, TIMEOUT_S, cost)
    thresholds = tuple(threshold_cost(TARGET, gap) for gap in wade.GAPS)
    crossings = tuple(
        Crossing(threshold, _window(float(at_s)) if at_s <= design.limit_s else None)
        for threshold, at_s in zip(thresholds, known_s, strict=True)
    )
    best = min(
        (crossing.threshold for crossing in crossings if crossing.window), default=0
    )
    took_s = min(float(known_s[-1]), design.limit_s)
    yield _sample(
        cell,
        Solve(workload, design.limit_s, seed, thresholds[-1], thresholds),
        took_s,
        best,
        crossings,
    )


def _sample(
    cell: str,
    solve: Solve,
    took_s: float,
    cost: int,
    crossings: tuple[Crossing, ...] = (),
) -> Sample:
    known = Costs(cost, TARGET, cost)
    whole = (_window(took_s),)
    return Sample(
        1,
        (solve.index,),
        1,
        whole,
        label="",
        answer="",
        correct=False,
        case=cell,
        solve=solve,
        costs=known,
        crossings=crossings,
    )


def _window(length_s: float) -> Window:
    return Window("solve", 0.0, length_s, length_s, POWER_W * length_s)


def one_run(number: int, title: str, seed: int) -> Held:
    """Return for each metric, of its two intervals, whether it holds the truth, None
    where there is none, and whether it has no upper end.
    """
    design = DESIGNS[title]
    draw = np.random.default_rng([seed, list(DESIGNS).index(title), number])
    own = rates(design, design.cells * design.workloads, draw)
    trials = [trial(design, own, draw) for _ in range(TRIALS)]
    result = search_intervals.intervals(trials, GAPS, wade.GAPS)
    mine = truth(design, np.repeat(own, SEEDS // len(own)), draw)
    others = of_all(design)
    held = {}
    for name, value in mine.items():
        intervals = result.get(_metric(name))
        if intervals is not None:
            held[name] = holds(intervals, value, others[name])
    return held


def _metric(name: str) -> str:
    what, _, gap = name.partition(" ")
    if not gap:
        return f"{what}_1ms" if what == "gap" else what
    what, _, ranked = what.partition("_")
    return "_".join(filter(None, (f"{what}_to_{100 * float(gap):g}pct", ranked)))
