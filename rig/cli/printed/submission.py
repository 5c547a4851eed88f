# SPDX-License-Identifier: Apache-2.0
"""Printed submissions, and judgements of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from rig.cli.printed.terminal import (
    Terminal,
    borderless_table,
    escape,
    print_line,
    print_named,
    print_table,
)
from rig.cli.printed.verdicts import BADGES
from rig.judge.judge import Judgement
from rig.judge.row import JudgedRow
from rig.results.submission_file import SUBMISSION, Submission
from rig.results.verdict import Outcome
from rig.submission.mlperf_tiny import CheckerVerdict

_COLOURS = {True: "green", False: "red", None: "yellow"}
#: So many missing entries are named.
_NAMED = 6


def print_built(made: Submission, folder: Path, is_signed: bool) -> None:
    """Print the content of a submission, its missing entries, and the next steps."""
    out = Terminal()
    sessions = made.sessions
    said = (
        f"wrote {folder}: {made.benchmark}; configurations: {len(made.configurations)},"
        f" sessions: {len(sessions)}, files: {len(made.files)}"
    )
    print_line(out, escape(said), 2)
    for session in sessions:
        marks = ", ".join(session.labels) or "no labels"
        print_named(out, "session", f"{session.name}: {marks}")
    if made.missing:
        shown = ", ".join(made.missing[:_NAMED])
        more = len(made.missing) - _NAMED
        print_named(out, "missing", shown + (f", and {more} more" if more > 0 else ""))
    judge = f"rig submission check {folder}"
    if is_signed:
        print_named(out, "next", f"{judge} --signers FILE")
        return
    sign = f"ssh-keygen -Y sign -n neurorig -f KEY {folder / SUBMISSION}"
    print_named(out, "next", f"{sign}; {judge}")


def print_tiny(
    folder: Path,
    modes: Sequence[str],
    verdict: CheckerVerdict | None,
    signed: Path | None,
) -> None:
    """Print a submission to MLPerf Tiny, its signature, and the verdict of its
    checker.
    """
    out = Terminal()
    print_line(out, escape(f"wrote {folder}: {', '.join(modes)}"), 2)
    if signed is not None:
        print_named(out, "signed", str(signed))
    if verdict is None:
        said = "rig submit mlperf-tiny --checker CLONE runs the submission checker"
        print_named(out, "next", said)
        return
    outcome = Outcome.PASS if verdict.ok else Outcome.FAIL
    said = "the submission checker of mlcommons/tiny"
    print_line(out, f"{BADGES[outcome]} {escape(said)}", 7)
    for line in verdict.lines:
        print_line(out, escape(f"   {line}"), 5)


def print_judgement(out: Terminal, folder: Path, found: Judgement) -> None:
    """Print each requirement with its verdict and its evidence."""
    verdicts = [row.passed for row in found.rows]
    said = (
        f"{verdicts.count(True)} of {len(verdicts)} requirements hold,"
        f" {verdicts.count(False)} fail, {verdicts.count(None)} not checked"
    )
    print_line(out, f"{BADGES[found.outcome]} {escape(said)}", 7)
    print_table(out, _table(found.rows))
    failing = next(
        (row for row in found.rows if row.passed is False and row.rule), None
    )
    if failing is not None:
        print_named(out, "rule", failing.rule)
    print_named(out, "folder", str(folder))


def _table(rows: tuple[JudgedRow, ...]) -> Table:
    table = borderless_table()
    table.add_column("requirement", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("evidence", overflow="fold")
    for row in rows:
        verdict = f"[{_COLOURS[row.passed]}]{row.verdict}[/]"
        table.add_row(escape(row.requirement), verdict, escape(row.evidence))
    return table
