# SPDX-License-Identifier: Apache-2.0
"""The sessions of a submission as the judge has them: recomputed where their raw data
are in the folder, otherwise as far as their files go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rig.bench import simulated
from rig.check.check import Read, check
from rig.errors import RigError
from rig.files.plain_text import one_line
from rig.judge.row import JudgedRow
from rig.results import document, results
from rig.results.document import Results
from rig.results.submission_file import HERE, SESSIONS, SubmittedSession
from rig.store import inventory, verified
from rig.store.session_folder import (
    BENCH,
    EVENTS,
    PROVENANCE,
    REPORT,
    RESULTS,
    SIGNATURE,
    SessionFolder,
    sha256,
)

#: Files of a session from which alone it can be judged at all.
_DUE = (BENCH, PROVENANCE, RESULTS, EVENTS)
#: Differences that are named in one row.
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Evidence:
    """A submitted session: its rows, and its results and settings, None where it was
    changed.
    """

    stated: SubmittedSession
    findings: tuple[JudgedRow, ...]
    context: results.Context | None = None
    results: Results | None = None
    recomputed: bool = False

    @property
    def facts(self) -> Mapping[str, Any]:
        """Its provenance as it was read; empty where that cannot be."""
        return self.context.provenance.stored if self.context else {}

    @property
    def settings(self) -> Any:
        """The settings of its scenario; None where they cannot be read."""
        return self.context.config.scenario.settings if self.context else None


def of_session(folder: Path, stated: SubmittedSession, read: Read) -> Evidence:
    """Look at a session of a submission; no content of its folder crashes the judge."""
    path = folder / SESSIONS / stated.name
    row = f"session {stated.name}"
    if not inventory.is_relative(stated.name) or "/" in stated.name:
        return Evidence(stated, (JudgedRow(row, False, "has no name of a folder"),))
    if not path.is_dir():
        said = f"there is no folder {SESSIONS}/{stated.name}"
        return Evidence(stated, (JudgedRow(row, False, said),))
    try:
        listed = verified.listed(SessionFolder(path).journal())
        if stated.raw == HERE or listed.keys() <= inventory.files(path).keys():
            return _recomputed(path, row, stated, read)
        return _by_its_files(path, row, stated)
    except (RigError, OSError, ValueError) as error:
        cause = error.cause if isinstance(error, RigError) else str(error)
        said = f"cannot be read: {one_line(cause)}"
        return Evidence(stated, (JudgedRow(row, False, said),))


def _recomputed(path: Path, row: str, stated: SubmittedSession, read: Read) -> Evidence:
    checked = check(path, read)
    bad = [finding for finding in checked.findings if not finding.ok]
    if checked.status != "success":
        said = f"did not finish: its status is {checked.status}"
        return Evidence(stated, (JudgedRow(row, False, said),))
    if bad:
        shown = [f"{finding.name} {finding.detail}" for finding in bad[:_SHOWN]]
        more = f"; {len(bad) - _SHOWN} more" if len(bad) > _SHOWN else ""
        said = f"is not what was measured: {'; '.join(shown)}{more}"
        return Evidence(stated, (JudgedRow(row, False, said),), _context(path))
    context = results.Context.of(SessionFolder(path))
    again = document.finite(results.derive(context, checked.trials))
    said = f"every number found again: {len(checked.findings)} checks"
    found = [JudgedRow(row, True, said), *_head(row, stated, checked.head)]
    return Evidence(stated, tuple(found), context, again, recomputed=True)


def _by_its_files(path: Path, row: str, stated: SubmittedSession) -> Evidence:
    """Judge a session whose raw data are in another place: the chain, and the files
    that are there.
    """
    session = SessionFolder(path)
    session.refuse_other()
    journal = session.journal()
    listed = verified.listed(journal)
    there = inventory.files(path)
    wrong = [f"{EVENTS} {fault}" for fault in journal.faults]
    wrong += [f"{name} is missing" for name in _DUE if name not in there]
    for name, digest in listed.items():
        if name in there and sha256(there[name]) != digest:
            wrong.append(f"{name} was changed")
    own = (EVENTS, SIGNATURE, REPORT)
    for name in there:
        if name not in listed and name not in own:
            wrong.append(f"{name} is named by no line of {EVENTS}")
    if journal.status != "success":
        wrong.append(f"its status is {journal.status}")
    context = _context(path)
    if context is not None:
        wrong += simulated.contradictions(context.config, context.provenance)
    if wrong or context is None:
        said = "; ".join(wrong[:_SHOWN]) or "its bench cannot be read"
        return Evidence(stated, (JudgedRow(row, False, said),), context)
    lacking = sum(name not in there for name in listed)
    said = (
        f"{lacking} files are at {stated.raw}: no number is computed again; a copy of"
        " the session with them, and rig check, does"
    )
    found = [
        JudgedRow(row, None, said),
        *_head(row, stated, journal.head),
    ]
    own_results = document.read(path / RESULTS)
    return Evidence(stated, tuple(found), context, own_results)


def _head(row: str, stated: SubmittedSession, head: str) -> Iterator[JudgedRow]:
    if stated.chain != head:
        said = f"its chain ends with {head[:16]}..., not {stated.chain[:16]}..."
        yield JudgedRow(row, False, said)


def _context(path: Path) -> results.Context | None:
    """Read the settings of a session, as far as they can be."""
    try:
        return results.Context.of(SessionFolder(path))
    except (RigError, OSError, ValueError):
        return None


def shown(texts: Sequence[str]) -> str:
    """Join the first of some texts, and count the others."""
    more = f"; {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return "; ".join(texts[:_SHOWN]) + more
