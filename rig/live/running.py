# SPDX-License-Identifier: Apache-2.0
"""State of a running session, kept by a subscriber: metrics so far, progress, time
left.

Its memory grows with the trials and not with the steps. Metrics of the finished trials
are computed by the functions that compute them for results.json; only metrics that a
scenario computes over all trials together may differ a little until then.
"""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

from rig.kinds import registry as kinds
from rig.model.metric import Deviation, Prominence
from rig.model.steps import Step
from rig.model.trial import Measured, Trial
from rig.stats.interval import Interval
from rig.store.events import (
    Event,
    SessionFinished,
    SessionResumed,
    SessionStarted,
    StepBegun,
    StepDone,
    TrialFinished,
    TrialKept,
    TrialResumed,
    TrialStarted,
)
from rig.uncertainty import budget, same_samples


@dataclass(frozen=True, slots=True)
class RunningMetric:
    """Metric of the trials so far: the value of each, the value of all, and its
    interval for the same samples measured again. `deviation` is how the 5 % rule
    measures the distance of a trial.
    """

    name: str
    unit: str
    values: tuple[float, ...]
    value: float
    interval: Interval
    prominence: Prominence
    deviation: Deviation = Deviation.RELATIVE


@dataclass(frozen=True, slots=True)
class RunState:
    """State of a session that runs.

    `queries` are those done of the trial at hand, of `queries_due`. `step` is the one
    that is being done. `share` is which part of the session is done; `left_s` how long
    the rest should take, None where that is not known. `status` is empty until the
    session has ended.
    """

    trials_due: int = 0
    trial: int = 0
    finished: int = 0
    queries: int = 0
    queries_due: int = 0
    number: int = 0
    step: Step | None = None
    share: float = 0.0
    left_s: float | None = None
    metrics: tuple[RunningMetric, ...] = ()
    problems: tuple[tuple[int, str, str], ...] = ()
    status: str = ""


class RunningSession:
    """A subscriber that keeps the state of a session; `state` may be asked for in any
    thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._state = RunState()
        self._trials: list[Trial] = []
        self._indices: set[tuple[int, ...]] = set()
        self._begun_s = 0.0

    def __call__(self, event: Event) -> None:
        """Take an event."""
        with self._lock:
            self._take(event)

    @property
    def state(self) -> RunState:
        """Return how things are now; the time that is left runs on while a step
        does."""
        with self._lock:
            left_s = self._state.left_s
            if left_s is None or self._state.status:
                return dataclasses.replace(self._state, left_s=None)
            gone_s = self._clock() - self._begun_s
            return dataclasses.replace(self._state, left_s=max(left_s - gone_s, 0.0))

    def _take(self, event: Event) -> None:
        match event:
            case SessionStarted():
                self._trials = []
                self._indices = set()
                self._state = RunState(
                    trials_due=event.trials, queries_due=event.queries
                )
            case SessionResumed():
                self._trials = []
                self._indices = set()
                self._state = RunState(
                    trials_due=event.trials,
                    finished=event.finished,
                    queries=event.done,
                    queries_due=event.queries,
                )
            case TrialStarted(recorded=False):
                self._set(trial=event.trial, queries=0)
            case TrialResumed():
                self._set(trial=event.trial)
            case StepBegun():
                self._begun_s = self._clock()
                self._set(
                    number=event.number,
                    step=event.step,
                    # An estimate by steps that becomes one by time may be less; a
                    # progress bar does not go back.
                    share=max(event.share, self._state.share),
                    left_s=event.left_s,
                )
            case StepDone() if kinds.of(event.done.step).measured:
                self._set(queries=self._state.queries + 1)
            case TrialKept():
                self._state_metrics(event.trial)
            case TrialFinished():
                self._set(finished=self._state.finished + 1, step=None)
                self._state_metrics(event.trial)
            case SessionFinished():
                share = 1.0 if event.status == "success" else self._state.share
                self._set(status=event.status, step=None, share=share)
            case _:
                return

    def _state_metrics(self, trial: Trial) -> None:
        samples = trial.measured.samples
        indices = chain.from_iterable(sample.indices for sample in samples)
        self._indices.add(tuple(indices))
        self._trials.append(dataclasses.replace(trial, measured=Measured((), ())))
        problems = tuple(
            (trial.number, each.code, each.detail) for each in trial.problems
        )
        metrics = running_metrics(self._trials, shared=len(self._indices) == 1)
        self._set(
            metrics=metrics,
            problems=(*self._state.problems, *problems),
        )

    def _set(self, **changes: object) -> None:
        self._state = dataclasses.replace(self._state, **changes)  # type: ignore[arg-type]


def running_metrics(
    trials: Sequence[Trial], *, shared: bool
) -> tuple[RunningMetric, ...]:
    """Return the metrics that all of some finished trials have, as results.json would
    state them; `shared`: all trials had the same samples.
    """
    if not trials:
        return ()
    common = set(trials[0].metrics).intersection(*(trial.metrics for trial in trials))
    names = [name for name in trials[0].metrics if name in common]
    return tuple(_running(name, trials, shared) for name in names)


def _running(name: str, trials: Sequence[Trial], shared: bool) -> RunningMetric:
    single = [trial.metrics[name] for trial in trials]
    return RunningMetric(
        name=name,
        unit=single[0].unit,
        values=tuple(metric.value for metric in single),
        value=same_samples.value(single),
        interval=same_samples.interval(single, budget.of_metric(name, trials), shared),
        prominence=single[0].prominence,
        deviation=single[0].deviation,
    )
