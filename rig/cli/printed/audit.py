# SPDX-License-Identifier: Apache-2.0
"""Printed audits: claimed, computed again, and measured again, with the verdict of each
metric.
"""

from __future__ import annotations

from pathlib import Path

from rich.table import Table

from rig.audit.claimed import ClaimedSession
from rig.cli.printed.labels import badge_lines
from rig.cli.printed.terminal import (
    Terminal,
    borderless_table,
    escape,
    print_line,
    print_named,
    print_table,
)
from rig.cli.printed.verdicts import BADGES
from rig.results.audit_file import (
    Audit,
    AuditedSession,
    AuditOutcome,
    AuditValue,
)
from rig.results.labels import SIMULATED, Label
from rig.results.stated import INTERVALS
from rig.results.verdict import Outcome, reasons
from rig.units import ends, plural, quantity, scale

_COLOURS = {AuditOutcome.AUDITOR: "red", AuditOutcome.INCOMPLETE: "yellow"}
_SAID = {
    Outcome.PASS: "every claimed metric is confirmed",
    Outcome.FAIL: "the claim does not hold",
    Outcome.NOT_TESTED: "the audit is incomplete",
}


_SAME_SEED = (
    "claim and audit are simulated with the same seed: the noise that it draws"
    " repeats, so this audit is no independent measurement"
)


def print_replayed(out: Terminal, one: ClaimedSession) -> None:
    """Print whether a claim is found again in its own raw data."""
    said = one.difference or one.lacking
    word = "equal"
    if said:
        word = "differs" if one.difference else "lacks"
    detail = said or "every number is found again in the claim's raw data"
    print_named(out, word, f"{one.name}: {detail}")


def print_audit(out: Terminal, made: Audit, to: Path) -> None:
    """Print each session of an audit in the folder `to`, with its three columns."""
    for session in made.sessions:
        out.print()
        _print_session(out, session, to)


def _print_session(out: Terminal, session: AuditedSession, to: Path) -> None:
    said = f"{session.name}: {_SAID[session.outcome]}"
    if session.difference:
        said = f"{session.name}: its own raw data give other numbers"
    print_line(out, f"{BADGES[session.outcome]} {escape(said)}", 7)
    texts = dict.fromkeys((*session.labels, *session.audit_labels))
    for line in badge_lines([Label(text, "") for text in texts], out.width):
        print_line(out, line, 7)
    if session.session:
        count = session.trials
        said = f"{count} trial{'s' * (count != 1)} in {session.session}"
        print_named(out, "again", said)
    for text in session.unlike:
        print_named(out, "unlike", text)
    tables = [_table(session, lines=lines) for lines in (False, True)]
    print_table(out, *tables)
    print_line(out, f" {INTERVALS}", 2)
    both = (session.labels, session.audit_labels)
    is_simulated = all(SIMULATED in texts for texts in both)
    # The workload of an audit, its seed included, is that of the claim.
    if is_simulated and session.session and not session.unlike:
        print_line(out, f" {_SAME_SEED}", 2)
    lacking = {
        name: one.reason
        for name, one in session.metrics.items()
        if one.verdict is AuditOutcome.INCOMPLETE
    }
    for reason, names in reasons(lacking).items():
        print_named(out, "lacks", f"{plural(len(names), 'metric')}: {reason}")
    replaced = False
    for name, one in session.metrics.items():
        if one.replacement is not None:
            limit = quantity(one.replacement, one.unit)
            print_named(out, "limit", f"{name} of a replacement: {limit}")
            replaced = True
    if replaced:
        again = f"rig check {to / session.session} --claim NEW/results.json"
        print_named(out, "test", f"{again} --replacement, of a new result")


def _table(session: AuditedSession, *, lines: bool) -> Table:
    """Make the table of a session; with `lines` for a narrow terminal: an interval is
    below its value, and none beside the value that was found again.
    """
    table = borderless_table()
    table.add_column(" metric", no_wrap=True)
    for head in ("claimed", "replayed", "audited", "worse"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=not lines)
    for name, one in session.metrics.items():
        between = "\n" if lines else " "
        claimed = _cell(one.claimed, one.unit, between)
        replayed = _cell(one.replayed, one.unit, "" if lines else between)
        audited = _cell(one.audited, one.unit, between)
        away = "-"
        if one.deviation is not None:
            # 0.0 is added, as a rounded value may be -0.0.
            away = f"{round(100 * one.deviation, 2) + 0.0:+.2f} %"
        cells = (claimed, replayed, audited, away, escape(one.verdict))
        style = _COLOURS.get(one.verdict, "")
        table.add_row(f" {escape(name)}", *cells, style=style)
    return table


def _cell(value: AuditValue | None, unit: str, between: str) -> str:
    """Format a value, and after the text `between`, unless that is empty, its 95 %
    interval.
    """
    if value is None or value.value is None:
        return "-"
    shown = quantity(value.value, unit)
    if not between:
        return shown
    if value.expanded_uncertainty is not None:
        said = quantity(value.value, unit, value.expanded_uncertainty)
        return said.replace(" ±", f"{between}±", 1)
    if value.low is None and value.high is None:
        return shown
    factor, _ = scale(value.value, unit)
    interval = ends(value.low, value.high, value.value, factor)
    # Below its value it has a line of its own, and no room for brackets.
    return f"{shown} ({interval})" if between == " " else f"{shown}{between}{interval}"
