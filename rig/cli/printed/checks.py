# SPDX-License-Identifier: Apache-2.0
"""Printed result of the check of a session."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console

from rig.check.check import UNREAD, Check
from rig.cli.printed.labels import badge_lines, print_labels
from rig.cli.printed.summary import reasons
from rig.cli.printed.terminal import Terminal, escape, print_line, print_named
from rig.cli.printed.verdicts import BADGES
from rig.model.finding import Finding, FindingKind
from rig.results.document import Results
from rig.results.labels import Label
from rig.results.verdict import Outcome
from rig.store.journal import RESUMABLE
from rig.units import bytes_text, plural

#: Number of shown differences where not all findings are shown.
_DIFFERENCES = 8


def print_recovery(path: Path, limit_s: float) -> None:
    """Print that a trace is being recovered, and the longest time for that."""
    size = bytes_text(path.stat().st_size)
    line = f"recovering {path} ({size}), for at most {limit_s:.0f} s"
    print_line(Terminal(stderr=True), escape(line), 2)


def print_answer(
    console: Console, checked: Check, marked: Sequence[Label], *, wide: bool
) -> None:
    """Print the outcome of a check and the labels of the session, with `wide` also
    their meaning.
    """
    print_line(console, f"{BADGES[checked.outcome]} {escape(_answer(checked))}", 7)
    if wide:
        print_labels(console, marked)
        return
    for line in badge_lines(marked, console.width):
        print_line(console, line, 7)


def print_findings(console: Console, path: Path, checked: Check, *, wide: bool) -> None:
    """Print the differences, the chain, and the next step; of equal files only their
    names, or with `wide` every finding.
    """
    bad = [finding for finding in checked.findings if not finding.ok]
    for finding in bad if wide else bad[:_DIFFERENCES]:
        is_cut_off = finding.kind is FindingKind.CUT_OFF
        word = "[yellow]cut off[/]" if is_cut_off else "[red]differs[/]"
        print_line(
            console, f" {word} {escape(finding.name)}: {escape(finding.detail)}", 9
        )
    if not wide and len(bad) > _DIFFERENCES:
        print_named(console, "", f"{len(bad) - _DIFFERENCES} more differences: --wide")
    for finding in checked.findings:
        if finding.passed is None:
            said = f"{escape(finding.name)}: {escape(finding.detail)}"
            print_line(console, f" [yellow]open[/]    {said}", 9)
    good = [finding for finding in checked.findings if finding.passed]
    if wide:
        for finding in good:
            said = f"{escape(finding.name)}: {escape(finding.detail)}"
            print_line(console, f" [green]equal[/]   {said}", 9)
    else:
        for said in _equal(good):
            print_named(console, "equal", said)
    if checked.head:
        print_named(console, "chain", checked.head)
    print_named(console, "session", str(path))
    if again := _again(path, checked, wide):
        print_named(console, "next", again)


def _answer(checked: Check) -> str:
    passed = [finding.passed for finding in checked.findings]
    count = f"{passed.count(True)} of {len(passed)} checks equal"
    if open_count := passed.count(None):
        count += f", {open_count} open"
    if checked.outcome is Outcome.PASS:
        return f"every number of the session is found again: {count}"
    if checked.outcome is Outcome.INVALID:
        return f"the session did not finish (status {checked.status}): {count}"
    if checked.status == UNREAD:
        return "not read: what lies in the folder belongs into no session"
    return f"the session was changed, or its numbers are not found again: {count}"


def _equal(good: Sequence[Finding]) -> Iterator[str]:
    """Yield the findings about the whole session, the files of trials that were made
    again, and the number of files with a hash.
    """
    made = [finding for finding in good if finding.kind is not FindingKind.UNCHANGED]
    for finding in made:
        if "/" not in finding.name:
            yield f"{finding.name}: {finding.detail}"
    inside = [finding.name.split("/", 1) for finding in made if "/" in finding.name]
    counts = Counter(name for _, name in inside)
    parts = []
    for count in dict.fromkeys(counts.values()):
        names = [name for name, one in counts.items() if one == count]
        parts.append(f"{', '.join(names)} of {plural(count, 'trial')}")
    if whole := len(good) - len(made):
        parts.append(f"{plural(whole, 'file')} unchanged")
    if parts:
        yield "; ".join(parts)


def _again(path: Path, checked: Check, wide: bool) -> str:
    if checked.status in RESUMABLE:
        return f"rig resume {path}"
    if checked.outcome is Outcome.FAIL:
        return "another copy of the session, or measure again"
    return "" if wide else f"rig check {path} --wide"


def print_session_verdict(console: Console, results: Results) -> None:
    """Print the verdict over the recomputed numbers."""
    first, *further = reasons(results)
    line = escape("; ".join([first, *further]))
    print_line(console, f" [bold]verdict[/] {BADGES[results.outcome]} {line}", 9)
