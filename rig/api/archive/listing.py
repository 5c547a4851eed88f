# SPDX-License-Identifier: Apache-2.0
"""The sessions of a folder as rows of a list: status, verdict, task, size,
tags.

Only those keys of results.json are read that a row shows, and a session that did not
change since another command read it is not read again. A session that crashed, is
damaged, or is of another version has a row with the facts that can be read.
"""

from __future__ import annotations

import operator
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from rig.api.archive import kept_rows
from rig.api.archive.tags import Tags
from rig.errors import DAMAGE, DataError, RigError, cause_of
from rig.files import foreign_files, typed
from rig.problems import Problem
from rig.results import changed, labels, replication
from rig.results.verdict import Outcome
from rig.store import inventory, verified
from rig.store.event_file import is_running
from rig.store.journal import RESUMABLE, Journal
from rig.store.session_folder import (
    BENCH,
    EVENTS,
    PROVENANCE,
    REPORT,
    RESULTS,
    SessionFolder,
    read_json,
)
from rig.store.verified import FileChange

RUNNING = "running"
KILLED = "killed"
#: Its run ended before its first line: the folder can be removed.
EMPTY = "empty"
UNREADABLE = "unreadable"
#: The outcome of a session that ended, with a file that was changed after its run.
CHANGED = "changed after the run"

_MARKS = (EVENTS, BENCH, PROVENANCE)
_ENDED_EMPTY = "the run ended before its first line; the folder can be removed"


@dataclass(frozen=True, slots=True)
class Listed:
    """One session as a row of a list; unknown values are empty.

    `verdict` is None where there are no results. `trials` of `trials_due` are finished.
    `reason` says why a session cannot be read, did not end, or has a verdict that is
    not true. `changed`: a file that the row is made from is not as events.jsonl has it;
    then the verdict is false.
    """

    path: Path
    status: str
    verdict: Outcome | None = None
    reason: str = ""
    bench: str = ""
    task: str = ""
    scenario: str = ""
    device: str = ""
    monitors: str = ""
    created_utc: str = ""
    size_b: int = 0
    trials: int = 0
    trials_due: int = 0
    problems: int = 0
    labels: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    has_report: bool = False
    changed: bool = False

    @property
    def name(self) -> str:
        """The name of the folder."""
        return self.path.name

    @property
    def resumable(self) -> bool:
        """Whether the session did not end, and may go on."""
        return self.status in RESUMABLE

    @property
    def outcome(self) -> str:
        """Return status and verdict in a word or two."""
        if self.status != "success":
            return self.status
        if self.changed:
            return CHANGED
        if self.verdict is None:
            return "no verdict"
        return self.verdict.upper()

    @property
    def text(self) -> str:
        """All that a search looks at, in small letters."""
        verdict = "none" if self.verdict is None else self.verdict.replace(" ", "-")
        words = [self.name, self.bench, self.task, self.scenario, self.device]
        words += [self.monitors, self.created_utc, self.outcome, self.reason]
        words += self.labels
        words += [f"#{tag}" for tag in self.tags]
        words += [f"status:{self.status}", f"verdict:{verdict}"]
        return " ".join(words).lower()


#: A row is kept with all fields but these: its place is known, and tags have a file.
_KEPT_FIELDS = tuple(
    field.name for field in fields(Listed) if field.name not in ("path", "tags")
)


class Listing:
    """The sessions of a folder. Rows that were read are kept, here and in the user's
    cache folder; `fault` says why tags are missing.
    """

    def __init__(self, root: Path | str = "sessions") -> None:
        self.root = Path(root)
        self.fault = ""
        self._known: dict[Path, tuple[str, Listed]] | None = None

    def rows(self) -> list[Listed]:
        """Return a row for each session, the newest first."""
        rows = list(self.each())
        return sorted(rows, key=lambda row: (row.created_utc, row.name), reverse=True)

    def each(self) -> Iterator[Listed]:
        """Yield the rows one after another, in no order."""
        tags, self.fault = _tags(self.root)
        known = _kept(self.root) if self._known is None else self._known
        listed: dict[Path, tuple[str, Listed]] = {}
        for path in _folders(self.root):
            stamp = kept_rows.stamp(path)
            before = known.get(path)
            if before is not None and before[0] == stamp:
                row = before[1]
                # A session that ended without a last line may have been taken up again.
                if _now(row.status, path) != row.status:
                    row = replace(row, status=RUNNING)
            else:
                row = read(path)
            if row.status != RUNNING:
                listed[path] = (stamp, row)
            own_tags = tags.find(path)
            yield replace(row, tags=own_tags) if own_tags else row
        if listed != known:
            _keep(self.root, listed)
        self._known = listed


