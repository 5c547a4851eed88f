# SPDX-License-Identifier: Apache-2.0
"""Labels of a session's numbers, as the command line shows it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from rig.cli.printed.terminal import escape, say
from rig.errors import DataError
from rig.results import changed, labels
from rig.results.labels import Label
from rig.store import session_folder, verified
from rig.store.session_folder import SessionFolder


def of_session(path: Path) -> tuple[labels.Label, ...]:
    """Return what must stand beside a session's numbers; also of one that was cut off, or is
    damaged, or was changed after its run.
    """
    folder = SessionFolder(path)
    try:
        found = labels.of_provenance(folder.provenance())
    except (DataError, OSError, LookupError, TypeError, ValueError):
        found = (labels.Label(labels.NOT_STATED, f"{session_folder.PROVENANCE} cannot be read"),)
    return (*found, *changed.mark(verified.changes(folder)))


def print_labels(console: Console, marked: Sequence[Label]) -> None:
    """Print each label with the sentence that says what it means."""
    for label in marked:
        say(console, escape(label.statement), f"{badge(label)} ")


def badge(label: Label) -> str:
    return f"[black on yellow] {escape(label.text)} [/]"
