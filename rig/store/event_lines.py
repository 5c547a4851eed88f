# SPDX-License-Identifier: Apache-2.0
"""The lines of events.jsonl as they are written: their fields, in their order. The
chain of hashes is rig/store/journal.py's, which also judges what is read.
"""

from __future__ import annotations

from dataclasses import dataclass

from rig.store.journal import SCHEMA


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStartedLine:
    """The first line: the form of the file, the planned trials, and the files that
    exist by then.
    """

    schema: str = SCHEMA
    event: str = "session_started"
    trials: int
    queries: int
    files: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionResumedLine:
    """The session goes on; `files` were set aside for it."""

    event: str = "session_resumed"
    finished: int
    at_utc: str
    files: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialStartedLine:
    """A trial begins."""

    event: str = "trial_started"
    trial: int
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialResumedLine:
    """A trial goes on in another segment, from a step on."""

    event: str = "trial_resumed"
    trial: int
    segment: int
    step: int
    files: dict[str, str]


@dataclass(frozen=True, slots=True)
class ProblemEntry:
    """A problem of a trial."""

    code: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialFinishedLine:
    """A trial is over: its problems, and its files."""

    event: str = "trial_finished"
    trial: int
    problems: tuple[ProblemEntry, ...]
    files: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFinishedLine:
    """The session is over."""

    event: str = "session_finished"
    status: str
    reason: str
    files: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedLine:
    """A file that was made of the finished session."""

    event: str = "derived"
    files: dict[str, str]


EventLine = (
    SessionStartedLine
    | SessionResumedLine
    | TrialStartedLine
    | TrialResumedLine
    | TrialFinishedLine
    | SessionFinishedLine
    | DerivedLine
)
