# SPDX-License-Identifier: Apache-2.0
"""Offline: all samples at hand from the start, processed back to back in windows as
full as the device's slots allow.
"""

from __future__ import annotations

import math
import random
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Self

from annotated_types import Ge, Interval, Unit, doc

from rig.errors import ConfigError
from rig.interfaces.context import BenchContext
from rig.interfaces.scenario import Scenario
from rig.interfaces.sut import SutInfo
from rig.interfaces.task import Task
from rig.model.completion import Completion
from rig.model.declaration import DeclaredMetrics
from rig.model.metric import Metric, Prominence, Statistic
from rig.model.picture import Picture
from rig.model.steps import Idle, Load, Plan, Query, Step
from rig.model.trial import Measured, Sample
from rig.problems import Problem
from rig.settings.declare import Count, Or
from rig.stats.summary import ratio
from scenarios.common import declared
from scenarios.common.calibration import Length, calibrate, rate_of
from scenarios.common.limits import (
    IDLE_MAX_S,
    REPEAT_MAX,
    IdleAround,
    Margin,
    TimeLimit,
)
from scenarios.common.metrics import headline, idle_power, of_ratio

#: LoadGen's Offline: "all samples in one query", for 600 s at least.
LOADGEN_S = 600.0
THROUGHPUT = "throughput"