def _kept(root: Path) -> dict[Path, tuple[str, Listed]]:
    """Return the rows that an earlier command kept of a folder of sessions."""
    rows = {}
    for name, (stamp, values) in kept_rows.load(root).items():
        kept = dict(zip(_KEPT_FIELDS, values, strict=True))
        verdict = kept.pop("verdict")
        labels = tuple(kept.pop("labels"))
        outcome = None if verdict is None else Outcome(verdict)
        path = root / name
        row = Listed(path=path, verdict=outcome, labels=labels, **kept)
        rows[path] = (stamp, row)
    return rows


def _keep(root: Path, rows: Mapping[Path, tuple[str, Listed]]) -> None:
    """Keep rows for later commands.

    A session that cannot be read is not kept: the next command may be able to.
    """
    values = operator.attrgetter(*_KEPT_FIELDS)
    kept = {}
    for path, (stamp, row) in rows.items():
        if row.status != UNREADABLE:
            kept[path.name] = (stamp, values(row))
    kept_rows.save(root, kept)


def read(path: Path) -> Listed:
    """Return the row of one session folder, in any state; without its tags."""
    try:
        if strange := inventory.strange(path):
            # The rest of such a folder is not read either: it may hold a million files.
            first = strange[0]
            return Listed(path, UNREADABLE, reason=f"{first.name} {first.detail}")
        size_b = _size_b(path)
        return _read(path, size_b)
    except (RigError, OSError, *DAMAGE) as error:
        return Listed(path, UNREADABLE, reason=cause_of(error))


def search(rows: Iterable[Listed], words: str) -> list[Listed]:
    """Return the rows that contain every word; -word excludes rows, #tag is a whole
    tag, status:killed and verdict:fail match these columns.
    """
    wanted = words.lower().split()
    return [row for row in rows if _matches(row, wanted)]


def is_session(path: Path) -> bool:
    """Check whether a folder is a session's, in any state."""
    folder = SessionFolder(path)
    if any(os.path.lexists(path / mark) for mark in _MARKS) or folder.is_denied():
        return True
    return path.is_dir() and folder.is_unbegun()


def _matches(row: Listed, words: Iterable[str]) -> bool:
    text = row.text
    tags = {f"#{tag.lower()}" for tag in row.tags}
    for word in words:
        wanted = not word.startswith("-") or word == "-"
        word = word if wanted else word[1:]
        there = word in tags if word.startswith("#") and len(word) > 1 else word in text
        if there != wanted:
            return False
    return True


def _folders(root: Path) -> list[Path]:
    try:
        inside = list(root.iterdir())
    except OSError:
        return []
    return [
        path for path in inside if not path.name.startswith(".") and is_session(path)
    ]


def _tags(root: Path) -> tuple[Tags, str]:
    try:
        return Tags.read(root), ""
    except RigError as error:
        return Tags({}), ": ".join(filter(None, (error.cause, error.evidence)))


def _size_b(path: Path) -> int:
    return sum(file.stat().st_size for file in inventory.files(path).values())


def _now(status: str, path: Path) -> str:
    return RUNNING if status in RESUMABLE and is_running(path) else status


def _read(path: Path, size_b: int) -> Listed:
    folder = SessionFolder(path)
    # The facts that a damaged session still has are shown with the reason.
    row = _with_provenance(Listed(path, UNREADABLE, size_b=size_b), folder)
    row = replace(row, has_report=(path / REPORT).is_file())
    if folder.is_unbegun():
        running = is_running(path)
        return (
            replace(row, status=RUNNING)
            if running
            else replace(row, status=EMPTY, reason=_ENDED_EMPTY)
        )
    try:
        folder.refuse_other()
        journal = folder.journal()
    except RigError as error:
        return replace(row, reason=error.evidence or error.cause)
    if journal.faults:
        return replace(row, reason=f"{EVENTS}: {journal.faults[0]}")
    row = _with_results(_with_journal(row, journal), path)
    return _with_changes(row, verified.changes(folder, verified.OF_LIST, journal))


