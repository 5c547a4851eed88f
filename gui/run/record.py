# SPDX-License-Identifier: Apache-2.0
"""The record of a run while it goes on: events of the engine's thread become a state
that the window reads when it is ready; no Qt. Its memory does not grow with the
queries: each trial has one row, and its steps are only counted.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any

from rig.files import typed
from rig.kinds import registry as kinds
from rig.live.running import RunningMetric, RunningSession
from rig.model.metric import Prominence
from rig.results import labels
from rig.stats.binomial import student
from rig.store.events import (
    Event,
    Opening,
    PartOpened,
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
from rig.store.session_folder import PROVENANCE, SessionFolder

#: So many mean powers have a bar: of the trials, idle, active and dynamic.
POWERS_SHOWN = 3


@dataclass(frozen=True, slots=True)
class _Task:
    """The part of a task that the window shows: the names of its phases."""

    phases: tuple[str, ...]
    more: dict[str, Any] = typed.rest()


@dataclass(frozen=True, slots=True)
class _About:
    """The part of a session's provenance that the window shows."""

    task: _Task
    more: dict[str, Any] = typed.rest()


class RunStage(Enum):
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
        """Whether the engine is at work."""
        return self in (RunStage.OPENING, RunStage.RUNNING, RunStage.STOPPING)


@dataclass(frozen=True, slots=True)
class TrialRow:
    """A trial that has ended: its problems, and how long it took; None where a part of
    it was measured before, by an earlier run of the session.
    """

    number: int
    problems: tuple[str, ...]
    took_s: float | None


@dataclass(frozen=True, slots=True)
class RunningMean:
    """The mean of something over the queries of the trial at hand, and its standard
    error."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def with_value(self, value: float) -> RunningMean:
        """Return it with one more value (Welford)."""
        count = self.count + 1
        apart = value - self.mean
        at = self.mean + apart / count
        return RunningMean(count, at, self.squares + apart * (value - at))

    @property
    def error(self) -> float | None:
        """The standard error of the mean, None of a single value."""
        if self.count < 2:
            return None
        return float((self.squares / (self.count - 1) / self.count) ** 0.5)

    @property
    def half(self) -> float | None:
        """The half of the mean's 95 % interval (Student's t), None of a single
        value."""
        return None if self.error is None else student(self.count - 1) * self.error


@dataclass(frozen=True, slots=True)
class RunSnapshot:
    """All that the window shows of a run, but the samples and the console."""

    stage: RunStage = RunStage.READY
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
    metrics: tuple[RunningMetric, ...] = ()
    right: RunningMean = RunningMean()
    latency: RunningMean = RunningMean()
    retransmissions: int = 0
    error: BaseException | None = None
    reason: str = ""

    @property
    def powered(self) -> bool:
        """Whether a supply is on according to the engine's events."""
        return any(self.rails.values())


