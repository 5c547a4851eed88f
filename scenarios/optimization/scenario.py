# SPDX-License-Identifier: Apache-2.0
"""Optimization: a device searches workloads by itself, to fixed time-outs and to
targets."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn, Self

from annotated_types import Interval, Unit, doc

from rig.errors import ConfigError
from rig.interfaces.context import BenchContext
from rig.interfaces.scenario import Scenario
from rig.interfaces.sut import SutInfo
from rig.interfaces.task import OptimizationTask, Task
from rig.model.comparison import Compared
from rig.model.declaration import DeclaredMetrics
from rig.model.grid import Covered
from rig.model.metric import Metric, Repeatability
from rig.model.picture import Picture
from rig.model.steps import Idle, Load, Plan, Solve, Step
from rig.model.trial import Measured, Sample
from rig.problems import Problem
from rig.settings.declare import Count, Or, Seed
from rig.stats.interval import Intervals
from scenarios.common.cost_gap import threshold_cost
from scenarios.common.limits import IdleAround, TimeLimit
from scenarios.common.metrics import difference, headline, idle_power, samples_of
from scenarios.optimization import (
    fixed_timeout,
    found_costs,
    intervals,
    time_to_solution,
    wade,
)
from scenarios.optimization.declared import declared
from scenarios.optimization.found_costs import TO_TARGET
from scenarios.optimization.runs import gap_name, to_target

if TYPE_CHECKING:
    from rig.model.step_record import StepRecord

#: QUBO.md: fixed time-outs of 1e-3 to 1e2 s.
TIMEOUTS_S = (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)
#: QUBO.md: time to solution for a gap of 0.1, 0.05 and 0.01.
GAPS = (0.1, 0.05, 0.01)
#: The protocol counts a time-out in 32 bits of microseconds.
TIMEOUT_MAX_S = 3600.0
#: Thresholds are stated to six decimals: `threshold_cost`.
GAP_STEP = 1e-6
Gap = Annotated[float, Or(0, "the target"), Interval(ge=GAP_STEP, lt=1), Unit("1")]
#: A plan is listed before it is carried out.
ATTEMPTS_MAX = 10_000


class Optimization(Scenario):
    """Workloads in an order shuffled by the trial's seed; each loaded, untimed, and
    searched to each time-out and to its target.

    QUBO.md: the clock "starts after the graph is loaded".
    """

    name = "optimization"
    states_lines = True
    method = (
        "The device marks the start of each search, its end, and each threshold when"
        " it has a solution as good. The workload is in its memory before the first"
        " mark, so its transfer lies in no window; neither does the check of its"
        " solution. A search to a time-out gives a power, the mean over its window. A"
        " search to a target gives the time and the energy from its start to the mark"
        " of a threshold, by the device's own timer where it states that time. Each"
        " metric is made of all searches of its cell; dynamic is active minus idle."
    )

    @dataclass(frozen=True, slots=True)
    class Settings:
        """Time-outs, gaps, and how often each workload is searched.

        A gap is to the official target. With `best_known`, `gaps` to the best known one
        are marked too, where the device can mark so many thresholds, and the search
        goes on until the lowest of all is reached. Without `reseed` the solver's seeds
        are `seed`, `seed` + 1, ... in every trial: trials then repeat the same
        searches.
        """

        timeouts_s: Annotated[
            tuple[Annotated[float, Interval(ge=1e-6, le=TIMEOUT_MAX_S)], ...],
            Unit("s"),
            doc("Fixed time-outs to search to, each in whole microseconds."),
        ] = TIMEOUTS_S
        gaps: Annotated[
            tuple[Gap, ...],
            doc(
                "Relative gaps to the target cost; the smallest is searched to, all are"
                " marked."
            ),
        ] = GAPS
        target_limit_s: Annotated[
            float,
            Or(0, "no search to a target"),
            Interval(ge=1e-6, le=TIMEOUT_MAX_S),
            Unit("s"),
            doc("Longest search to the target."),
        ] = 100.0
        curve: Annotated[
            tuple[Gap, ...],
            doc("Gaps whose thresholds WADE is made of; none: no WADE."),
        ] = wade.GAPS
        best_known: Annotated[
            bool, doc("Mark the gaps to the best known cost as well.")
        ] = True
        attempts: Annotated[
            Count,
            Interval(ge=1, le=ATTEMPTS_MAX),
            doc("Searches of each kind, by solver seeds of their own."),
        ] = 1
        seed: Annotated[
            Seed, doc("First seed of the solver, where `reseed` is off.")
        ] = 1
        reseed: Annotated[
            bool,
            doc("Draw the solver's seeds of each workload from the trial's seed."),
        ] = True
        idle_s: IdleAround = 0.5
        limit_s: Annotated[
            TimeLimit, doc("Longest time from a time-out to the answer.")
        ] = 20.0

    def __init__(self, settings: Settings, thresholds_max: int | None = None) -> None:
        self.settings = settings
        self._thresholds_max = thresholds_max

    @classmethod
    def open(cls, settings: Settings, context: BenchContext) -> Self:
        """Check what settings say of each other."""
        times_s = settings.timeouts_s
        limit_s = settings.target_limit_s
        names = set(map(fixed_timeout.timeout_name, times_s))
        refuse = partial(_refuse, settings)
        if len(names) != len(times_s):
            refuse("timeouts_s", "each once, in whole microseconds")
        if not times_s and not limit_s:
            refuse("timeouts_s", "one or more, or a target_limit_s")
        if not settings.gaps and limit_s:
            refuse("gaps", "one or more, or target_limit_s = 0")
        if not _are_named(settings.gaps):
            refuse("gaps", "each once")
        if not _are_named(settings.curve):
            refuse("curve", "each once")
        if settings.seed + settings.attempts > 2**32:
            refuse("seed", "in 32 bits with all attempts")
        return cls(settings)

    def fitted(self, info: SutInfo) -> Optimization:
        """Return the scenario; raise ConfigError where the device cannot search, or
        mark as many thresholds.
        """
        if not info.solves:
            raise ConfigError(
                f"{info.name} cannot search by itself",
                path="scenario.optimization",
                try_next=(
                    "firmware that knows OPTIMIZE, in the framed layer"
                    " (docs/reference/PROTOCOL.md section 4); [sut.cpu], [sut.virtual]"
                ),
            )
        most = len(self._gaps)
        if self.settings.target_limit_s and most > info.thresholds_max:
            raise ConfigError(
                f"{most} gaps, {info.name} marks {info.thresholds_max} thresholds of a"
                " search",
                path="scenario.optimization.curve",
                try_next="fewer of gaps and curve",
            )
        return Optimization(self.settings, info.thresholds_max)

    def plan(self, task: Task, seed: int) -> Plan:
        """Yield idle time, then each workload's load and searches, and idle again; what
        the device cannot hold is skipped.
        """
        if not isinstance(task, OptimizationTask):
            raise ConfigError(
                f"{task.name} has no workloads to search",
                path="scenario.optimization",
                try_next="[task.qubo]",
            )
        order = list(range(len(task)))
        random.Random(seed).shuffle(order)
        yield Idle(self.settings.idle_s)
        for index in order:
            loaded = yield Load(index, optional=True)
            if loaded is None or not loaded.refusal:
                yield from self._searches(
                    index,
                    self._thresholds(task.target(index), task.best_known(index)),
                    seed,
                )
        yield Idle(self.settings.idle_s)

    def summarise(self, measured: Measured, phases: Sequence[str]) -> dict[str, Metric]:
        """Reduce one trial: gap and power at each time-out, latency and energy to each
        gap, by cell and over all.
        """
        settings = self.settings
        samples = measured.samples
        repeatability = (
            Repeatability.DRAWN if settings.reseed else Repeatability.REPEATED
        )
        at_timeouts = fixed_timeout.metrics(samples, repeatability)
        to_gaps = time_to_solution.metrics(
            samples, settings.gaps, settings.curve, repeatability
        )
        return _powers(measured) | at_timeouts | to_gaps

    def declared_metrics(
        self, task: Task, steps: Sequence[Step], phases: Sequence[str]
    ) -> DeclaredMetrics | None:
        """Declare gaps, powers, and times to solution of each cell."""
        if not isinstance(task, OptimizationTask):
            return None
        return declared(task, steps, self.settings.gaps, self.settings.curve)

    def absent(self, measured: Measured) -> dict[str, str]:
        """Return which results there are not, and why."""
        samples = measured.samples
        settings = self.settings
        return fixed_timeout.absent(samples) | time_to_solution.absent(
            samples, settings.gaps, settings.curve
        )

    def intervals(
        self, trials: Sequence[Measured], phases: Sequence[str]
    ) -> dict[str, Intervals]:
        """Return both intervals of the metrics of searches, from those of all
        trials."""
        return intervals.intervals(trials, self.settings.gaps, self.settings.curve)

    def pooled_metrics(
        self, trials: Sequence[Measured], phases: Sequence[str]
    ) -> dict[str, float]:
        """Return the values that all searches together tell."""
        return intervals.pooled_metrics(trials, self.settings.gaps)

    def problems(self, measured: Measured) -> tuple[Problem, ...]:
        """Return no problem: a time-out that the device did not keep makes its cell
        invalid, and no other.
        """
        return ()

    def lines(self, measured: Measured) -> tuple[str, ...]:
        """Describe the results of each cell, the definitions of the numbers, and the
        targets that were beaten."""
        settings = self.settings
        samples = measured.samples
        texts = []
        for cell in dict.fromkeys(sample.case for sample in samples):
            if settings.timeouts_s:
                texts.append(fixed_timeout.line(cell, samples))
            if settings.target_limit_s and _is_to_target(cell, samples):
                texts.append(
                    time_to_solution.line(cell, samples, settings.gaps, settings.curve)
                )
        meant = (
            "gap is (cost - target) / |target|; in brackets by the printed formula,"
            " (cost - target) / target, of the other sign"
        )
        steps = (
            f"WADE counts whole steps of {wade.STEP_S * 1e3:g} ms, and weighs each of "
            f"{len(settings.curve)} gaps by 1 - gap"
        )
        same = (
            "every trial repeats the same searches (reseed = false): what other solver "
            "seeds would give is not told"
        )
        texts.append(meant)
        if settings.target_limit_s and settings.curve:
            texts.append(steps)
        if not settings.reseed:
            texts.append(same)
        beaten = []
        for sample in samples:
            if sample.costs and sample.costs.beaten:
                beaten.append(_beaten(sample))
        return (*texts, *dict.fromkeys(beaten))

    def survey(
        self, names: Sequence[str], done: Sequence[StepRecord]
    ) -> tuple[Covered, ...]:
        """Return for each workload and time-out how often a trial asks for it, and what
        came of that.
        """
        whats = list(map(fixed_timeout.timeout_name, self.settings.timeouts_s))
        if self.settings.target_limit_s:
            whats.append(TO_TARGET)
        finished: dict[tuple[int, str], list[str]] = {}
        without_target: set[int] = set()
        for item in done:
            if isinstance(item.step, Load) and item.completion.refusal:
                for what in whats:
                    finished[item.step.index, what] = [
                        f"not loaded: {item.completion.refusal}"
                    ] * self.settings.attempts
            elif isinstance(item.step, Solve) and item.score is not None:
                what = (
                    fixed_timeout.timeout_name(item.step.timeout_s)
                    if item.step.target is None
                    else TO_TARGET
                )
                finished.setdefault((item.step.index, what), []).append(
                    item.score.fault
                )
                costs = item.score.costs
                if costs and costs.official is None and costs.best_known is None:
                    without_target.add(item.step.index)
        attempts = self.settings.attempts
        covered = []
        for index, name in enumerate(names):
            for what in whats:
                if what == TO_TARGET and index in without_target:
                    continue
                faults = finished.get((index, what), [])
                covered.append(_covered(name, what, attempts, faults))
        return tuple(covered)

    def pictures(self, folder: Path) -> Sequence[Picture]:
        """Draw costs over time, and the gaps that are left."""
        # Here, because it brings matplotlib, which only the report needs.
        from scenarios.optimization import plots

        return plots.pictures(folder)

    @property
    def _gaps(self) -> tuple[float, ...]:
        return tuple(dict.fromkeys((*self.settings.gaps, *self.settings.curve)))

    def comparisons(self, trials: Sequence[Measured]) -> list[Compared]:
        """Return official, best known and measured costs of each cell and workload, for
        each way to search.
        """
        return found_costs.compared(samples_of(trials))

    def _thresholds(
        self, target: int | None, best_known: int | None
    ) -> tuple[int, ...]:
        """Return the costs to mark, falling; several gaps may mean the same cost, as
        costs are whole numbers.

        Those of the best known target come beside those of the result, unless they are
        not wanted, or the device can mark too few. Without a target there is none.
        """
        if target is None:
            return ()
        thresholds = {threshold_cost(target, gap) for gap in self._gaps}
        if best_known is None or not self.settings.best_known:
            both = thresholds
        else:
            both = thresholds | {
                threshold_cost(best_known, gap) for gap in self.settings.gaps
            }
        fits = self._thresholds_max is None or len(both) <= self._thresholds_max
        return tuple(sorted(both if fits else thresholds, reverse=True))

    def _searches(self, index: int, costs: tuple[int, ...], trial_seed: int) -> Plan:
        """Yield the searches of a workload."""
        settings = self.settings
        for attempt in range(settings.attempts):
            seed = settings.seed + attempt
            if settings.reseed:
                seed = random.Random(f"{trial_seed}/{index}/{seed}").getrandbits(32)
            for timeout_s in settings.timeouts_s:
                yield Solve(index, timeout_s, seed, limit_s=settings.limit_s)
            if settings.target_limit_s and costs:
                yield Solve(
                    index,
                    settings.target_limit_s,
                    seed,
                    target=costs[-1],
                    thresholds=costs,
                    limit_s=settings.limit_s,
                )


def _refuse(settings: Optimization.Settings, key: str, allowed: str) -> NoReturn:
    raise ConfigError(
        f"{getattr(settings, key)}",
        path=f"scenario.optimization.{key}",
        try_next=allowed,
    )


def _are_named(gaps: Sequence[float]) -> bool:
    """Check whether each gap has a name of its own."""
    return len(set(map(gap_name, gaps))) == len(gaps)


def _covered(workload: str, what: str, asked: int, faults: Sequence[str]) -> Covered:
    done = sum(not fault for fault in faults)
    return Covered(
        workload,
        what,
        asked,
        done,
        tuple(fault for fault in faults if fault),
    )


def _is_to_target(cell: str, samples: Sequence[Sample]) -> bool:
    """Whether a search of a cell went to a target: other cells have none."""
    return any(sample.case == cell for sample in to_target(samples))


def _beaten(sample: Sample) -> str:
    assert sample.costs is not None and sample.solve is not None
    costs = sample.costs
    which = f"workload {sample.solve.index} of {sample.case}, seed {sample.solve.seed}"
    known = min(
        target for target in (costs.official, costs.best_known) if target is not None
    )
    return (
        f"target beaten: {costs.cost} where {known} is known: {which}; the vector is"
        f" that of step {sample.step}"
    )


def _powers(measured: Measured) -> dict[str, Metric]:
    """Return idle power, and that of all searches together."""
    if not measured.samples:
        return {}
    idle = idle_power(measured)
    active = headline(fixed_timeout.power(measured.samples))
    return {
        "power_idle": idle,
        "power_active": active,
        "power_dynamic": difference(active, idle),
    }
