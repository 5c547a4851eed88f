# SPDX-License-Identifier: Apache-2.0
"""The files of a session against their lines in events.jsonl, before their content is
shown.

A hash costs far less than a recomputation, and says less: a file that equals its line
may have been invented together with that line. `rig check` computes the numbers again.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rig.store.journal import Journal, JournalEvent
from rig.store.session_folder import (
    BENCH,
    CATALOGUE,
    COMPLETIONS,
    EVENTS,
    LINES,
    PROVENANCE,
    REPORT,
    RESULTS,
    SAMPLES,
    TRAINS,
    SessionFolder,
    sha256,
)

#: The files from which a list shows a session.
OF_LIST = (BENCH, PROVENANCE, RESULTS, REPORT)
#: The files from which a report, a comparison or Python shows a session. A trace may
#: have gigabytes and is left to `rig check`.
OF_NUMBERS = (
    BENCH,
    PROVENANCE,
    CATALOGUE,
    RESULTS,
    SAMPLES,
    COMPLETIONS,
    LINES,
    TRAINS,
)

_MADE_AGAIN = (REPORT, TRAINS)
UNLISTED = "was added: no line of events.jsonl names it"
MISSING = "is missing"


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file of a session that is not as events.jsonl has it: its name there, in words
    what became of it, and the evidence.
    """

    name: str
    reason: str
    evidence: str = ""

    def __str__(self) -> str:
        return ": ".join(filter(None, (f"{self.name} {self.reason}", self.evidence)))


def changes(
    folder: SessionFolder,
    names: Sequence[str] = OF_NUMBERS,
    journal: Journal | None = None,
) -> tuple[FileChange, ...]:
    """Return which of the files that have one of these names were changed, removed or
    added after the run, in the session's folder and in those of its trials.

    `journal`: what events.jsonl says, where the caller has read it. A report that was
    removed is no change, nor are spike trains: both are made again at any time.
    """
    written = folder.journal() if journal is None else journal
    if written.faults:
        return (FileChange(EVENTS, "is not as it was written", written.faults[0]),)
    hashes = listed(written)
    wanted = [name for name in hashes if name.rpartition("/")[2] in names]
    # In the folders of trials a run that goes on has files that no line names yet.
    wanted += [name for name in names if "/" not in name and name not in hashes]
    return tuple(_changes(folder, wanted, hashes))


def listed(journal: Journal) -> dict[str, str]:
    """Return the SHA-256 of every file by its name in the session's folder: that of the
    first line that names it, and of what was made of the finished session the last one.
    """
    listed: dict[str, str] = {}
    derived: dict[str, str] = {}
    for event in journal.events:
        if event.event == "derived":
            derived |= event.files
        elif event.event != "trial_resumed":
            for name, digest in named(event).items():
                listed.setdefault(name, digest)
    return listed | {
        name: digest for name, digest in derived.items() if name not in listed
    }


def named(event: JournalEvent) -> dict[str, str]:
    """Return the files of a line by their names in the session's folder."""
    place = f"trial-{event.trial}/" if event.trial else ""
    return {f"{place}{name}": digest for name, digest in event.files.items()}


def _changes(
    folder: SessionFolder, names: Sequence[str], hashes: Mapping[str, str]
) -> Iterator[FileChange]:
    for name in names:
        if change := _change(folder.path / name, name, hashes.get(name)):
            yield change


def _change(path: Path, name: str, recorded: str | None) -> FileChange | None:
    """Return how a file differs from its line; None where it does not."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return FileChange(name, "is no regular file")
        if recorded is None:
            return FileChange(name, UNLISTED)
        now = sha256(path)
    except FileNotFoundError:
        return (
            None
            if recorded is None or name in _MADE_AGAIN
            else FileChange(name, MISSING)
        )
    except OSError as error:
        return FileChange(name, "cannot be read", error.strerror or str(error))
    if now == recorded:
        return None
    return FileChange(
        name, "was changed", f"SHA-256 {now[:16]}..., recorded {recorded[:16]}..."
    )