class RunRecord:
    """Take the events of a run, in the engine's thread, and give snapshots to any
    other."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._lock = threading.Lock()
        self._clock = clock
        self._snapshot = RunSnapshot(RunStage.OPENING)
        self._unswitched: frozenset[str] = frozenset()
        self._running = RunningSession(clock)
        self._tick_hz = 0.0
        self.phases: tuple[str, ...] = ()
        self._trial_began_s: float | None = None

    def snapshot(self) -> RunSnapshot:
        """Return how things are."""
        with self._lock:
            state = self._running.state
            left_s = state.left_s if self._snapshot.stage.busy else None
            return replace(
                self._snapshot, left_s=left_s, share=state.share, queries=state.queries
            )

    def stopping(self) -> None:
        """Note that the end was asked for."""
        with self._lock:
            if self._snapshot.stage.busy:
                self._set(
                    stage=RunStage.STOPPING,
                    doing="stopping: the step at hand is broken off",
                )

    def ended(self, error: BaseException | None) -> None:
        """Note the end of the engine: None for a whole session. A supply is off once an
        event states it; the end of the engine alone does not.
        """
        with self._lock:
            if getattr(error, "supply_is_off", False):
                self._set(rails=dict.fromkeys(self._snapshot.rails, False))
            if error is None:
                self._set(stage=RunStage.FINISHED, doing="")
            elif isinstance(error, KeyboardInterrupt):
                self._set(stage=RunStage.STOPPED, doing="")
            else:
                self._set(stage=RunStage.FAILED, doing="", error=error)

    def take(self, event: Event) -> None:
        """Take an event; quick, and never raises."""
        with self._lock:
            self._running(event)
            self._take(event)

    def _take(self, event: Event) -> None:
        match event:
            case Opening():
                rail = f" of rail {event.rail}" if event.rail else ""
                self._set(doing=f"opening {event.part} {event.name}{rail}")
            case PartOpened():
                self._set(doing=f"{event.part} {event.name} is open")
                tick_hz = getattr(event.info, "tick_hz", 0)
                self._tick_hz = tick_hz or self._tick_hz
                # Counters of the host and played-back recordings switch no supply.
                if getattr(event.info, "switches", True) is False:
                    self._unswitched |= {event.rail}
            case RailState() if event.rail not in self._unswitched:
                self._set(rails=self._snapshot.rails | {event.rail: event.on})
            case SessionStarted():
                self._begin(event.folder, event.trials, event.queries, event.provenance)
            case SessionResumed():
                folder = SessionFolder(event.folder)
                self._begin(
                    event.folder, event.trials, event.queries, folder.provenance()
                )
                self._set(trials=_before(folder, event.finished))
            case TrialStarted(recorded=False):
                self._begin_trial(event.trial, 0)
            case TrialResumed():
                self._begin_trial(event.trial, event.step)
            case StepBegun():
                words = kinds.of(event.step).describe(event.step).split()
                self._set(doing=" ".join(words), steps=event.number)
            case StepDone():
                self._step_done(event)
            case TrialFinished():
                self._trial_finished(event)
            case SessionFinished():
                self._set(reason=event.reason)
            case _:
                pass

    def _begin(
        self, folder: Path, trials: int, queries: int, about: dict[str, Any]
    ) -> None:
        stopping = self._snapshot.stage is RunStage.STOPPING
        self.phases = typed.from_json(_About, about, PROVENANCE).task.phases
        stage = RunStage.STOPPING if stopping else RunStage.RUNNING
        texts = tuple(label.text for label in labels.of_provenance(about))
        self._set(
            stage=stage,
            folder=folder,
            trials_due=trials,
            queries_due=queries,
            labels=texts,
        )

    def _begin_trial(self, number: int, steps: int) -> None:
        self._trial_began_s = None if steps else self._clock()
        self._set(
            trial=number,
            steps=steps,
            right=RunningMean(),
            latency=RunningMean(),
            doing="",
        )

    def _step_done(self, event: StepDone) -> None:
        snapshot = self._snapshot
        retransmissions = (
            snapshot.retransmissions + event.done.completion.retransmissions
        )
        measured = kinds.of(event.done.step).measured
        if not measured or getattr(event.done.step, "warmup", False):
            if retransmissions != snapshot.retransmissions:
                self._set(retransmissions=retransmissions)
            return
        scores = event.done.each or ((event.done.score,) if event.done.score else ())
        right = snapshot.right
        for score in scores:
            right = right.with_value(float(score.correct))
        marks = event.done.completion.marks
        latency = snapshot.latency
        if self._tick_hz and len(marks) > 1 and event.done.step.kind == "query":
            step = event.done.step
            runs = getattr(step, "repeat", 1) * len(step.samples_named)
            ticks = marks[-1].tick - marks[0].tick
            latency = latency.with_value(ticks / self._tick_hz / runs)
        self._set(retransmissions=retransmissions, right=right, latency=latency)

    def _trial_finished(self, event: TrialFinished) -> None:
        trial = event.trial
        began_s = self._trial_began_s
        took_s = None if began_s is None else self._clock() - began_s
        row = TrialRow(trial.number, _texts(trial.problems), took_s)
        trials = (*self._snapshot.trials, row)
        metrics = shown_metrics(self._running.state.metrics)
        self._set(trials=trials, metrics=metrics, doing="the trial is measured")

    def _set(self, **changes: Any) -> None:
        self._snapshot = replace(self._snapshot, **changes)


def shown_metrics(metrics: Sequence[RunningMetric]) -> tuple[RunningMetric, ...]:
    """Return the metrics that have a row, the headlines in front."""
    rows = [metric for metric in metrics if metric.prominence is not Prominence.DETAIL]
    return tuple(
        sorted(rows, key=lambda row: row.prominence is not Prominence.HEADLINE)
    )


def powers(metrics: Sequence[RunningMetric]) -> tuple[RunningMetric, ...]:
    """Return the first powers among the metrics that have a row: active, idle, dynamic
    mostly."""
    rows = [metric for metric in metrics if metric.unit == "W"]
    return tuple(rows[:POWERS_SHOWN])


def _before(folder: SessionFolder, finished: int) -> tuple[TrialRow, ...]:
    """Return the trials that an earlier run of a session finished."""
    problems: dict[int, tuple[str, ...]] = {}
    for event in folder.events():
        if event.event == "trial_finished" and event.trial is not None:
            problems[event.trial] = _texts(event.problems)
    numbers = range(1, finished + 1)
    return tuple(TrialRow(number, problems.get(number, ()), None) for number in numbers)


def _texts(problems: Iterable[Any]) -> tuple[str, ...]:
    return tuple(f"{problem.code}: {problem.detail}" for problem in problems)
