# SPDX-License-Identifier: Apache-2.0
"""Optimization: a device searches workloads by itself, to fixed time-outs and to targets."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from rig.comparison import Compared
from rig.errors import ConfigError
from rig.plan import Idle, Load, Optimized, Plan, Solve, Task
from rig.statistics import ratio
from rig.survey import Covered
from rig.sut import SutInfo
from rig.table import Table
from rig.trial import Measured, Metric, Problem, Sample
from scenarios import fixed_timeout, found_costs, time_to_solution
from scenarios.found_costs import TO_TARGET
from scenarios.single_stream import IDLE_MAX_S
from scenarios.tasks.qubo.cost import threshold_cost

if TYPE_CHECKING:
    from rig.done import Done

#: QUBO.md: fixed time-outs of 1e-3 to 1e2 s.
TIMEOUTS_S = (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)
#: QUBO.md: time to solution for a gap of 0.1, 0.05 and 0.01.
GAPS = (0.1, 0.05, 0.01)
#: The protocol counts a time-out in 32 bits of microseconds.
TIMEOUT_MAX_S = 3600.0
#: Thresholds are told to six decimals: `threshold_cost`.
GAP_STEP = 1e-6
#: A plan is listed before it is carried out.
ATTEMPTS_MAX = 10_000
#: A device may search longer than its time-out by this share of it, and by the setting overrun_s.
OVERRUN = 0.01


class Optimization:
    """Workloads in an order shuffled by the trial's seed; each loaded, untimed, and searched to each time-out and to its target.

    QUBO.md: the clock "starts after the graph is loaded".
    """

    name = "optimization"

    @dataclass(frozen=True, slots=True)
    class Settings:
        """Searches to fixed `timeouts_s`, and to the smallest of `gaps` to the target cost for `target_limit_s` at most (0: none).

        `curve` are further gaps that are marked on that way, for WADE. `attempts` searches each, by the solver seeds `seed`, `seed`
        + 1, ...: the same in all trials, unless `reseed`, so that trials repeat a measurement. `idle_s` of idle time before and
        after all. A device may exceed a time-out by 1 % and `overrun_s`; `limit_s` is what it may take until it answers.

        A gap is to the official target. With `best_known`, `gaps` to the best known one are marked too, where the device can mark
        so many thresholds, and the search goes on until the lowest of all is reached.
        """

        timeouts_s: tuple[float, ...] = TIMEOUTS_S
        gaps: tuple[float, ...] = GAPS
        target_limit_s: float = 100.0
        curve: tuple[float, ...] = ()
        best_known: bool = True
        attempts: int = 1
        seed: int = 1
        reseed: bool = False
        idle_s: float = 0.5
        overrun_s: float = 2e-4
        limit_s: float = 20.0

    def __init__(self, settings: Settings, thresholds_max: int | None = None) -> None:
        self.settings = settings
        self._thresholds_max = thresholds_max

    @classmethod
    def open(cls, settings: Settings, table: Table) -> Self:
        """Check the settings."""
        gaps, times_s = (*settings.gaps, *settings.curve), settings.timeouts_s
        for key, ok, allowed in (
            ("timeouts_s", all(1e-6 <= time_s <= TIMEOUT_MAX_S for time_s in times_s), f"1e-6 to {TIMEOUT_MAX_S:g} s each"),
            ("timeouts_s", len(set(map(fixed_timeout.timeout_name, times_s))) == len(times_s), "each once, in whole microseconds"),
            ("timeouts_s", bool(times_s or settings.target_limit_s), "one or more, or a target_limit_s"),
            ("gaps", bool(settings.gaps) or not settings.target_limit_s, "one or more, or target_limit_s = 0"),
            (
                "gaps",
                all(gap == 0 or GAP_STEP <= gap < 1 for gap in gaps)
                and len(set(map(time_to_solution.gap_name, gaps))) == len(gaps),
                "0, or 1e-6 to below 1, each once, here or in curve",
            ),
            (
                "target_limit_s",
                settings.target_limit_s == 0 or 1e-6 <= settings.target_limit_s <= TIMEOUT_MAX_S,
                f"0: none; or 1e-6 to {TIMEOUT_MAX_S:g} s",
            ),
            ("attempts", 1 <= settings.attempts <= ATTEMPTS_MAX, f"1 to {ATTEMPTS_MAX}"),
            ("seed", settings.seed >= 0 and settings.seed + settings.attempts <= 2**32, "0 or more, in 32 bits with all attempts"),
            ("idle_s", 0.1 <= settings.idle_s <= IDLE_MAX_S, f"0.1 to {IDLE_MAX_S:g} s"),
            ("overrun_s", 0 <= settings.overrun_s < math.inf, "0 or more"),
            ("limit_s", 0 < settings.limit_s < math.inf, "above 0"),
        ):
            if not ok:
                raise ConfigError(f"{getattr(settings, key)}", path=f"scenario.optimization.{key}", try_next=allowed)
        return cls(settings)

    def fitted(self, info: SutInfo) -> Optimization:
        """Return the scenario; raise ConfigError where the device cannot search, or mark as many thresholds."""
        if not info.solves:
            raise ConfigError(
                f"{info.name} cannot search by itself",
                path="scenario.optimization",
                try_next="firmware that knows OPTIMIZE, in the framed layer (docs/PROTOCOL.md section 4); [sut.cpu], [sut.virtual]",
            )
        most = len(self._gaps)
        if self.settings.target_limit_s and most > info.thresholds_max:
            raise ConfigError(
                f"{most} gaps, {info.name} marks {info.thresholds_max} thresholds of a search",
                path="scenario.optimization.curve",
                try_next="fewer of gaps and curve",
            )
        return Optimization(self.settings, info.thresholds_max)

    def plan(self, task: Task, seed: int) -> Plan:
        """Yield idle time, then each workload's load and searches, and idle again; what the device cannot hold is skipped."""
        if not isinstance(task, Optimized):
            raise ConfigError(f"{task.name} has no workloads to search", path="scenario.optimization", try_next="[task.qubo]")
        order = list(range(len(task)))
        random.Random(seed).shuffle(order)
        yield Idle(self.settings.idle_s)
        for index in order:
            loaded = yield Load(index, optional=True)
            if loaded is None or not loaded.refusal:
                yield from self._searches(index, self._thresholds(task.target(index), task.best_known(index)), seed)
        yield Idle(self.settings.idle_s)

    def summarise(self, measured: Measured, phases: Sequence[str]) -> dict[str, Metric]:
        """Reduce one trial: gap and power at each time-out, latency and energy to each gap, by cell and over all."""
        settings = self.settings
        return (
            _powers(measured)
            | fixed_timeout.metrics(measured.samples)
            | time_to_solution.metrics(measured.samples, settings.gaps, settings.curve)
        )

    def absent(self, measured: Measured) -> dict[str, str]:
        """Return which results there are not, and why."""
        return fixed_timeout.absent(measured.samples) | time_to_solution.absent(measured.samples, self.settings.gaps)

    def problems(self, measured: Measured) -> tuple[Problem, ...]:
        """Return the time-outs that the device did not keep."""
        late = [(sample, over_s) for sample in measured.samples if (over_s := self._over_s(sample)) > 0]
        if not late:
            return ()
        sample, over_s = max(late, key=lambda pair: pair[1])
        assert sample.solve is not None
        took_s, allowed = sample.windows[0].latency_s, f"{OVERRUN:.0%} and {self.settings.overrun_s * 1e3:g} ms more are allowed"
        detail = f"{len(late)} searches went on beyond their time-out, most in step {sample.step}: {took_s:.6g} s"
        return (Problem("timeout", f"{detail} where {sample.solve.timeout_s:g} s were asked for; {allowed} (overrun_s)"),)

    def lines(self, measured: Measured) -> tuple[str, ...]:
        """Return the results of each cell, what the numbers mean, and which targets were beaten."""
        settings, samples = self.settings, measured.samples
        said = []
        for cell in dict.fromkeys(sample.case for sample in samples):
            if settings.timeouts_s:
                said.append(fixed_timeout.line(cell, samples))
            if settings.target_limit_s:
                said.append(time_to_solution.line(cell, samples, settings.gaps, settings.curve))
        meant = "gap is (cost - target) / |target|; in brackets by the printed formula, (cost - target) / target, of the other sign"
        steps = f"WADE counts steps of {time_to_solution.WADE_STEP_S * 1e3:g} ms, and weighs each gap by 1 - gap"
        beaten = [_beaten(sample) for sample in samples if sample.costs and sample.costs.beaten]
        return (*said, meant, *([steps] if settings.target_limit_s else []), *dict.fromkeys(beaten))

    def survey(self, names: Sequence[str], done: Sequence[Done]) -> tuple[Covered, ...]:
        """Return for each workload and time-out how often a trial asks for it, and what came of that."""
        whats = [*map(fixed_timeout.timeout_name, self.settings.timeouts_s), *([TO_TARGET] if self.settings.target_limit_s else [])]
        finished: dict[tuple[int, str], list[str]] = {}
        for item in done:
            if isinstance(item.step, Load) and item.completion.refusal:
                for what in whats:
                    finished[item.step.index, what] = [f"not loaded: {item.completion.refusal}"] * self.settings.attempts
            elif isinstance(item.step, Solve) and item.score is not None:
                what = fixed_timeout.timeout_name(item.step.timeout_s) if item.step.target is None else TO_TARGET
                finished.setdefault((item.step.index, what), []).append(item.score.fault)
        return tuple(
            _covered(name, what, self.settings.attempts, finished.get((index, what), []))
            for index, name in enumerate(names)
            for what in whats
        )

    @property
    def _gaps(self) -> tuple[float, ...]:
        return (*self.settings.gaps, *self.settings.curve)

    def compared(self, trials: Sequence[Measured]) -> list[Compared]:
        """Return official, best known and measured costs of each cell and workload, for each way to search."""
        return found_costs.compared([sample for trial in trials for sample in trial.samples])

    def _thresholds(self, target: int, best_known: int | None) -> tuple[int, ...]:
        """Return the costs to mark, falling; several gaps may mean the same cost, as costs are whole numbers.

        Those of the best known target come beside those of the result, unless they are not wanted, or the device can mark too few.
        """
        own = {threshold_cost(target, gap) for gap in self._gaps}
        both = (
            own
            if best_known is None or not self.settings.best_known
            else own | {threshold_cost(best_known, gap) for gap in self.settings.gaps}
        )
        fits = self._thresholds_max is None or len(both) <= self._thresholds_max
        return tuple(sorted(both if fits else own, reverse=True))

    def _searches(self, index: int, costs: tuple[int, ...], trial_seed: int) -> Plan:
        """Yield the searches of a workload."""
        settings = self.settings
        for attempt in range(settings.attempts):
            seed = settings.seed + attempt
            if settings.reseed:
                seed = random.Random(f"{trial_seed}/{seed}").getrandbits(32)
            for timeout_s in settings.timeouts_s:
                yield Solve(index, timeout_s, seed, limit_s=settings.limit_s)
            if settings.target_limit_s:
                yield Solve(index, settings.target_limit_s, seed, costs[-1], costs, settings.limit_s)

    def _over_s(self, sample: Sample) -> float:
        """Return by how much a search is longer than it may be."""
        if sample.solve is None:
            return 0.0
        return sample.windows[0].latency_s - sample.solve.timeout_s * (1 + OVERRUN) - self.settings.overrun_s


