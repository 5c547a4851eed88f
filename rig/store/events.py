# SPDX-License-Identifier: Apache-2.0
"""Events of an open bench and of a running session: frozen events, one after another,
to every subscriber.

Of a bench: Opening, PartOpened, RailState. These, Recovering, TrialKept and StepBegun
are not kept: the journal (rig/store/journal.py) has the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rig.interfaces.monitor import MonitorInfo
from rig.interfaces.sut import SutInfo
from rig.model.catalogue import Entry
from rig.model.step_record import StepRecord
from rig.model.steps import Step
from rig.model.trial import Trial


@dataclass(frozen=True, slots=True)
class Opening:
    """A part of the bench is about to be opened: "task", "scenario", "monitor" or
    "sut"; `name` is its kind, `rail` that of a monitor, empty where there is only one.
    """

    part: str
    name: str
    rail: str = ""


@dataclass(frozen=True, slots=True)
class PartOpened:
    """A part of the bench is open; `info` is its description, None for task and
    scenario.
    """

    part: str
    name: str
    info: SutInfo | MonitorInfo | None = None
    rail: str = ""


@dataclass(frozen=True, slots=True)
class RailState:
    """The supply of a rail was switched; `rail` is empty where there is only one."""

    rail: str
    on: bool


@dataclass(frozen=True, slots=True)
class Recovering:
    """The rest of a trace is about to be recovered, which takes `limit_s` at most."""

    trace: Path
    limit_s: float


@dataclass(frozen=True, slots=True)
class SessionStarted:
    """The bench is open; `queries` are timed ones in each trial, warm-up included;
    `catalogue` has the task's samples, `kept` the contents of files that the session
    keeps of it, by name, `calibrations` those of its monitors' calibration files.
    """

    folder: Path
    trials: int
    queries: int
    provenance: dict[str, Any]
    catalogue: tuple[Entry, ...] = ()
    kept: Mapping[str, bytes] = field(default_factory=dict)
    calibrations: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SessionResumed:
    """The bench is open again, and the session goes on: so many of its `trials` are
    `finished`, and so many queries of the next one are `done`.
    """

    folder: Path
    trials: int
    queries: int
    finished: int
    done: int


@dataclass(frozen=True, slots=True)
class TrialStarted:
    """A trial begins; its raw data go to `folder`, or were `recorded` with those of the
    first one (interleaved), and only its results do.
    """

    trial: int
    seed: int
    folder: Path
    recorded: bool = False


@dataclass(frozen=True, slots=True)
class TrialResumed:
    """A trial continues after step number `step`, in a further segment whose raw data
    go to `folder`; `files` as of a trial, those of the segment before.
    """

    trial: int
    segment: int
    step: int
    folder: Path
    files: dict[str, str]


@dataclass(frozen=True, slots=True)
class TrialKept:
    """A trial that was finished before the session was resumed, reduced again."""

    trial: Trial


@dataclass(frozen=True, slots=True)
class StepBegun:
    """A step is about to be done, loads and SYNC bursts included.

    `share` is the part of the session that is done, by time where that is known;
    `left_s` is the time that the rest should take, None until the first trial is done.
    """

    trial: int
    number: int
    step: Step
    share: float = 0.0
    left_s: float | None = None


@dataclass(frozen=True, slots=True)
class StepDone:
    """A SYNC burst, an idle time or a query is done."""

    trial: int
    done: StepRecord


@dataclass(frozen=True, slots=True)
class TrialFinished:
    """A trial is measured; `files` maps each of its raw and derived files to its
    SHA-256."""

    trial: Trial
    files: dict[str, str]


@dataclass(frozen=True, slots=True)
class SessionFinished:
    """The end: `status` is success, abort (stopped by the user) or fail (`reason` says
    why); `files` as of a trial.
    """

    status: str
    reason: str = ""
    files: dict[str, str] = field(default_factory=dict)


Event = (
    Opening
    | PartOpened
    | RailState
    | Recovering
    | SessionStarted
    | SessionResumed
    | TrialStarted
    | TrialResumed
    | TrialKept
    | StepBegun
    | StepDone
    | TrialFinished
    | SessionFinished
)
Subscriber = Callable[[Event], None]
