# SPDX-License-Identifier: Apache-2.0
"""Single-stream: the next sample is asked for when the previous one is finished."""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Self

import numpy as np
from annotated_types import Ge, Interval, Unit, doc

from rig.arrays import Float64s
from rig.interfaces.context import BenchContext
from rig.interfaces.scenario import Scenario
from rig.interfaces.task import Task
from rig.model.columns import MeasuredColumns, WindowArrays
from rig.model.declaration import DeclaredMetrics
from rig.model.metric import Metric, Prominence, Repeatability, Statistic
from rig.model.steps import Idle, Load, Plan, Query, Step
from rig.model.trial import Measured
from rig.settings.declare import Count, Or
from rig.stats import early_stopping
from rig.stats.summary import mean, ratio, ratio_value, standard_error
from scenarios.common import declared
from scenarios.common.limits import IDLE_MAX_S, REPEAT_MAX, TimeLimit
from scenarios.common.metrics import difference

PERCENTILES = (50, 90, 99)
#: MLPerf LoadGen, SingleStream: the result is the early-stopping estimate of the 90th
#: percentile of latency.
LOADGEN_PERCENT = 90.0
EARLY_STOPPING = "latency_total_p90_early_stopping"
TOTAL = "latency_total"


class SingleStream(Scenario):
    """One sample at a time, in an order shuffled by the trial's seed.

    ASC.md: "batch size 1 [...] next sample only after the previous is finished".
    """

    name = "single_stream"
    method = (
        f"{Scenario.method} Latencies and energies are means over all timed samples."
        " Active power is the energy of all timed samples over their time; dynamic is"
        " active minus idle."
    )

    @dataclass(frozen=True, slots=True)
    class Settings:
        """Idle times, warm-up, and runs in a window."""

        idle_s: Annotated[
            float,
            Interval(gt=0, le=IDLE_MAX_S),
            Unit("s"),
            doc("Idle time before the first sample, after the last, and in between."),
        ] = 0.5
        idle_every: Annotated[
            Count,
            Or(0, "only before and after all"),
            Ge(1),
            doc("Samples between two idle times."),
        ] = 0
        warmup: Annotated[
            Count, Ge(0), doc("Queries before all others, which do not count.")
        ] = 2
        repeat: Annotated[
            Count,
            Interval(ge=1, le=REPEAT_MAX),
            doc(
                "Runs of each phase in one window, for devices too fast for the"
                " monitor."
            ),
        ] = 1
        limit_s: Annotated[TimeLimit, doc("Longest time that a query may take.")] = 20.0
        interleaved: Annotated[
            bool,
            doc(
                "Load each sample once for all trials, which query it in turn, not"
                " trial by trial; stated."
            ),
        ] = False

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @classmethod
    def open(cls, settings: Settings, context: BenchContext) -> Self:
        """Return the scenario as it is set."""
        return cls(settings)

    @property
    def interleaved(self) -> bool:
        """Whether the trials take turns at each sample."""
        return self.settings.interleaved

    def query_s(self, claim: Mapping[str, float]) -> float | None:
        """Return the claimed mean latency of all phases."""
        return claim.get(TOTAL)

    def plan(self, task: Task, seed: int) -> Plan:
        """Yield idle, warm-up, then load and query for each sample, and idle again."""
        order = list(range(len(task)))
        random.Random(seed).shuffle(order)
        settings = self.settings
        yield Idle(settings.idle_s)
        for index in order[: settings.warmup]:
            yield Load(index)
            yield Query((index,), settings.limit_s, settings.repeat, warmup=True)
        for count, index in enumerate(order, start=1):
            yield Load(index)
            yield Query((index,), settings.limit_s, settings.repeat)
            if (
                settings.idle_every
                and count % settings.idle_every == 0
                and count < len(order)
            ):
                yield Idle(settings.idle_s)
        yield Idle(settings.idle_s)

    def summarise(self, measured: Measured, phases: Sequence[str]) -> dict[str, Metric]:
        """Reduce one trial: means with standard errors, percentiles of latency."""
        return self._metrics(measured.columns, phases, with_errors=True)

    def summarise_variation(
        self, measured: Measured, phases: Sequence[str]
    ) -> dict[str, Metric]:
        """Reduce a variation of a trial, without standard errors."""
        return self._metrics(measured.columns, phases, with_errors=False)

    def _metrics(
        self, columns: MeasuredColumns, phases: Sequence[str], with_errors: bool
    ) -> dict[str, Metric]:
        metrics = _accuracy(columns, with_errors)
        samples = columns.samples.of_width(len(phases))
        name = (type(self), tuple(phases), with_errors)
        if name not in samples.of_latencies:
            samples.of_latencies[name] = _latencies(columns, phases, with_errors)
        metrics |= samples.of_latencies[name]
        return metrics | _energies(samples, columns.idles, phases, with_errors)

    def declared_metrics(
        self, task: Task, steps: Sequence[Step], phases: Sequence[str]
    ) -> DeclaredMetrics:
        """Declare latencies and energies of each phase and of all together."""
        metrics = {"accuracy": declared.SHARE}
        for name in (*(f"latency_{phase}" for phase in phases), TOTAL):
            metrics[name] = declared.LATENCY
            for percent in PERCENTILES:
                metrics[f"{name}_p{percent}"] = declared.LATENCY
        queries = [step for step in steps if isinstance(step, Query)]
        counted = [query for query in queries if not query.warmup]
        absent = _no_estimate([query.repeat for query in counted])
        if not absent:
            metrics[EARLY_STOPPING] = declared.LATENCY
        metrics |= {
            "power_idle": declared.POWER,
            "power_active": declared.POWER,
            "power_dynamic": declared.DYNAMIC_POWER,
        }
        for phase in phases:
            metrics[f"power_{phase}"] = declared.POWER
            metrics[f"energy_{phase}"] = declared.ENERGY
            metrics[f"energy_{phase}_dynamic"] = declared.DYNAMIC_ENERGY
        metrics |= {
            "energy_total": declared.ENERGY,
            "energy_idle": declared.ENERGY,
            "energy_dynamic": declared.DYNAMIC_ENERGY,
        }
        return DeclaredMetrics(metrics, absent)

    def absent(self, measured: Measured) -> dict[str, str]:
        """Return why there is no early-stopping estimate, where there is none."""
        return _no_estimate([sample.repeat for sample in measured.samples])


