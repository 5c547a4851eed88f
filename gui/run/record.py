# SPDX-License-Identifier: Apache-2.0
"""What is known of a run while it goes on: events of the engine's thread become a picture that the
window takes when it is ready for the next; no Qt.

Its memory does not grow with the queries: of each trial one row is kept, of a step only its count.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any

from rig.kinds import registry as kinds
from rig.model.metric import Metric, Prominence
from rig.results import labels
from rig.stats import few_values
from rig.stats.summary import mean
from rig.store.events import (
    Event,
    Opened,
    Opening,
    RailState,
    SessionFinished,
    SessionResumed,
    SessionStarted,
    StepBegun,
    StepDone,
    TrialFinished,
    TrialResumed,
    TrialStarted,
)
from rig.store.session_folder import SessionFolder

#: Metrics of these names are shown as power, in this order.
POWERS = ("power_idle", "power_active", "power_dynamic")


class Stage(Enum):
    """How far a run is."""

    READY = "ready"
    OPENING = "opening"
    RUNNING = "running"
    STOPPING = "stopping"
    FINISHED = "finished"
    STOPPED = "stopped"
    FAILED = "failed"

    @property
    def busy(self) -> bool:
        """Return whether the engine is at work."""
        return self in (Stage.OPENING, Stage.RUNNING, Stage.STOPPING)


@dataclass(frozen=True, slots=True)
class TrialRow:
    """A trial that has ended: its problems, how long it took, and its metrics."""

    number: int
    problems: tuple[str, ...]
    took_s: float | None
    metrics: dict[str, Metric]
    lost: int = 0


@dataclass(frozen=True, slots=True)
class MetricRow:
    """A metric over the trials so far: its mean, and the 95 % interval of the mean by the scatter
    of the trials alone; NaN where there is but one.
    """

    name: str
    unit: str
    values: tuple[float, ...]
    mean: float
    half_width: float | None
    headline: bool


@dataclass(frozen=True, slots=True)
class Running:
    """The mean of something over the queries of the trial at hand, and its standard error."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def with_value(self, value: float) -> Running:
        """Return it with one more value (Welford)."""
        count = self.count + 1
        apart = value - self.mean
        at = self.mean + apart / count
        return Running(count, at, self.squares + apart * (value - at))

    @property
    def error(self) -> float | None:
        """Return the standard error of the mean, None of a single value."""
        if self.count < 2:
            return None
        return float((self.squares / (self.count - 1) / self.count) ** 0.5)


@dataclass(frozen=True, slots=True)
class Picture:
    """All that the window shows of a run, but the samples and the console."""

    stage: Stage = Stage.READY
    doing: str = ""
    folder: Path | None = None
    trials_due: int = 0
    trial: int = 0
    steps: int = 0
    queries: int = 0
    queries_due: int = 0
    share: float = 0.0
    left_s: float | None = None
    rails: dict[str, bool] = field(default_factory=dict)
    labels: tuple[str, ...] = ()
    trials: tuple[TrialRow, ...] = ()
    metrics: tuple[MetricRow, ...] = ()
    right: Running = Running()
    latency: Running = Running()
    retransmissions: int = 0
    error: BaseException | None = None
    reason: str = ""

    @property
    def powered(self) -> bool:
        """Return whether a supply is on, as far as the engine said."""
        return any(self.rails.values())


