# SPDX-License-Identifier: Apache-2.0
"""What a session says while it runs: frozen events, one after another, to every subscriber."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rig.measure import Done
from rig.trial import Trial


@dataclass(frozen=True, slots=True)
class SessionStarted:
    """The bench is open; `queries` are timed ones in each trial, warm-up included."""

    folder: Path
    trials: int
    queries: int
    provenance: dict[str, Any]


@dataclass(frozen=True, slots=True)
class TrialStarted:
    """A trial begins; its raw data go to `folder`."""

    trial: int
    seed: int
    folder: Path


@dataclass(frozen=True, slots=True)
class StepDone:
    """A SYNC burst, an idle time or a query is done."""

    trial: int
    done: Done


@dataclass(frozen=True, slots=True)
class TrialFinished:
    """A trial is measured; `files` maps each of its raw and derived files to its SHA-256."""

    trial: Trial
    files: dict[str, str]


@dataclass(frozen=True, slots=True)
class SessionFinished:
    """The end: `status` is success, abort (somebody stopped it) or fail (`reason` says why); `files` as of a trial."""

    status: str
    reason: str = ""
    files: dict[str, str] = field(default_factory=dict)


Event = SessionStarted | TrialStarted | StepDone | TrialFinished | SessionFinished
Subscriber = Callable[[Event], None]
