# SPDX-License-Identifier: Apache-2.0
"""Findings of a session's check, printed."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from rig.check.check import Check
from rig.cli.printed.terminal import escape


def print_check(console: Console, path: Path, checked: Check) -> None:
    """Print what a check found; what is as it should be only as a count."""
    good = sum(finding.ok for finding in checked.findings)
    stands = f"{good} of {len(checked.findings)} checks equal"
    console.print(
        f"{escape(str(path))}: session {escape(checked.status)}, {stands}", soft_wrap=True
    )
    if checked.head:
        console.print(f"chain {checked.head}", soft_wrap=True, highlight=False)
    for finding in checked.findings:
        if not finding.ok:
            word = (
                "[yellow]cut off[/]"
                if finding.detail.startswith("was cut off")
                else "[red]differs[/]"
            )
            console.print(
                f"{word} {escape(finding.name)}: {escape(finding.detail)}", soft_wrap=True
            )
    for finding in checked.findings:
        if finding.ok and finding.detail != "unchanged":
            console.print(
                f"[green]equal[/] {escape(finding.name)}: {escape(finding.detail)}", soft_wrap=True
            )