class RunRecord:
    """Take the events of a run, in the engine's thread, and give the picture to any other."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._lock = threading.Lock()
        self._clock = clock
        self._picture = Picture(Stage.OPENING)
        self._unswitched: frozenset[str] = frozenset()
        self._step_began_s = 0.0
        self._step_expected_s = 0.0
        self._tick_hz = 0.0
        self._phases: tuple[str, ...] = ()
        self._trial_began_s: float | None = None

    @property
    def phases(self) -> tuple[str, ...]:
        """Return the names of the task's phases, once the session has begun."""
        return self._phases

    def picture(self) -> Picture:
        """Return how things are."""
        with self._lock:
            left_s = self._picture.left_s
            if left_s is not None:
                # The step at hand has been going on for a while, and counts as what it should take.
                gone_s = self._clock() - self._step_began_s
                left_s = max(left_s - min(gone_s, self._step_expected_s), 0.0)
            if not self._picture.stage.busy:
                left_s = None
            return replace(self._picture, left_s=left_s)

    def stopping(self) -> None:
        """Note that the end was asked for."""
        with self._lock:
            if self._picture.stage.busy:
                self._set(stage=Stage.STOPPING, doing="stopping: the step at hand is broken off")

    def ended(self, error: BaseException | None) -> None:
        """Note the end of the engine: None for a session that is whole."""
        with self._lock:
            rails = dict.fromkeys(self._picture.rails, False)
            if error is None:
                self._set(stage=Stage.FINISHED, doing="", rails=rails, share=1.0)
            elif isinstance(error, KeyboardInterrupt):
                self._set(stage=Stage.STOPPED, doing="", rails=rails)
            else:
                known = self._picture.rails if _supply_in_doubt(error) else rails
                self._set(stage=Stage.FAILED, doing="", error=error, rails=known)

    def take(self, event: Event) -> None:
        """Take an event; quick, and never raises."""
        with self._lock:
            self._take(event)

    def _take(self, event: Event) -> None:
        match event:
            case Opening():
                rail = f" of rail {event.rail}" if event.rail else ""
                self._set(doing=f"opening {event.part} {event.name}{rail}")
            case Opened():
                self._set(doing=f"{event.part} {event.name} is open")
                tick_hz = getattr(event.info, "tick_hz", 0)
                self._tick_hz = tick_hz or self._tick_hz
                # A counter of the host, or a recording of earlier, switches nothing.
                if getattr(event.info, "switches", True) is False:
                    self._unswitched |= {event.rail}
            case RailState() if event.rail not in self._unswitched:
                self._set(rails=self._picture.rails | {event.rail: event.on})
            case SessionStarted():
                self._begin(event.folder, event.trials, event.queries, event.provenance)
            case SessionResumed():
                about = SessionFolder(event.folder).provenance()
                self._begin(event.folder, event.trials, event.queries, about)
            case TrialStarted():
                self._begin_trial(event.trial, 0)
            case TrialResumed():
                self._begin_trial(event.trial, event.step)
            case StepBegun():
                words = kinds.of(event.step).describe(event.step).split()
                self._step_began_s = self._clock()
                self._step_expected_s = event.expected_s
                self._set(
                    doing=" ".join(words),
                    steps=event.number,
                    share=event.share,
                    left_s=event.left_s,
                )
            case StepDone():
                self._step_done(event)
            case TrialFinished():
                self._trial_finished(event)
            case SessionFinished():
                self._set(reason=event.reason)
            case _:
                pass

    def _begin(self, folder: Path, trials: int, queries: int, about: dict[str, Any]) -> None:
        stage = Stage.STOPPING if self._picture.stage is Stage.STOPPING else Stage.RUNNING
        self._phases = tuple(about["task"]["phases"])
        self._set(
            stage=stage,
            folder=folder,
            trials_due=trials,
            queries_due=queries,
            labels=tuple(label.text for label in labels.of_provenance(about)),
        )

    def _begin_trial(self, number: int, steps: int) -> None:
        self._trial_began_s = None if steps else self._clock()
        self._set(
            trial=number, steps=steps, queries=0, right=Running(), latency=Running(), doing=""
        )

    def _step_done(self, event: StepDone) -> None:
        picture = self._picture
        retransmissions = picture.retransmissions + event.done.completion.retransmissions
        self._set(retransmissions=retransmissions)
        if not kinds.of(event.done.step).measured:
            return
        self._set(queries=picture.queries + 1)
        if getattr(event.done.step, "warmup", False):
            return
        scores = event.done.each or ((event.done.score,) if event.done.score else ())
        right = picture.right
        for score in scores:
            right = right.with_value(float(score.correct))
        marks = event.done.completion.marks
        latency = picture.latency
        if self._tick_hz and len(marks) > 1 and event.done.step.kind == "query":
            runs = getattr(event.done.step, "repeat", 1) * len(event.done.step.samples_named)
            latency = latency.with_value((marks[-1].tick - marks[0].tick) / self._tick_hz / runs)
        self._set(right=right, latency=latency)

    def _trial_finished(self, event: TrialFinished) -> None:
        trial = event.trial
        took_s = None if self._trial_began_s is None else self._clock() - self._trial_began_s
        problems = tuple(f"{problem.code}: {problem.detail}" for problem in trial.problems)
        row = TrialRow(trial.number, problems, took_s, dict(trial.metrics))
        trials = (*self._picture.trials, row)
        self._set(trials=trials, metrics=metric_rows(trials), doing="the next trial begins")

    def _set(self, **changes: Any) -> None:
        self._picture = replace(self._picture, **changes)


def metric_rows(trials: tuple[TrialRow, ...]) -> tuple[MetricRow, ...]:
    """Return the metrics that all trials have, those that results name first in front."""
    if not trials:
        return ()
    rows = []
    for name, metric in trials[0].metrics.items():
        if metric.prominence is Prominence.DETAIL and name not in POWERS:
            continue
        if not all(name in trial.metrics for trial in trials):
            continue
        values = tuple(trial.metrics[name].value for trial in trials)
        low, high = few_values.of_any(values) if len(values) > 1 else (0.0, 0.0)
        half_width = (high - low) / 2 if len(values) > 1 else None
        headline = metric.prominence is Prominence.HEADLINE
        rows.append(MetricRow(name, metric.unit, values, mean(values), half_width, headline))
    return tuple(sorted(rows, key=lambda row: not row.headline))


def _supply_in_doubt(error: BaseException) -> bool:
    """Return whether an error says that the supply may still be on."""
    said = " ".join([str(error), *getattr(error, "__notes__", ())])
    return "may still be on" in said