def _covered(workload: str, what: str, asked: int, faults: Sequence[str]) -> Covered:
    return Covered(workload, what, asked, sum(not fault for fault in faults), tuple(fault for fault in faults if fault))


def _beaten(sample: Sample) -> str:
    assert sample.costs is not None and sample.solve is not None
    costs, which = sample.costs, f"workload {sample.solve.index} of {sample.case}, seed {sample.solve.seed}"
    known = min(target for target in (costs.official, costs.best_known) if target is not None)
    return f"target beaten: {costs.cost} where {known} is known: {which}; the vector is that of step {sample.step}"


def _powers(measured: Measured) -> dict[str, Metric]:
    """Return idle power, and that of all searches together."""
    if not measured.samples:
        return {}
    idles = [idle for idle in measured.idles if idle.energy_j is not None]
    value, error = ratio([idle.energy_j or 0.0 for idle in idles], [idle.latency_s for idle in idles])
    idle = Metric(value, "W", error, len(idles), higher_is_better=False)
    active = fixed_timeout.power(measured.samples)
    known = [each for each in (idle.standard_error, active.standard_error) if each is not None]
    both = math.hypot(*known) if len(known) == 2 else None
    return {
        "power_idle": idle,
        "power_active": active,
        "power_dynamic": Metric(active.value - idle.value, "W", both, active.n, higher_is_better=False),
    }