def _no_estimate(repeats: Sequence[int]) -> dict[str, str]:
    """Return why samples of so many runs each give no early-stopping estimate."""
    needed = early_stopping.needed(LOADGEN_PERCENT)
    if any(repeat > 1 for repeat in repeats):
        return {
            EARLY_STOPPING: (
                "each latency is the mean of several runs (repeat), of which one "
                "by one nothing is known"
            )
        }
    if len(repeats) >= needed:
        return {}
    return {EARLY_STOPPING: f"needs {needed} samples, there are {len(repeats)}"}


def _row_sums(table: Float64s) -> Float64s:
    """Add the columns up, from left to right."""
    return functools.reduce(np.add, table.T, np.zeros(len(table)))


def _accuracy(columns: MeasuredColumns, with_error: bool) -> dict[str, Metric]:
    # A task whose single outputs give no answer, only scores, has no accuracy by the
    # sample.
    if not columns.answered.all():
        return {}
    right = columns.right.tolist()
    accuracy = Metric.of_share(right, True, Prominence.HEADLINE, with_error=with_error)
    return {"accuracy": accuracy}


def _latencies(
    columns: MeasuredColumns, phases: Sequence[str], with_errors: bool
) -> dict[str, Metric]:
    """Return the metrics of the phases' latencies and of their sum."""
    metrics: dict[str, Metric] = {}
    latencies_s = columns.samples.of_width(len(phases)).latency_s
    for place, phase in enumerate(phases):
        name = f"latency_{phase}"
        metrics |= _latency(name, latencies_s[:, place], with_errors=with_errors)
    totals_s = _row_sums(latencies_s)
    metrics |= _latency(TOTAL, totals_s, Prominence.HEADLINE, with_errors=with_errors)
    if not _no_estimate(columns.repeats.tolist()):
        estimate_s = early_stopping.estimate(totals_s.tolist(), LOADGEN_PERCENT)
        assert estimate_s is not None
        metrics[EARLY_STOPPING] = Metric(
            estimate_s,
            "s",
            n=len(totals_s),
            higher_is_better=False,
            statistic=Statistic.PERCENTILE,
            prominence=Prominence.DETAIL,
            repeatability=Repeatability.COARSE,
        )
    return metrics


