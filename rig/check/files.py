# SPDX-License-Identifier: Apache-2.0
"""The files of a session against the hashes in events.jsonl: none changed, none
missing, none added.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from rig.model.finding import Finding, FindingKind
from rig.store import inventory, session_folder, verified
from rig.store.journal import Journal, JournalEvent
from rig.store.session_folder import (
    BENCH,
    COMPLETIONS,
    EVENTS,
    PROVENANCE,
    REPORT,
    RESULTS,
    SAMPLES,
    SIGNATURE,
    UART,
    SessionFolder,
)
from rig.trace.trace import TRACE

#: How names of further files end that are made of a finished session.
_DERIVED = (".json", ".npz")
#: Names of files and their hashes, as events.jsonl has them.
Files = Mapping[str, str]


def findings(
    folder: SessionFolder,
    journal: Journal,
    rails: Sequence[str],
    interleaved: bool = False,
) -> Iterator[Finding]:
    """Yield a finding for each file that is listed, and for each that is not; `rails`
    are those that are recorded, `interleaved`: all trials with the first one.
    """
    for fault in journal.faults:
        yield Finding(EVENTS, False, fault)
    if journal.torn:
        yield Finding(
            EVENTS,
            False,
            "ends in the midst of a line: the process that wrote it was killed. What"
            " wrote it cuts that off when it is run again: rig resume, or rig report of"
            " a session that finished",
        )
    listed = verified.listed(journal)
    there = inventory.files(folder.path)
    known = [name for name in listed if name in there]
    hashes = session_folder.sha256_of([there[name] for name in known])
    found = dict(zip(known, hashes, strict=True))
    for name, digest in listed.items():
        now = found.get(name)
        if now is None:
            yield Finding(name, False, verified.MISSING)
        elif now != digest:
            said = f"was changed: SHA-256 {now[:16]}..., recorded {digest[:16]}..."
            yield Finding(name, False, f"{said}{_repair(name, journal)}")
        else:
            yield Finding(name, True, "unchanged", kind=FindingKind.UNCHANGED)
    unfinished = tuple(
        f"trial-{number}/"
        for number in folder.trials()
        if journal.of_trial("trial_finished", number) is None
    )
    for name in there:
        # Files of a trial that was cut off are in no list yet.
        if (
            name not in listed
            and name not in (EVENTS, SIGNATURE)
            and not name.startswith(unfinished)
        ):
            yield Finding(name, False, f"{verified.UNLISTED}{_repair(name, journal)}")
    for name in _added_folders(folder, listed, unfinished):
        said = "was added: no line of events.jsonl names a file in it"
        yield Finding(f"{name}/", False, said)
    yield from (Finding(EVENTS, False, text) for text in renamed(journal))
    for name, why in _unlisted(journal, rails, listed, interleaved):
        yield Finding(EVENTS, False, f"names no {name}{why}")


def _added_folders(
    folder: SessionFolder, listed: Files, unfinished: tuple[str, ...]
) -> Iterator[str]:
    """Yield the folders that hold no listed file."""
    known: set[str] = set()
    for name in (*listed, *(f"{start}x" for start in unfinished)):
        known |= set(map(str, PurePosixPath(name).parents))
    for name in inventory.folders(folder.path):
        # A segment that was killed before it wrote anything leaves an empty folder,
        # which is set aside.
        set_aside = any(map(session_folder.CUT_OFF.fullmatch, name.split("/")))
        if name not in known and not set_aside and not name.startswith(unfinished):
            yield name


def _repair(name: str, journal: Journal) -> str:
    """Return what to do about a file whose line is missing, as a command that was
    killed between the two leaves it; empty for a file that no such command writes.
    """
    of = name.removesuffix(session_folder.PARTIAL_SUFFIX)
    if of == RESULTS:
        # No command writes it again once the session is finished.
        if journal.status == "success":
            return ""
        return (
            ". Was rig run or rig resume killed? rig resume writes it and its line"
            " again"
        )
    if of == REPORT:
        return ". Was rig report killed? Run again, it writes the file and its line"
    if "/" in of or of == PROVENANCE or not of.endswith(_DERIVED):
        return ""
    return (
        ". Was the command killed that makes it? Run again, it writes the file and its"
        " line"
    )


def changed(found: Sequence[Finding], prefix: str) -> list[str]:
    """Return the names of a folder's files that are not as they were."""
    names = []
    for finding in found:
        if not finding.ok and finding.name.startswith(prefix):
            names.append(finding.name)
    return names


def renamed(journal: Journal) -> Iterator[str]:
    """Yield the lines that name a file with another content than an earlier line; files
    derived from the finished session may be made again.
    """
    first: dict[str, tuple[int, str, bool]] = {}
    for number, event in enumerate(journal.events, start=1):
        is_derived = event.event == "derived"
        for name, digest in verified.named(event).items():
            at, known, was_derived = first.setdefault(
                name, (number, digest, is_derived)
            )
            if known != digest and not (is_derived and was_derived):
                yield (
                    f"line {number}, {event.event}, names another {name} than line"
                    f" {at}: a later line adds files, and changes none"
                )


def _unlisted(
    journal: Journal, rails: Sequence[str], listed: Files, interleaved: bool
) -> Iterator[tuple[str, str]]:
    """Yield what every session has, and this one's lines do not name."""
    for name in (
        BENCH,
        PROVENANCE,
        *([RESULTS] if journal.status == "success" else []),
    ):
        if name not in listed:
            yield name, ""
    segments: dict[int, list[str]] = {}
    for event in journal.events:
        match event.event:
            case "trial_started":
                segments[event.trial] = [""]
            case "trial_resumed":
                segments[event.trial] = _segment_folders(event)
            case "trial_finished":
                places = (
                    []
                    if interleaved and event.trial > 1
                    else segments.get(event.trial, [""])
                )
                due = _due_of_trial(places, rails)
                for name in due:
                    if name not in event.files:
                        yield name, f" of trial-{event.trial}"


def _segment_folders(event: JournalEvent) -> list[str]:
    """Return the folders of a trial's segments, as the event that began the last one
    names them."""
    return [f"{event.word}-{number}/" for number in range(1, event.segment + 1)]


def _due_of_trial(segments: Sequence[str], rails: Sequence[str]) -> Iterator[str]:
    yield SAMPLES
    for place in segments:
        yield from (place + COMPLETIONS, place + UART)
        for rail in rails:
            yield f"{place}{rail}/{TRACE}" if rail else place + TRACE
