# SPDX-License-Identifier: Apache-2.0
"""A scenario of a third party, with metrics and a picture that the rig has never heard
of."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from matplotlib.figure import Figure

from rig.interfaces.context import BenchContext
from rig.interfaces.scenario import Scenario
from rig.interfaces.task import Task
from rig.model.metric import Deviation, Metric, Prominence, Repeatability, Statistic
from rig.model.picture import Picture
from rig.model.steps import Idle, Load, Plan, Query
from rig.model.trial import Measured
from rig.report.style import SERIES
from rig.results import document
from rig.stats.summary import mean, ratio, standard_error
from rig.store.session_folder import RESULTS


class Counting(Scenario):
    """Every payload once, in an order shuffled by the trial's seed."""

    name = "acme_counting"

    @dataclass(frozen=True, slots=True)
    class Settings:
        """`strict`: trials must repeat what chance decides."""

        strict: bool = False

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @classmethod
    def open(cls, settings: Settings, context: BenchContext) -> Self:
        return cls(settings)

    def plan(self, task: Task, seed: int) -> Plan:
        order = list(range(len(task)))
        random.Random(seed).shuffle(order)
        yield Idle(0.1)
        for index in order:
            yield Load(index)
            yield Query((index,))
        yield Idle(0.1)

    def summarise(self, measured: Measured, phases: Sequence[str]) -> dict[str, Metric]:
        samples = measured.samples
        pace, error = ratio(
            [1.0] * len(samples), [sample.windows[0].latency_s for sample in samples]
        )
        spent_j = [sample.windows[0].energy_j or 0.0 for sample in samples]
        first = samples[0].indices[0] + 1.0
        strict = self._settings.strict
        return {
            "pace": Metric(
                pace,
                "1/s",
                error,
                len(samples),
                higher_is_better=True,
                statistic=Statistic.RATIO,
                prominence=Prominence.HEADLINE,
                budget_shown=True,
            ),
            "spent": Metric(
                mean(spent_j),
                "J",
                standard_error(spent_j),
                len(samples),
                higher_is_better=False,
            ),
            "counted_right": Metric.of_share(
                [sample.correct for sample in samples], True
            ),
            # Of other trials these are other numbers: neither would pass the rule as it
            # is.
            "first_asked": Metric(
                first,
                "1",
                prominence=Prominence.DETAIL,
                repeatability=Repeatability.REPEATED
                if strict
                else Repeatability.COARSE,
            ),
            "shortfall": Metric(first / 1000, "1", deviation=Deviation.COST),
        }

    def pictures(self, folder: Path) -> list[Picture]:
        metric = document.read(folder / RESULTS).metrics["pace"]
        figure = Figure(figsize=(6, 2))
        axes = figure.subplots()
        numbers = [item.trial for item in metric.per_trial]
        axes.bar(
            numbers, [item.value or 0.0 for item in metric.per_trial], color=SERIES[0]
        )
        axes.set_title("counted in a second")
        return [
            Picture("paces", "Paces of the trials", figure, "A bar a trial."),
            Picture("nothing", "Nothing to see", None, "Not drawn: there is nothing."),
        ]
