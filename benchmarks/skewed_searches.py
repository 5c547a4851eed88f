# SPDX-License-Identifier: Apache-2.0
"""Searches whose gaps and times are drawn from skewed populations of known means:
further populations for search_coverage.py beside a solver with thresholds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rig.model.scores import Costs
from rig.model.steps import Solve
from rig.model.trial import Crossing, Measured, Sample, Window
from rig.stats.interval import Interval, Intervals
from scenarios.optimization import intervals as search_intervals

Floats = NDArray[np.float64]
#: Costs are whole numbers: so many units are a gap of 1.
TARGET = -1_000_000_000
THRESHOLD_GAP = 0.1
THRESHOLD = TARGET + 100_000_000
TIMEOUT_S = 0.001
LIMIT_S = 3600.0
#: One unit of a time.
UNIT_S = 0.01
#: Standard deviation of the logarithm of the rates of workloads.
SPREAD = 0.4


@dataclass(frozen=True, slots=True)
class Population:
    """Values of searches of a workload of some rate, with that rate times `mean` as
    mean; `gap` is the gap that one unit stands for, `times` tells whether latencies are
    drawn as well, and `judged` whether there is an aim.
    """

    mean: float
    gap: float
    draw: Callable[[Floats, np.random.Generator], Floats]
    times: bool = True
    judged: bool = True


@dataclass(frozen=True, slots=True)
class Layout:
    """So many cells, workloads in each, and searches of each, one a trial; each cell is
    so many times as hard as the one before.
    """

    cells: int
    workloads: int
    searches: int
    spread: float = SPREAD
    harder: float = 1.0
    judged: bool = True


def _zeros(rates: Floats, draw: np.random.Generator) -> Floats:
    drawn = rates * draw.exponential(1.0, rates.shape)
    return np.where(draw.random(rates.shape) < 0.85, 0.0, drawn)


POPULATIONS = {
    "exponential": Population(
        1.0, 0.01, lambda rates, draw: rates * draw.exponential(1, rates.shape)
    ),
    "square of an exponential": Population(
        2.0, 0.005, lambda rates, draw: rates * draw.exponential(1, rates.shape) ** 2
    ),
    "lognormal, sigma 1": Population(
        float(np.exp(0.5)),
        0.01,
        lambda rates, draw: rates * draw.lognormal(0, 1, rates.shape),
        times=False,
    ),
    "square of that": Population(
        float(np.exp(2.0)),
        0.001,
        lambda rates, draw: rates * draw.lognormal(0, 2, rates.shape),
        times=False,
        judged=False,
    ),
    "85 % zeros, else exponential": Population(0.15, 0.02, _zeros, times=False),
    "Poisson, mean 0.3, in 1/45": Population(
        0.3,
        1 / 45,
        lambda rates, draw: draw.poisson(0.3 * rates).astype(float),
        times=False,
    ),
    "Poisson, mean 3, in 1/45": Population(
        3.0,
        1 / 45,
        lambda rates, draw: draw.poisson(3 * rates).astype(float),
        times=False,
    ),
    "normal, deviation 20 %": Population(
        1.0,
        0.01,
        lambda rates, draw: rates * np.maximum(draw.normal(1, 0.2, rates.shape), 0),
        times=False,
    ),
}
LAYOUTS = {
    "4x2x5": Layout(4, 2, 5),
    "1x5x5": Layout(1, 5, 5),
    "1x10x5": Layout(1, 10, 5),
    "1x5x2": Layout(1, 5, 2),
    "4x1x5": Layout(4, 1, 5),
    "1x2x5": Layout(1, 2, 5),
    "4x2x5, each cell 5 times as hard": Layout(4, 2, 5, harder=5.0, judged=False),
    "1x5x5, spread 1": Layout(1, 5, 5, spread=1.0, judged=False),
}
Held = dict[str, tuple[tuple[bool | None, bool], tuple[bool | None, bool]]]


def one_run(number: int, population: str, layout: str, seed: int) -> Held:
    """Return for gap and latency of one session, of its two intervals: whether it holds
    the truth, None where there is none, and whether it has no upper end.
    """
    names = [list(POPULATIONS).index(population), list(LAYOUTS).index(layout)]
    draw = np.random.default_rng([seed, *names, number])
    of, shape = POPULATIONS[population], LAYOUTS[layout]
    count = shape.cells * shape.workloads
    rates = np.exp(shape.spread * draw.standard_normal(count) - shape.spread**2 / 2)
    hard = np.repeat(shape.harder ** -np.arange(float(shape.cells)), shape.workloads)
    rates *= hard
    every = np.repeat(rates[None, :], shape.searches, axis=0)
    gaps = of.draw(every, draw)
    times = of.draw(every, draw) if of.times else np.full(every.shape, np.nan)
    trials = [
        _trial(shape, trial, gaps[trial] * of.gap, times[trial])
        for trial in range(len(gaps))
    ]
    gap_settings = (THRESHOLD_GAP,) if of.times else ()
    result = search_intervals.intervals(trials, gap_settings, ())
    mine, all_of = of.mean * float(rates.mean()), of.mean * float(hard.mean())
    held = {"gap": holds(result["gap_best_known_1ms"], mine * of.gap, all_of * of.gap)}
    if of.times:
        name = "latency_to_10pct_best_known"
        held["latency"] = holds(result[name], mine * UNIT_S, all_of * UNIT_S)
    return held


def holds(
    found: Intervals, mine: float, all_of: float
) -> tuple[tuple[bool | None, bool], tuple[bool | None, bool]]:
    """Return whether both intervals hold their truth, None where there is no interval,
    and whether they have no upper end.
    """
    return _holds(found.same_samples, mine), _holds(found.other_samples, all_of)


def _holds(found: Interval, truth: float) -> tuple[bool | None, bool]:
    # Values equal but for rounding are inside: a bound of an exact method may be the
    # truth itself.
    inside = found.low <= truth * (1 + 1e-9) and truth <= found.high * (1 + 1e-9)
    return inside if found.known else None, found.high == np.inf


def _trial(shape: Layout, trial: int, gaps: Floats, times: Floats) -> Measured:
    """Return one trial: of each workload a search to a time-out, and one to a
    target."""
    samples = []
    for workload, (gap, time) in enumerate(zip(gaps, times, strict=True)):
        case = f"cell{workload // shape.workloads}"
        cost = TARGET + round(gap * -TARGET)
        samples.append(
            _sample(case, Solve(workload, TIMEOUT_S, trial), TIMEOUT_S, cost)
        )
        if not np.isnan(time):
            took_s = float(time) * UNIT_S
            solve = Solve(workload, LIMIT_S, trial, THRESHOLD, (THRESHOLD,))
            crossing = Crossing(THRESHOLD, _window(took_s))
            samples.append(_sample(case, solve, took_s, THRESHOLD, (crossing,)))
    return Measured(tuple(samples), ())


def _sample(
    case: str,
    solve: Solve,
    took_s: float,
    cost: int,
    crossings: tuple[Crossing, ...] = (),
) -> Sample:
    return Sample(
        1,
        (solve.index,),
        1,
        (_window(took_s),),
        label="",
        answer="",
        correct=False,
        case=case,
        solve=solve,
        costs=Costs(cost, None, cost, TARGET),
        crossings=crossings,
    )


def _window(length_s: float) -> Window:
    return Window("solve", 0.0, length_s, length_s, None)
