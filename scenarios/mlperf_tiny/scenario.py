# SPDX-License-Identifier: Apache-2.0
"""The procedure of MLPerf Tiny: performance and energy over five windows, accuracy over
every file.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal, Self

from annotated_types import Interval, Unit, doc

from rig.interfaces.context import BenchContext
from rig.interfaces.scenario import Scenario
from rig.interfaces.sut import SutInfo
from rig.interfaces.task import Task
from rig.model.declaration import DeclaredMetrics
from rig.model.metric import Metric, Prominence, Statistic
from rig.model.picture import Picture
from rig.model.steps import Idle, Load, Plan, Query, Step
from rig.model.trial import Measured, Sample, Window
from rig.problems import Problem
from rig.settings.declare import Count, Why
from rig.stats.summary import standard_error
from scenarios.common import declared
from scenarios.common.calibration import Length
from scenarios.common.different_inputs import INPUTS
from scenarios.common.limits import (
    IDLE_MAX_S,
    REPEAT_MAX,
    IdleAround,
    Margin,
    TimeLimit,
)
from scenarios.common.metrics import headline, idle_power, power
from scenarios.mlperf_tiny.cases import cases, quality
from scenarios.mlperf_tiny.counted import (
    ITERATIONS,
    WINDOW_S,
    by_the_rule,
    counted,
    length_s,
)
from scenarios.mlperf_tiny.windows import windows

_RULE = Why(
    f"{WINDOW_S:g} s and {ITERATIONS} iterations are the least that MLPerf Tiny accepts"
)
THROUGHPUT = "throughput"
#: The standard deviation of the median of five normal values over that of their mean:
#: 0.5356 s against s / sqrt(5).
_MEDIAN = 1.198


class Tiny(Scenario):
    """MLPerf Tiny: five inputs, each at least 10 s and 10 iterations, their median; or
    every file once.
    """

    name = "tiny"
    states_lines = True
    method = (
        f"{Scenario.method} The runs of a window are those of one input. Throughput,"
        " latency and energy are medians over the five windows. In accuracy mode no"
        " window is timed."
    )

    @dataclass(frozen=True, slots=True)
    class Settings:
        """Settings: the mode, and the length of the five windows: never less than the
        rule's."""

        mode: Annotated[
            Literal["performance", "energy", "accuracy"],
            doc(
                "Performance and energy measure the same five windows, accuracy every"
                " file once."
            ),
        ] = "performance"
        window_s: Annotated[
            float,
            Interval(ge=WINDOW_S, le=IDLE_MAX_S),
            Unit("s"),
            _RULE,
            doc("Least duration of a window."),
        ] = WINDOW_S
        iterations: Annotated[
            Count,
            Interval(ge=ITERATIONS, le=REPEAT_MAX),
            _RULE,
            doc("Least number of inferences in a window."),
        ] = ITERATIONS
        margin: Margin = 0.05
        idle_s: IdleAround = 0.5
        limit_s: Annotated[
            TimeLimit,
            doc(
                "Longest time of a query beyond the time expected from the calibration."
            ),
        ] = 60.0

    def __init__(self, settings: Settings, tick_hz: float = 0.0) -> None:
        """`tick_hz` is the rate that the device states of its clock, 0 while that is
        not known."""
        self.settings = settings
        self._tick_hz = tick_hz

    @classmethod
    def open(cls, settings: Settings, context: BenchContext) -> Self:
        """Return the scenario as it is set; no setting can break the rule."""
        return cls(settings)

    def fitted(self, info: SutInfo) -> Tiny:
        """Return the scenario for a device whose clock counts at this rate."""
        return Tiny(self.settings, info.tick_hz)

    @property
    def windows_s(self) -> float | None:
        """Least time of the windows; in accuracy mode each sample has a short one."""
        settings = self.settings
        return None if settings.mode == "accuracy" else INPUTS * settings.window_s

    @property
    def needs_energy(self) -> bool:
        """Whether the result is an energy."""
        return self.settings.mode == "energy"

    def plan(self, task: Task, seed: int) -> Plan:
        """Yield five windows, each after a calibration that determines how many
        inferences it needs; or each sample once, in order.
        """
        settings = self.settings
        if settings.mode == "accuracy":
            return _each_once(task, settings.idle_s, settings.limit_s)
        length = Length(
            settings.window_s,
            settings.iterations,
            settings.margin,
            settings.idle_s,
            settings.limit_s,
        )
        return windows(task, seed, length, self._tick_hz)

    def summarise(self, measured: Measured, phases: Sequence[str]) -> dict[str, Metric]:
        """Reduce one trial: medians over the windows, or Top-1 and AUC over the
        files."""
        if self.settings.mode == "accuracy":
            return _answers(measured.samples)
        inference = [sample.windows[-1] for sample in counted(measured.samples)]
        known = [window for window in inference if window.energy_j is not None]
        energies_j = [window.energy_j or 0.0 for window in known]
        rates_hz = [_per_s(window) for window in inference]
        phase = phases[-1]
        return {
            THROUGHPUT: headline(_median(rates_hz, "1/s", higher_is_better=True)),
            f"latency_{phase}": _median(
                [window.latency_s for window in inference], "s"
            ),
            f"energy_{phase}": replace(_median(energies_j, "J"), budget_shown=True),
            f"power_{phase}": replace(power(known), prominence=Prominence.DETAIL),
            "power_idle": idle_power(measured),
        }

    def declared_metrics(
        self, task: Task, steps: Sequence[Step], phases: Sequence[str]
    ) -> DeclaredMetrics:
        """Declare medians over the windows, or Top-1 and AUC over the files."""
        if self.settings.mode == "accuracy":
            return _declared_quality(task.score_count)
        phase = phases[-1]
        metrics = {
            THROUGHPUT: declared.THROUGHPUT,
            f"latency_{phase}": declared.LATENCY,
            f"energy_{phase}": declared.ENERGY,
            f"power_{phase}": declared.POWER,
            "power_idle": declared.POWER,
        }
        return DeclaredMetrics(metrics)

    def problems(self, measured: Measured) -> tuple[Problem, ...]:
        """Return which rules of MLPerf Tiny the trial does not meet."""
        if self.settings.mode == "accuracy":
            return (
                () if measured.samples else (Problem("rule", "no file was answered"),)
            )
        faults = []
        samples = counted(measured.samples)
        if len(samples) != INPUTS:
            faults.append(
                Problem(
                    "rule",
                    f"{len(samples)} windows were measured, the median is over exactly"
                    f" {INPUTS}",
                )
            )
        short = [sample for sample in samples if not by_the_rule(sample)]
        if short:
            least = min(short, key=length_s)
            detail = (
                f"{len(short)} of {len(samples)} windows, shortest of step {least.step}"
                f" with {length_s(least):.6g} s and {least.repeat} inferences:"
                f" {WINDOW_S:g} s and {ITERATIONS} are the least; the device ran faster"
                " than in its calibration, also when asked again: raise the scenario's"
                " margin"
            )
            first, last = least.windows[0], least.windows[-1]
            problem = Problem(
                "rule",
                detail,
                step=least.step,
                start_s=first.start_s,
                stop_s=last.stop_s,
            )
            faults.append(problem)
        lacking = [sample for sample in samples if sample.windows[-1].energy_j is None]
        if self.settings.mode == "energy" and lacking:
            faults.append(
                Problem(
                    "rule", f"{len(lacking)} of {len(samples)} windows have no energy"
                )
            )
        return tuple(faults)

    def lines(self, measured: Measured) -> tuple[str, ...]:
        """Return the result as the runner of MLPerf Tiny words it, which is what its
        submission checker looks for.
        """
        if self.settings.mode == "accuracy":
            return _quality_lines(measured.samples)
        metrics = self.summarise(measured, ("infer",))
        lines = [
            _windows_line(measured.samples),
            f"Median throughput is {_plain(metrics[THROUGHPUT].value)} inf./sec.",
        ]
        if self.settings.mode == "energy":
            lines.append(
                f"Median energy cost is {_plain(metrics['energy_infer'].value * 1e6)}"
                " uJ/inf."
            )
        return tuple(lines)

    def pictures(self, folder: Path) -> Sequence[Picture]:
        """Draw the windows of each trial with their median, and its throughput."""
        # Here, because they bring matplotlib, which only the report needs.
        from scenarios.common.plots import of_throughput
        from scenarios.mlperf_tiny.plots import pictures

        if self.settings.mode == "accuracy":
            return of_throughput(folder, THROUGHPUT)
        return [*pictures(folder), *of_throughput(folder, THROUGHPUT)]


