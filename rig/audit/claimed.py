# SPDX-License-Identifier: Apache-2.0
"""The sessions of a claim, computed again from their own raw data.

The folder is not trusted: it is checked before anything is taken from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rig.check.check import Check, Read, check
from rig.errors import ConfigError, DataError, did_you_mean
from rig.results import claim, document, results, submission_file
from rig.results.claim import Claim
from rig.results.document import Results
from rig.results.submission_file import HERE, SESSIONS, SUBMISSION, SubmittedSession
from rig.store import inventory, verified
from rig.store.journal import Journal
from rig.store.session_folder import (
    COMPLETIONS,
    EVENTS,
    RECORDED,
    RESULTS,
    UART,
    SessionFolder,
    sha256,
)

#: Raw data, which a submission may leave in another place.
_RAW = (*RECORDED, UART, COMPLETIONS)


@dataclass(frozen=True, slots=True)
class ClaimedPlace:
    """A claimed session before it is looked at; `stated` is the statement of a
    submission about it.
    """

    name: str
    path: Path
    stated: SubmittedSession | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedSession:
    """A claimed session: its results as stored, and as `replayed` from its raw data.

    `difference` names the first step that is not found again, and the claim is None
    then; `lacking` names raw data that are not there.
    """

    name: str
    folder: SessionFolder
    stored: Results
    replayed: Results | None
    chain: str
    claim: Claim | None
    difference: str = ""
    lacking: str = ""

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of its numbers."""
        return tuple(label.text for label in self.stored.labels)


def places(folder: Path, names: Sequence[str] = ()) -> tuple[ClaimedPlace, ...]:
    """Find the sessions of a submission, or the session that a folder is; `names` are
    those wanted of a submission. Raise DataError where it is neither.
    """
    if not (folder / SUBMISSION).exists():
        SessionFolder(folder).refuse_other()
        own = folder.resolve().name
        if names and tuple(names) != (own,):
            raise ConfigError(
                f"{folder} is one session, {own}",
                path="--session",
                evidence=", ".join(names),
                try_next="leave it out: it chooses among those of a submission",
            )
        return (ClaimedPlace(own, folder),)
    inventory.refuse_strange(folder)
    stated = {each.name: each for each in submission_file.read(folder).sessions}
    for name in stated:
        if not inventory.is_relative(name) or "/" in name:
            raise DataError(
                f"{folder / SUBMISSION} names a session {name!r:.60}",
                evidence="that is no name of a folder",
            )
    for name in names:
        if name not in stated:
            raise ConfigError(
                f"{folder} has no session {name}",
                path="--session",
                try_next=did_you_mean(name, stated, 3) + ", ".join(stated),
            )
    if not stated:
        raise DataError(f"{folder} has no session")
    wanted = names or tuple(stated)
    return tuple(
        ClaimedPlace(name, folder / SESSIONS / name, stated[name]) for name in wanted
    )


def read(place: ClaimedPlace, read_traces: Read) -> ClaimedSession:
    """Compute a claimed session again; raise DataError where it did not finish."""
    inventory.refuse_strange(place.path)
    folder = SessionFolder(place.path)
    folder.refuse_other()
    folder.refuse_unfinished()
    journal = folder.journal()
    listed = verified.listed(journal)
    there = inventory.files(place.path)
    missing = [name for name in listed if name not in there]
    is_raw_missing = bool(missing) and all(map(_is_raw, missing))
    stored = document.read(place.path / RESULTS)
    replayed = None
    if is_raw_missing:
        difference = _first_change(place.path, journal)
        lacking = f"raw data are not there: {missing[0]}"
        if len(missing) > 1:
            lacking = f"{len(missing)} files of raw data are not there, as {missing[0]}"
        if place.stated is not None and place.stated.raw != HERE:
            lacking += f"; they are said to be at {place.stated.raw}"
    else:
        checked = check(place.path, read_traces)
        lacking = ""
        difference = first_difference(place.path, checked)
        replayed = _replayed(folder, checked)
    if not difference and place.stated is not None:
        differences = _misstated(place.stated, stored, journal.head)
        difference = next(differences, "")
    return ClaimedSession(
        name=place.name,
        folder=folder,
        stored=stored,
        replayed=replayed,
        chain=journal.head,
        claim=None if difference else claim.read(place.path / RESULTS),
        difference=difference,
        lacking=lacking,
    )


def first_difference(path: Path, checked: Check) -> str:
    """Name the first file of a checked session that differs, with the first step, line
    or value of it that does; empty where all is found again.
    """
    wrong = [finding for finding in checked.findings if not finding.ok]
    if not wrong:
        return "" if checked.ok else f"{EVENTS}: the status is {checked.status}"
    name = wrong[0].name
    details = [finding.detail for finding in wrong if finding.name == name]
    listed = verified.listed(SessionFolder(path).journal())
    is_changed = name in listed and (path / name).is_file()
    is_changed = is_changed and sha256(path / name) != listed[name]
    # Of a changed file the first finding is its hash, which says less than its content.
    if is_changed and len(details) > 1:
        return f"{name} was changed: {details[1]}"
    return f"{name}: {details[0]}"


def _is_raw(name: str) -> bool:
    return name.rpartition("/")[2] in _RAW


def _first_change(path: Path, journal: Journal) -> str:
    """Name the first file that is there and was changed; the others cannot be
    computed again.
    """
    if journal.faults:
        return f"{EVENTS}: {journal.faults[0]}"
    there = inventory.files(path)
    for name, digest in verified.listed(journal).items():
        if name in there and sha256(there[name]) != digest:
            return f"{name}: was changed"
    return ""


def _replayed(folder: SessionFolder, checked: Check) -> Results | None:
    """Derive the results of recomputed trials; None where one could not be."""
    if not checked.trials or len(checked.trials) < len(folder.trials()):
        return None
    context = results.Context.of(folder)
    return document.finite(results.derive(context, checked.trials))


def _misstated(stated: SubmittedSession, stored: Results, head: str) -> Iterator[str]:
    """Yield how a submission states a session otherwise than its files."""
    if stated.chain != head:
        yield f"{SUBMISSION}: states another chain than the session's {EVENTS}"
    for name in dict.fromkeys((*stored.metrics, *stated.metrics)):
        own = stored.metrics.get(name)
        told = stated.metrics.get(name)
        texts = [
            "nothing" if each is None else f"{each.value} {each.unit}"
            for each in (told, own)
        ]
        if texts[0] != texts[1]:
            yield f"{SUBMISSION}: {name} is {texts[0]}, its session has {texts[1]}"