class Offline(Scenario):
    """All samples in an order shuffled by the trial's seed, chunk by chunk; each chunk
    is a batch of as many rounds as others.
    """

    name = "offline"
    states_lines = True
    method = (
        "The device marks the start and the end of each window, in which it processes"
        " a batch of loaded samples in several rounds, all phases of each. The samples"
        " are in its memory before the first mark, so loading lies in no window."
        " Throughput, active power and the energies of a sample are ratios of totals"
        " over all windows; dynamic is active minus idle."
    )

    @dataclass(frozen=True, slots=True)
    class Settings:
        """Length of the windows, and how many samples are loaded at a time."""

        min_duration_s: Annotated[
            float,
            Interval(gt=0, le=IDLE_MAX_S),
            Unit("s"),
            doc("Least duration of all windows of a trial together."),
        ] = 10.0
        min_count: Annotated[
            Count,
            Interval(ge=1, le=REPEAT_MAX),
            doc("Least number of inferences in a trial."),
        ] = 1
        margin: Margin = 0.05
        chunk: Annotated[
            Count,
            Or(0, "as many as the device takes"),
            Ge(1),
            doc("Samples that are loaded at a time."),
        ] = 0
        idle_s: IdleAround = 0.5
        limit_s: Annotated[
            TimeLimit,
            doc(
                "Longest time of a batch beyond the time expected from the calibration."
            ),
        ] = 60.0

    def __init__(self, settings: Settings, slots: int = 0) -> None:
        """`slots` is how many samples the device takes at a time, 0 while that is not
        known."""
        self.settings = settings
        self._slots = slots

    @classmethod
    def open(cls, settings: Settings, context: BenchContext) -> Self:
        """Return the scenario as it is set."""
        return cls(settings)

    def fitted(self, info: SutInfo) -> Offline:
        """Return the scenario for a device that takes so many samples; raise
        ConfigError where it takes but one a window.
        """
        if info.batch_max < 1:
            raise ConfigError(
                f"{info.name} cannot process several samples in one window",
                path="scenario.offline",
                try_next=(
                    "[scenario.single_stream]; or firmware that knows BATCH, in the"
                    " framed layer (docs/reference/PROTOCOL.md section 4)"
                ),
            )
        if self.settings.chunk > info.batch_max:
            raise ConfigError(
                f"{self.settings.chunk} samples at a time, {info.name} takes"
                f" {info.batch_max}",
                path="scenario.offline.chunk",
                try_next=f"{info.batch_max} or less, or 0",
            )
        return Offline(self.settings, info.batch_max)

    @property
    def windows_s(self) -> float:
        """Least time of all batches."""
        return self.settings.min_duration_s

    def plan(self, task: Task, seed: int) -> Plan:
        """Yield idle time, then for each chunk its loads and one batch; before the
        first one a calibration that does not count.
        """
        settings = self.settings
        chunks = self._chunks(len(task), seed)
        rate_hz = rate_of((yield Idle(settings.idle_s)), settings.idle_s)
        for index in chunks[0]:
            yield Load(index)
        repeat, limit_s = yield from self._calibrated(chunks[0], len(task), rate_hz)
        for number, chunk in enumerate(chunks):
            for index in chunk if number else ():
                yield Load(index)
            yield Query(chunk, limit_s, repeat, batch=True)
        yield Idle(settings.idle_s)

    def summarise(self, measured: Measured, phases: Sequence[str]) -> dict[str, Metric]:
        """Reduce one trial: rates over all windows together, as loading between them is
        no part of it.
        """
        samples = measured.samples
        rate = of_ratio(
            _counts(samples), _times_s(samples), "1/s", higher_is_better=True
        )
        no_energy = all(sample.windows[0].energy_j is None for sample in samples)
        # Where there are energies, their budgets have the clock's part as well.
        throughput = replace(
            rate, prominence=Prominence.HEADLINE, budget_shown=no_energy
        )
        return _accuracy(samples) | {THROUGHPUT: throughput} | _energies(measured)

    def declared_metrics(
        self, task: Task, steps: Sequence[Step], phases: Sequence[str]
    ) -> DeclaredMetrics:
        """Declare throughput, powers and energies over all windows."""
        metrics = {
            "accuracy": declared.SHARE,
            THROUGHPUT: declared.THROUGHPUT,
            "power_idle": declared.POWER,
            "power_active": declared.POWER,
            "power_dynamic": declared.DYNAMIC_POWER,
            "energy_total": declared.ENERGY,
            "energy_idle": declared.ENERGY,
            "energy_dynamic": declared.DYNAMIC_ENERGY,
        }
        return DeclaredMetrics(metrics)

    def problems(self, measured: Measured) -> tuple[Problem, ...]:
        """Return which of its own settings a trial does not meet."""
        took_s = sum(_times_s(measured.samples))
        count = sum(_counts(measured.samples))
        settings = self.settings
        faults = []
        if took_s < settings.min_duration_s:
            detail = (
                f"the windows last {took_s:.6g} s, min_duration_s is "
                f"{settings.min_duration_s:g}: raise the scenario's margin"
            )
            faults.append(Problem("rule", detail))
        if count < settings.min_count:
            faults.append(
                Problem(
                    "rule", f"{count} inferences, min_count is {settings.min_count}"
                )
            )
        return tuple(faults)

    def lines(self, measured: Measured) -> tuple[str, ...]:
        """Describe the windows, and the differences from LoadGen's Offline."""
        samples = measured.samples
        took_s = sum(_times_s(measured.samples))
        sizes = [len(sample.indices) for sample in samples]
        rounds = max(sample.repeat for sample in samples)
        done = (
            f"{sum(sizes)} samples in {len(samples)} chunks of {max(sizes)} or less, "
            f"{rounds} rounds over each: "
        )
        done += (
            f"{sum(_counts(samples))} inferences in {took_s:.3f} s of windows. Loading"
            " is in no window, and untimed."
        )
        differs = [] if len(samples) == 1 else ["has all samples in one query"]
        differs += [] if took_s >= LOADGEN_S else [f"lasts {LOADGEN_S:g} s or more"]
        other = (f"LoadGen's Offline {' and '.join(differs)}.",) if differs else ()
        return (
            done,
            *other,
            f"Samples per second: {self.summarise(measured, ())[THROUGHPUT].value:.6g}",
        )

    def pictures(self, folder: Path) -> Sequence[Picture]:
        """Draw the throughput of each trial."""
        # Here, because it brings matplotlib, which only the report needs.
        from scenarios.common.plots import of_throughput

        return of_throughput(folder, THROUGHPUT)

    def _chunks(self, samples: int, seed: int) -> list[tuple[int, ...]]:
        order = list(range(samples))
        random.Random(seed).shuffle(order)
        size = self.settings.chunk or self._slots or samples
        return [tuple(order[at : at + size]) for at in range(0, samples, size)]

    def _calibrated(
        self, chunk: tuple[int, ...], samples: int, rate_hz: float
    ) -> Generator[Step, Completion | None, tuple[int, float]]:
        """Return how many rounds make all windows together long enough, and the time
        limit of one.
        """
        settings = self.settings
        share_s = settings.min_duration_s * len(chunk) / samples
        rounds = math.ceil(settings.min_count / samples)
        length = Length(
            share_s, rounds, settings.margin, settings.idle_s, settings.limit_s
        )
        pace = yield from calibrate(
            partial(Query, chunk, settings.limit_s, warmup=True, batch=True), 1, rate_hz
        )
        repeat = min(pace.runs(length), REPEAT_MAX // len(chunk))
        return repeat, settings.limit_s + 2 * repeat * pace.whole_s


def _counts(samples: Sequence[Sample]) -> list[int]:
    return [sample.repeat * len(sample.indices) for sample in samples]


def _times_s(samples: Sequence[Sample]) -> list[float]:
    # A window's latency is that of one round.
    return [sample.windows[0].latency_s * sample.repeat for sample in samples]


def _accuracy(samples: Sequence[Sample]) -> dict[str, Metric]:
    scores = list(chain.from_iterable(sample.each for sample in samples))
    if not all(score.answer for score in scores):
        return {}
    right = [score.correct for score in scores]
    return {"accuracy": Metric.of_share(right, True, Prominence.HEADLINE)}


def _energies(measured: Measured) -> dict[str, Metric]:
    whole = [
        sample for sample in measured.samples if sample.windows[0].energy_j is not None
    ]
    counts = _counts(whole)
    times_s = _times_s(whole)
    energies_j = [
        (sample.windows[0].energy_j or 0.0) * sample.repeat for sample in whole
    ]
    idle = idle_power(measured)
    active = of_ratio(energies_j, times_s, "W")
    each_s = ratio(times_s, counts)[0]
    above = [e - idle.value * t for e, t in zip(energies_j, times_s, strict=True)]
    dynamic = of_ratio(
        above,
        counts,
        "J",
    )
    value = active.value - idle.value
    above_idle = replace(
        active,
        value=value,
        standard_error=_together(active, idle, 1.0),
        statistic=Statistic.DIFFERENCE,
    )
    dynamic = replace(
        dynamic,
        standard_error=_together(dynamic, idle, each_s),
        statistic=Statistic.DIFFERENCE,
    )
    total = of_ratio(energies_j, counts, "J")
    idle_error_j = None
    if idle.standard_error is not None:
        idle_error_j = idle.standard_error * each_s
    energy_idle = Metric(
        idle.value * each_s,
        "J",
        idle_error_j,
        len(whole),
        higher_is_better=False,
        statistic=Statistic.RATIO,
        prominence=Prominence.DETAIL,
    )
    return {
        "power_idle": idle,
        "power_active": headline(active),
        "power_dynamic": replace(above_idle, budget_shown=True),
        "energy_total": headline(total),
        "energy_idle": energy_idle,
        "energy_dynamic": headline(dynamic),
    }


def _together(metric: Metric, idle: Metric, times: float) -> float | None:
    """Return the standard error of a metric from which idle power, `times` so much, was
    taken: it is common to all windows.
    """
    if metric.standard_error is None or idle.standard_error is None:
        return None
    return math.hypot(metric.standard_error, times * idle.standard_error)
