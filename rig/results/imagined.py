# SPDX-License-Identifier: Apache-2.0
"""Which metrics a bench can give, before anything is measured: a scenario is pure, so it is asked
to reduce imagined trials. Pure.

Several trials are imagined, as good, bad and mixed answers, and a device that draws more and less
than idle, give other metrics.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rig.errors import RigError
from rig.interfaces.scenario import Scenario, Withholder
from rig.interfaces.task import Catalogued, Optimized, Searched, Task
from rig.model.scores import Costs, Score
from rig.model.steps import Idle, Query, Solve, Step, Stream
from rig.model.trial import Crossing, Hop, Measured, Metric, Sample, Streamed, Window

#: Imagined power of an idle device, and length of a window; any will do.
_IDLE_W = 1.0
_WINDOW_S = 1e-3


@dataclass(frozen=True, slots=True)
class Possible:
    """What is known of a metric beforehand: unit, direction, whether it lies between 0 and 1,
    whether it can be below 0.
    """

    unit: str
    higher_is_better: bool | None
    bounded: bool
    signed: bool


@dataclass(frozen=True, slots=True)
class Forecast:
    """The metrics that a trial can give, and those that it cannot give with these settings, with
    the reason.
    """

    metrics: dict[str, Possible]
    absent: dict[str, str]


@dataclass(frozen=True, slots=True)
class _Outcome:
    """How a trial goes: every how many answers one is right (0: none), and what the device draws at
    work.
    """

    right_every: int
    active_w: float

    def right(self, number: int) -> bool:
        return bool(self.right_every) and number % self.right_every == 0


#: All right, and work takes power; some right, and work takes less than idle does; none right.
_OUTCOMES = (_Outcome(1, 2 * _IDLE_W), _Outcome(2, _IDLE_W / 2), _Outcome(0, 2 * _IDLE_W))


def forecast(
    scenario: Scenario, task: Task, steps: Sequence[Step], phases: Sequence[str]
) -> Forecast | None:
    """Return what trials of this plan can give; None where it cannot be told, as of a task that
    must know the device's answers.
    """
    metrics: dict[str, Possible] = {}
    reasons: dict[str, str] = {}
    for score in _scores(task, steps):
        for outcome in _OUTCOMES:
            try:
                measured = _measured(task, steps, phases, score, outcome)
                found = scenario.summarise(measured, phases)
                missing = scenario.absent(measured) if isinstance(scenario, Withholder) else {}
            except Exception:
                # Whatever a scenario of anybody makes of a trial that never was proves nothing
                # against its claim.
                continue
            for name, metric in found.items():
                metrics[name] = _merged(metrics.get(name), metric)
            reasons |= missing
    absent = {name: reason for name, reason in reasons.items() if name not in metrics}
    return Forecast(metrics, absent) if metrics else None


def _merged(known: Possible | None, metric: Metric) -> Possible:
    signed = metric.value < 0 or (known is not None and known.signed)
    return Possible(metric.unit, metric.higher_is_better, metric.bounded, signed)


def _scores(task: Task, steps: Sequence[Step]) -> list[Score]:
    """Return what an answer may be scored as: by the task itself where it knows one, else each form
    that there is.
    """
    first = next((step.index for step in steps if isinstance(step, Solve)), 0)
    reference: Any = getattr(task, "reference", None)
    try:
        if isinstance(task, Searched):
            return [task.score(first, task.searcher(task.payload(first), 0).output(False))]
        if reference is not None:
            return [task.score(first, reference(task.payload(first)))]
    except RigError:
        pass
    if isinstance(task, Optimized):
        return []
    return [Score(True, "0", "0"), Score(True, "0", "0", (0.5, 0.5)), Score(True, "0", "", (0.5,))]


def _measured(
    task: Task, steps: Sequence[Step], phases: Sequence[str], score: Score, outcome: _Outcome
) -> Measured:
    labels = [entry.label for entry in task.catalogue()] if isinstance(task, Catalogued) else []
    samples: list[Sample] = []
    idles: list[Window] = []
    streams: list[Streamed] = []
    solves = [step for step in steps if isinstance(step, Solve)]
    asked: Counter[tuple[str, float, bool]] = Counter()
    for number, step in enumerate(steps):
        if isinstance(step, Idle):
            idles.append(_window("idle", step.duration_s, _IDLE_W))
        elif isinstance(step, Query) and not step.warmup:
            samples.append(
                _answered(number, step, phases, score, labels, outcome.right(len(samples)), outcome)
            )
        elif isinstance(step, Solve) and not step.warmup:
            # Any search is imagined as that of the first workload, whose score is known: its
            # metrics have the same names.
            like = next(
                other
                for other in solves
                if other.index == solves[0].index and _kind(other) == _kind(step)
            )
            case = task.cell(step.index) if isinstance(task, Optimized) else ""
            asked[case, *_kind(step)] += 1
            samples.append(
                _searched(
                    number,
                    like,
                    phases,
                    score,
                    case,
                    outcome.right(asked[case, *_kind(step)]),
                    outcome,
                )
            )
        elif isinstance(step, Stream):
            samples += _heard(number, step, phases, outcome)
            streams.append(_streamed(number, step))
    return Measured(tuple(samples), tuple(idles), tuple(streams))


def _kind(step: Solve) -> tuple[float, bool]:
    return step.timeout_s, step.target is None


def _window(phase: str, length_s: float, power_w: float) -> Window:
    return Window(phase, 0.0, length_s, length_s, length_s * power_w)


def _windows(phases: Sequence[str], outcome: _Outcome) -> tuple[Window, ...]:
    return tuple(_window(phase, _WINDOW_S, outcome.active_w) for phase in phases)


def _answered(
    number: int,
    step: Query,
    phases: Sequence[str],
    score: Score,
    labels: Sequence[str],
    right: bool,
    outcome: _Outcome,
) -> Sample:
    windows = _windows(phases, outcome)
    if step.batch:
        each = (dataclasses.replace(score, correct=right),) * len(step.indices)
        return Sample(number, step.indices, step.repeat, windows, "", "", right, each=each)
    index = step.indices[0]
    label = labels[index] if index < len(labels) else score.label
    return Sample(
        number,
        step.indices,
        step.repeat,
        windows,
        label,
        score.answer,
        right,
        score.scores,
        f"{index}",
        timed=step.timed,
    )


def _searched(
    number: int,
    step: Solve,
    phases: Sequence[str],
    score: Score,
    case: str,
    right: bool,
    outcome: _Outcome,
) -> Sample:
    costs = None if score.costs is None else _costs(score.costs, right)
    crossings = tuple(
        Crossing(
            threshold, _window("solve", step.timeout_s / 2, outcome.active_w) if right else None
        )
        for threshold in step.thresholds
    )
    windows = tuple(_window(phase, step.timeout_s, outcome.active_w) for phase in phases)
    return Sample(
        number,
        (step.index,),
        1,
        windows,
        score.label,
        score.answer,
        right,
        case=case,
        solve=step,
        costs=costs,
        crossings=crossings,
    )


def _costs(costs: Costs, right: bool) -> Costs:
    """Return costs whose vector beats every target, or misses every one."""
    others = dataclasses.asdict(costs)
    targets = [
        value
        for name, value in others.items()
        if name not in ("cost", "claimed") and value is not None
    ]
    return (
        dataclasses.replace(costs, cost=min(targets) - 1 if right else max(targets) + 1)
        if targets
        else costs
    )


def _heard(number: int, step: Stream, phases: Sequence[str], outcome: _Outcome) -> Iterator[Sample]:
    for window in range(step.windows):
        scene = step.scene_of(window)
        right = outcome.right(window)
        label = step.scenes[scene].label
        since_s = (window * step.hop + step.window - step.onset(scene)) / step.sample_hz
        hop = Hop(
            window,
            scene,
            _window("response", _WINDOW_S, math.nan),
            _window("since_onset", since_s + _WINDOW_S, math.nan),
        )
        yield Sample(
            number, (), 1, _windows(phases, outcome), label, label if right else "?", right, hop=hop
        )


def _streamed(number: int, step: Stream) -> Streamed:
    length_s = sum(scene.samples for scene in step.scenes) / step.sample_hz
    onsets_s = tuple(step.onset(scene) / step.sample_hz for scene in range(len(step.scenes)))
    labels = tuple(scene.label for scene in step.scenes)
    return Streamed(
        number,
        _window("stream", length_s, _IDLE_W),
        labels,
        onsets_s,
        step.windows,
        step.hop / step.sample_hz,
        step.window / step.sample_hz,
        step.preloaded,
    )
