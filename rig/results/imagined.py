# SPDX-License-Identifier: Apache-2.0
"""The metrics that a bench can give, before anything is measured: a scenario is pure,
so it is asked to reduce imagined trials. Pure.

Several trials are imagined, as good, bad and mixed answers, and a device that draws
more and less than idle, give other metrics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rig.errors import RigError
from rig.interfaces.scenario import Scenario
from rig.interfaces.task import OptimizationTask, Task
from rig.kinds import registry as kinds
from rig.kinds.imagined import IDLE_W, ImaginedOutcome, ImaginedTrial
from rig.model.metric import Metric
from rig.model.scores import Score
from rig.model.steps import Step
from rig.model.trial import Measured, Sample, Streamed, Window


@dataclass(frozen=True, slots=True)
class Possible:
    """Properties of a metric that are known beforehand: unit, direction, whether it
    lies between 0 and 1, whether it can be below 0.
    """

    unit: str
    higher_is_better: bool | None
    bounded: bool
    signed: bool


@dataclass(frozen=True, slots=True)
class Forecast:
    """The metrics that a trial can give, and those that it cannot give with these
    settings, with the reason.
    """

    metrics: dict[str, Possible]
    absent: dict[str, str]


#: All right, and work takes power; some right, and work takes less than idle does; none
#: right.
_OUTCOMES = (
    ImaginedOutcome(1, 2 * IDLE_W),
    ImaginedOutcome(2, IDLE_W / 2),
    ImaginedOutcome(0, 2 * IDLE_W),
)


def forecast(
    scenario: Scenario, task: Task, steps: Sequence[Step], phases: Sequence[str]
) -> Forecast | None:
    """Return what trials of this plan can give; None where it is not known beforehand,
    as of a task that must know the device's answers.
    """
    metrics: dict[str, Possible] = {}
    reasons: dict[str, str] = {}
    for score in _scores(task, steps):
        for outcome in _OUTCOMES:
            try:
                measured = _measured(task, steps, phases, score, outcome)
                found = scenario.summarise(measured, phases)
                missing = scenario.absent(measured)
            except Exception:
                # Whatever a scenario of anybody makes of a trial that never was proves
                # nothing against its claim.
                continue
            for name, metric in found.items():
                metrics[name] = _merged(metrics.get(name), metric)
            reasons.update(missing)
    absent = {name: reason for name, reason in reasons.items() if name not in metrics}
    return Forecast(metrics, absent) if metrics else None


def _merged(known: Possible | None, metric: Metric) -> Possible:
    signed = metric.value < 0 or (known is not None and known.signed)
    return Possible(metric.unit, metric.higher_is_better, metric.bounded, signed)


def _scores(task: Task, steps: Sequence[Step]) -> list[Score]:
    """Return what an answer may be scored as: by the task itself where it knows one,
    else each form that there is.
    """
    measured = (step for step in steps if kinds.of(step).measured)
    first = next((index for step in measured for index in step.samples_named[:1]), 0)
    reference: Any = getattr(task, "reference", None)
    try:
        if isinstance(task, OptimizationTask):
            return [
                task.score(first, task.searcher(task.payload(first), 0).output(False))
            ]
        if reference is not None:
            return [task.score(first, reference(task.payload(first)))]
    except RigError:
        pass
    if isinstance(task, OptimizationTask):
        return []
    return [
        Score(True, "0", "0"),
        Score(True, "0", "0", (0.5, 0.5)),
        Score(True, "0", "", (0.5,)),
    ]


def _measured(
    task: Task,
    steps: Sequence[Step],
    phases: Sequence[str],
    score: Score,
    outcome: ImaginedOutcome,
) -> Measured:
    labels = [entry.label for entry in task.catalogue()]
    of_kinds: dict[str, list[Step]] = {}
    for step in steps:
        of_kinds.setdefault(step.kind, []).append(step)
    trial = ImaginedTrial(task, of_kinds, phases, score, labels, outcome)
    samples: list[Sample] = []
    idles: list[Window] = []
    streams: list[Streamed] = []
    for number, step in enumerate(steps):
        part = kinds.of(step).imagine(number, step, trial)
        samples += part.samples
        idles += part.idles
        streams += part.streams
        trial.samples = len(samples)
    return Measured(tuple(samples), tuple(idles), tuple(streams))
