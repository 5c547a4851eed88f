# SPDX-License-Identifier: Apache-2.0
"""Labels of a session's numbers, as the command line shows it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from rig.cli.printed.terminal import escape, say
from rig.results import changed
from rig.results.labels import Label
from rig.store.session_folder import SessionFolder


def of_session(path: Path) -> tuple[Label, ...]:
    """Return what must stand beside a session's numbers."""
    return changed.of_folder(SessionFolder(path))


def print_labels(console: Console, marked: Sequence[Label]) -> None:
    """Print each label with the sentence that says what it means."""
    for label in marked:
        say(console, escape(label.statement), f"{badge(label)} ")


def badge(label: Label) -> str:
    return f"[black on yellow] {escape(label.text)} [/]"