def _each_once(task: Task, idle_s: float, limit_s: float) -> Plan:
    # The order of the list: windows of one file follow each other, as in the
    # benchmark's own runner.
    yield Idle(idle_s)
    for index in range(len(task)):
        yield Load(index)
        yield Query((index,), limit_s, timed=False)
    yield Idle(idle_s)


def _declared_quality(score_count: int) -> DeclaredMetrics:
    # One score alone is no decision, and a label alone has no threshold to move.
    names = ["accuracy"] if score_count != 1 else []
    names += ["auc"] if score_count else []
    return DeclaredMetrics(dict.fromkeys(names, declared.SHARE))


def _answers(samples: Sequence[Sample]) -> dict[str, Metric]:
    if samples and all(sample.scores for sample in samples):
        return quality(cases(samples))
    right = [sample.correct for sample in samples]
    return {"accuracy": Metric.of_share(right, True, Prominence.HEADLINE)}


def _median(
    values: Sequence[float], unit: str, higher_is_better: bool = False
) -> Metric:
    value = statistics.median(values) if values else math.nan
    error = standard_error(values)
    if error is not None:
        error *= _MEDIAN
    return Metric(
        value=value,
        unit=unit,
        standard_error=error,
        n=len(values),
        higher_is_better=higher_is_better,
        statistic=Statistic.MEDIAN,
    )


def _per_s(window: Window) -> float:
    return 1 / window.latency_s if window.latency_s > 0 else math.nan


def _windows_line(measured: Sequence[Sample]) -> str:
    samples = counted(measured)
    again = len(measured) - len(samples)
    lengths_s = [length_s(sample) for sample in samples]
    counts = [sample.repeat for sample in samples]
    line = (
        f"{len(samples)} windows of {min(lengths_s):.3f} to {max(lengths_s):.3f} sec., "
        f"{min(counts)} to {max(counts)} inferences"
    )
    return line + (f"; {again} repeated, as too short" if again else "")


def _quality_lines(samples: Sequence[Sample]) -> tuple[str, ...]:
    metrics = _answers(samples)
    lines = (
        [
            f"{max(metric.n for metric in metrics.values())} files, {len(samples)}"
            " inferences"
        ]
        if metrics
        else []
    )
    # More digits than the benchmark's runner prints: rounding must not lift a result
    # over its threshold.
    lines += (
        [f"Top 1% = {metrics['accuracy'].value * 100:.4f}"]
        if "accuracy" in metrics
        else []
    )
    return tuple(
        lines + ([f"AUC = {metrics['auc'].value:.6f}"] if "auc" in metrics else [])
    )


def _plain(value: float) -> str:
    """Return seven digits without an exponent, which the checker's patterns do not
    know."""
    decimals = max(3, 6 - math.floor(math.log10(value))) if value > 0 else 3
    return f"{value:.{decimals}f}"