def _with_provenance(row: Listed, folder: SessionFolder) -> Listed:
    try:
        facts: Any = folder.provenance()
    except RigError:
        return row
    if not isinstance(facts, Mapping):
        return row
    sut = facts.get("sut")
    monitors = facts.get("monitors")
    names = []
    if isinstance(monitors, Mapping):
        names = [_text(info, "name") for info in monitors.values()]
    task = _text(facts.get("task"), "name")
    device = _text(sut, "name")
    created_utc = _text(facts, "created_utc")
    label_texts = tuple(label.text for label in labels.of_provenance(facts))
    return replace(
        row,
        task=task,
        device=device,
        monitors=", ".join(filter(None, names)),
        created_utc=created_utc,
        labels=label_texts,
    )


def _with_journal(row: Listed, journal: Journal) -> Listed:
    finished = [event for event in journal.events if event.event == "trial_finished"]
    last = journal.measured[-1]
    status = _now(journal.status, row.path)
    trials = len(finished)
    trials_due = journal.events[0].trials
    problems = sum(len(event.problems) for event in finished)
    return replace(
        row,
        status=status,
        reason=last.reason,
        trials=trials,
        trials_due=trials_due,
        problems=problems,
    )


def _with_results(row: Listed, path: Path) -> Listed:
    if not (path / RESULTS).is_file():
        bench, scenario = _of_bench(path / BENCH)
        return replace(row, bench=bench or _bench_of(row.name), scenario=scenario)
    try:
        told = typed.from_json(_Results, read_json(path / RESULTS), RESULTS)
    except RigError as error:
        return replace(row, reason=f"{error.cause}: {error.evidence}")
    row = replace(row, bench=told.bench, scenario=told.scenario)
    verdict = told.replication.judged
    if told.problems or row.status != "success":
        verdict = Outcome.INVALID
    reason = row.reason or told.replication.reason or ""
    if told.problems:
        first = told.problems[0]
        reason = f"trial {first.trial}: {first.code}: {first.detail}"
    return replace(
        row, verdict=verdict, reason="" if verdict is Outcome.PASS else reason
    )


def _with_changes(row: Listed, found: Sequence[FileChange]) -> Listed:
    if not found:
        return row
    marks = (*row.labels, *(label.text for label in changed.mark(found)))
    verdict = None if row.verdict is None else Outcome.INVALID
    return replace(
        row, changed=True, labels=marks, verdict=verdict, reason=changed.reason(found)
    )


@dataclass(frozen=True, slots=True)
class _Replication:
    """The verdict of results.json, as far as a row shows it."""

    ok: bool
    rule: str = ""
    trials: int = 0
    outcome: Outcome | None = None
    reason: str | None = None
    more: dict[str, Any] = typed.rest()

    @property
    def judged(self) -> Outcome:
        """The outcome; schemas before 6 have only `ok`, which too few trials
        made false."""
        if self.outcome is not None:
            return self.outcome
        return replication.outcome_of(self.ok, self.rule, self.trials)


@dataclass(frozen=True, slots=True)
class _Results:
    """Keys of results.json that a row shows, of any schema; quicker to read than all of
    it.
    """

    bench: str
    scenario: str
    replication: _Replication
    problems: tuple[Problem, ...]
    more: dict[str, Any] = typed.rest()


def _of_bench(path: Path) -> tuple[str, str]:
    """Return the name of the bench, and that of its scenario, from the bench file as
    resolved."""
    try:
        content = tomllib.loads(foreign_files.read_text(path, path.parent))
    except (OSError, ValueError, DataError):
        return "", ""
    scenario = content.get("scenario")
    name = next(iter(scenario), "") if isinstance(scenario, dict) else ""
    return _text(content.get("bench"), "name"), str(name)


def _bench_of(name: str) -> str:
    """Return the bench in the name of a folder: the part after the time."""
    return name.partition("-")[2]


def _text(facts: Any, key: str) -> str:
    value = facts.get(key) if isinstance(facts, Mapping) else None
    return value if isinstance(value, str) else ""


def summary(rows: Iterable[Listed]) -> str:
    """Return how many sessions there are, and how they stand, in one line."""
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.outcome] = counts.get(row.outcome, 0) + 1
    total = sum(counts.values())
    parts = [
        f"{count} {word}"
        for word, count in sorted(counts.items(), key=lambda one: -one[1])
    ]
    return ": ".join(
        filter(None, (f"{total} session{'s' * (total != 1)}", ", ".join(parts)))
    )
