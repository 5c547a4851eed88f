# SPDX-License-Identifier: Apache-2.0
"""Sessions whose files were changed after their run: a label with their numbers, and a
verdict that is INVALID.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rig.errors import DataError
from rig.results import labels
from rig.results.document import Results, VerdictResult
from rig.results.labels import Label
from rig.results.verdict import Outcome
from rig.store import verified
from rig.store.session_folder import PROVENANCE, SessionFolder
from rig.store.verified import FileChange

CHANGED = "CHANGED AFTER THE RUN"


def mark(changes: Sequence[FileChange]) -> tuple[Label, ...]:
    """Make the label of a session with changed files; none where every file equals its
    line.
    """
    if not changes:
        return ()
    names = ", ".join(change.name for change in changes[:3])
    more = f" and {len(changes) - 3} more files" if len(changes) > 3 else ""
    said = (
        f"{names}{more}: not as events.jsonl has it, so these numbers and labels may be"
        " others than those of the run; rig check says what differs"
    )
    return (Label(CHANGED, said),)


def of_folder(folder: SessionFolder) -> tuple[Label, ...]:
    """Collect the labels of a session, also of one that was cut off, is damaged or was
    changed after its run.
    """
    try:
        found = labels.of_provenance(folder.provenance())
    except (DataError, OSError, LookupError, TypeError, ValueError):
        found = (Label(labels.NOT_STATED, f"{PROVENANCE} cannot be read"),)
    return (*found, *mark(verified.changes(folder)))


def reason(changes: Sequence[FileChange]) -> str:
    """Summarise the changes in a few words; empty where every file equals its line."""
    more = f", and {len(changes) - 1} more" if len(changes) > 1 else ""
    return f"{changes[0].name} {changes[0].reason}{more}" if changes else ""


def marked(results: Results, changes: Sequence[FileChange]) -> Results:
    """Mark results with the label of changed files and INVALID verdicts; unchanged
    where every file equals its line.
    """
    if not changes:
        return results
    why = reason(changes)
    its_labels = (*results.data.labels, *mark(changes))
    replication = _invalid(results.replication, why)
    audit = None if results.audit is None else _invalid(results.audit, why)
    data = replace(results.data, labels=its_labels)
    return replace(results, data=data, replication=replication, audit=audit)


def _invalid(verdict: VerdictResult, why: str) -> VerdictResult:
    return replace(verdict, ok=False, outcome=Outcome.INVALID, reason=why)