def _latency(
    name: str,
    values_s: Float64s,
    prominence: Prominence = Prominence.MAIN,
    *,
    with_errors: bool,
) -> dict[str, Metric]:
    ordered = Metric.of_percentiles(
        values_s, PERCENTILES, "s", higher_is_better=False, with_error=with_errors
    )
    percentiles = {f"{name}_p{metric.percent}": metric for metric in ordered}
    mean_s = _metric(values_s, "s", prominence, with_errors)
    return {name: mean_s} | percentiles


def _energies(
    samples: WindowArrays, idles: WindowArrays, phases: Sequence[str], with_errors: bool
) -> dict[str, Metric]:
    """Return powers and energies of the samples whose energies are known."""
    known = ~samples.lost.any(axis=1)
    rows_j = samples.energy_j[known]
    rows_s = samples.latency_s[known]
    total_j = _row_sums(rows_j)
    total_s = _row_sums(rows_s)
    kept = ~idles.lost
    idle = _power(
        idles.energy_j[kept], idles.latency_s[kept], Prominence.MAIN, with_errors
    )
    active = _power(total_j, total_s, Prominence.HEADLINE, with_errors)
    metrics = {
        "power_idle": replace(idle, budget_shown=True),
        "power_active": active,
        "power_dynamic": difference(active, idle),
    }
    for place, phase in enumerate(phases):
        energies_j = rows_j[:, place]
        durations_s = rows_s[:, place]
        metrics[f"power_{phase}"] = _power(
            energies_j, durations_s, Prominence.DETAIL, with_errors
        )
        metrics[f"energy_{phase}"] = _metric(
            energies_j, "J", Prominence.MAIN, with_errors
        )
        metrics[f"energy_{phase}_dynamic"] = _beyond_idle(
            energies_j, durations_s, idle, Prominence.DETAIL, with_errors
        )
    metrics["energy_total"] = _metric(total_j, "J", Prominence.HEADLINE, with_errors)
    none_j = np.zeros(len(total_s))
    metrics["energy_idle"] = _beyond_idle(
        none_j, total_s, idle, Prominence.DETAIL, with_errors, sign=-1.0
    )
    metrics["energy_dynamic"] = _beyond_idle(
        total_j, total_s, idle, Prominence.HEADLINE, with_errors
    )
    return metrics


def _beyond_idle(
    energies_j: Float64s,
    durations_s: Float64s,
    idle: Metric,
    prominence: Prominence,
    with_error: bool,
    sign: float = 1.0,
) -> Metric:
    """Take idle power off each energy; its standard error is common to all samples, so
    it does not shrink with their number.
    """
    of_each_j: Float64s = sign * (energies_j - idle.value * durations_s)
    beyond_j = of_each_j.tolist()
    single_j = standard_error(beyond_j) if with_error else None
    error_j = None
    if single_j is not None and idle.standard_error is not None:
        error_j = math.hypot(single_j, mean(durations_s.tolist()) * idle.standard_error)
    return _single(
        value=mean(beyond_j),
        unit="J",
        error=error_j,
        count=len(beyond_j),
        statistic=Statistic.DIFFERENCE,
        prominence=prominence,
    )


def _power(
    energies_j: Float64s,
    durations_s: Float64s,
    prominence: Prominence,
    with_error: bool,
) -> Metric:
    above, below = energies_j.tolist(), durations_s.tolist()
    if with_error:
        value, error = ratio(above, below)
    else:
        value, error = ratio_value(above, below), None
    return _single(
        value=value,
        unit="W",
        error=error,
        count=len(durations_s),
        statistic=Statistic.RATIO,
        prominence=prominence,
    )


def _metric(
    values: Float64s, unit: str, prominence: Prominence, with_error: bool
) -> Metric:
    single = values.tolist()
    return _single(
        value=mean(single),
        unit=unit,
        error=standard_error(single) if with_error else None,
        count=len(single),
        statistic=Statistic.MEAN,
        prominence=prominence,
    )


def _single(
    *,
    value: float,
    unit: str,
    error: float | None,
    count: int,
    statistic: Statistic,
    prominence: Prominence,
) -> Metric:
    """Make a metric for which less is better; a headline shows its budget.

    It is made in one piece, as an uncertainty budget needs thousands.
    """
    return Metric(
        value,
        unit,
        error,
        count,
        higher_is_better=False,
        statistic=statistic,
        prominence=prominence,
        budget_shown=prominence is Prominence.HEADLINE,
    )
