# SPDX-License-Identifier: Apache-2.0
"""Labels of a session's numbers, as the command line shows it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from rig.cli.printed.terminal import escape, say
from rig.results import changed
from rig.results.labels import SUBSET, Label
from rig.store.session_folder import SessionFolder


def of_session(path: Path) -> tuple[Label, ...]:
    """Return what must stand beside a session's numbers."""
    return changed.of_folder(SessionFolder(path))


def print_labels(console: Console, marked: Sequence[Label]) -> None:
    """Print each label with its meaning."""
    for label in marked:
        say(console, escape(label.statement), f"{badge(label)} ")


def badge_lines(marked: Sequence[Label], width: int, indent: int = 7) -> list[str]:
    """Return the labels side by side, with the part of the data that was measured."""
    lines: list[str] = []
    taken = width
    for label in marked:
        size = len(label.text) + 3
        if taken + size - 1 > width:
            # A badge begins with a blank of its own.
            lines.append(" " * (indent - 1))
            taken = indent - 1
        lines[-1] += badge(label) + " "
        taken += size
    parts = [label.statement for label in marked if label.text == SUBSET]
    if parts and taken + len(parts[0]) <= width:
        lines[-1] += escape(parts[0])
    elif parts:
        lines.append(" " * indent + escape(parts[0]))
    return lines


def badge(label: Label) -> str:
    return f"[black on yellow] {escape(label.text)} [/]"
