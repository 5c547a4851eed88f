# SPDX-License-Identifier: Apache-2.0
"""Findings of a session's check, printed."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from rig.check.check import Check
from rig.cli.printed.terminal import Terminal, escape
from rig.store.journal import RESUMABLE
from rig.units import bytes_text


def print_recovery(path: Path, limit_s: float) -> None:
    """Print that what is left of a trace is being recovered, and the longest time for that."""
    size = bytes_text(path.stat().st_size)
    said = f"recovering {path} ({size}), for at most {limit_s:.0f} s"
    Terminal(stderr=True).print(escape(said), soft_wrap=True)


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
    if checked.status in RESUMABLE:
        console.print(f"try: rig resume {escape(str(path))}", soft_wrap=True)
    for finding in checked.findings:
        if finding.ok and finding.detail != "unchanged":
            console.print(
                f"[green]equal[/] {escape(finding.name)}: {escape(finding.detail)}", soft_wrap=True
            )
