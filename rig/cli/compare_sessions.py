# SPDX-License-Identifier: Apache-2.0
"""Two sessions side by side: what differs between their metrics, and in how they came
about. Many sessions: each compared with the first, metric by metric."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from rig.api.comparing.comparison import SessionComparison, compare
from rig.api.comparing.metric_pairs import (
    ComparisonOutcome,
    MetricPair,
    counts,
    reasons,
)
from rig.api.comparing.several import (
    HEADS,
    ComparedMetric,
    SeveralSessions,
    cells,
    in_ranges,
    refuse_unknown,
)
from rig.api.comparing.text import difference_text, spread_text, value_text
from rig.api.sessions.session import Session, open_session
from rig.cli.exit_codes import FAIL
from rig.cli.printed.labels import badge_lines, of_session, print_labels
from rig.cli.printed.terminal import (
    Terminal,
    borderless_table,
    escape,
    print_line,
    print_table,
)
from rig.cli.printed.verdicts import BADGES
from rig.errors import DAMAGE, RigError, cause_of
from rig.files import typed
from rig.model.metric import Prominence
from rig.results.stated import Notes
from rig.results.verdict import Outcome as Verdict

_COLOURS = {
    ComparisonOutcome.DIFFERS: "bold",
    ComparisonOutcome.IF_UNCHANGED: "yellow",
    ComparisonOutcome.IF_ALONE: "yellow",
    ComparisonOutcome.UNKNOWN: "dim",
    ComparisonOutcome.NOT_COMPARABLE: "dim",
}
#: Metrics with these outcomes are named above the table, and stand in it.
_TELLING = (ComparisonOutcome.DIFFERS, ComparisonOutcome.IF_UNCHANGED)


@dataclass(frozen=True, slots=True)
class _Form:
    """A form of a table: with the names of sessions, their values, the intervals of
    these, and the shares of differences. An outcome takes several lines if it `folds`.
    """

    names: bool = True
    values: bool = True
    intervals: bool = True
    relative: bool = True
    folds: bool = False

    @property
    def lacks(self) -> list[str]:
        """The parts that it leaves out."""
        parts = {
            "names of the sessions": self.names,
            "values": self.values,
            "intervals of the values": self.intervals or not self.values,
            "differences in %": self.relative,
        }
        return [name for name, is_shown in parts.items() if not is_shown]


#: Forms of the table of two sessions, the widest first.
_OF_TWO = (
    _Form(),
    _Form(intervals=False),
    _Form(intervals=False, relative=False),
    _Form(intervals=False, relative=False, folds=True),
    _Form(intervals=False, values=False, folds=True),
    _Form(intervals=False, values=False, relative=False, folds=True),
)
#: Forms of the table of a metric of many sessions, the widest first.
_OF_MANY = (
    _Form(),
    _Form(names=False),
    _Form(names=False, intervals=False),
    _Form(names=False, intervals=False, relative=False, folds=True),
)
#: Number of shown keys that differ in how the sessions came about.
_CHANGES = 5


def two_sessions(
    first: Path,
    second: Path,
    names: Sequence[str] = (),
    *,
    everything: bool,
    as_json: bool,
) -> int:
    """Print how the metrics of two sessions differ, or the named ones. Return the exit
    code.

    The uncertainty of each difference is printed twice: for independent sessions, and
    for an instrument that did not change between them.
    """
    out = Terminal(stderr=as_json)
    found = compare(open_session(first), open_session(second))
    if as_json:
        Terminal().out(json.dumps(_tree(found), indent=1))
    pairs = [pair for pair in found.metrics if everything or _prominence(pair)]
    if names:
        refuse_unknown(names, [pair.name for pair in found.metrics])
        pairs = [pair for pair in found.metrics if pair.name in names]
    for line in _answers(pairs):
        print_line(out, f" {escape(line)}", 3)
    for note in found.notes:
        print_line(out, f" note: {escape(note)}", 7)
    for letter, path, session in (
        ("A", first, found.first),
        ("B", second, found.second),
    ):
        outcome = outcome_of(session)[0]
        badge = "" if outcome is None else f"  {BADGES[outcome]}"
        print_line(out, f" [bold]{letter}[/]       {escape(str(path))}{badge}", 9)
        if everything:
            print_labels(out, of_session(path))
            continue
        for line in badge_lines(of_session(path), out.width, 9):
            print_line(out, line, 9)
    out.print()
    whole = everything or bool(names)
    shown = [pair for pair in pairs if whole or _is_telling(pair)]
    _print_metrics(out, shown, found)
    for line in reasons(pairs):
        print_line(out, f" {escape(line)}", 3)
    if left := len(pairs) - len(shown):
        print_line(out, f" {left} more metrics: --all")
    _print_changes(out, found, everything=everything)
    # A difference of numbers that were edited is not one of measurements. They are
    # shown all the same, because a reader may look for the edited number; a script
    # sees the exit code.
    return FAIL if found.first.changed or found.second.changed else 0


def _answers(pairs: Sequence[MetricPair]) -> Iterator[str]:
    """Yield for each outcome how many metrics have it, and which those are that
    differ."""
    if not pairs:
        yield "no metrics can be compared"
    for outcome, count in counts(pairs).items():
        names = ", ".join(pair.name for pair in pairs if pair.outcome is outcome)
        metrics = f"{count} metric{'s' * (count != 1)}"
        yield (
            f"{outcome.value}:"
            f" {f'{metrics}: {names}' if outcome in _TELLING else metrics}"
        )


def _prominence(pair: MetricPair) -> Prominence | None:
    """Return the prominence of each metric of a session that is more than a detail."""
    rows = [row for row in (pair.first, pair.second) if row is not None]
    shown = [row.prominence for row in rows if row.prominence is not Prominence.DETAIL]
    return shown[0] if shown else None


def _is_telling(pair: MetricPair) -> bool:
    return pair.outcome in _TELLING or _prominence(pair) is Prominence.HEADLINE


def _print_metrics(
    out: Terminal, pairs: Sequence[MetricPair], found: SessionComparison
) -> None:
    if not pairs:
        return
    print_line(
        out, f" B less A, with its uncertainty at 95 %; intervals {found.question}", 1
    )
    tables = [_metrics(pairs, found, form) for form in _OF_TWO]
    lacks = [form.lacks for form in _OF_TWO]
    print_table(out, *tables, lacks=lacks, also="with --json")


def _metrics(
    pairs: Sequence[MetricPair], found: SessionComparison, form: _Form
) -> Table:
    notes = Notes()
    table = borderless_table()
    table.add_column(" metric", no_wrap=True)
    for head in (*("A", "B") * form.values, "B - A", "± 95 %"):
        table.add_column(head, justify="right", no_wrap=True)
    if found.shared_rails:
        table.add_column("± 95 %, if\nunchanged", justify="right", no_wrap=True)
    table.add_column("outcome", no_wrap=not form.folds)
    for pair in pairs:
        cells = []
        for row in (pair.first, pair.second) * form.values:
            cells.append(value_text(pair, row, notes, with_interval=form.intervals))
        cells.append(difference_text(pair, with_relative=form.relative))
        cells.append(spread_text(pair, pair.apart))
        if found.shared_rails:
            cells.append(spread_text(pair, pair.shared))
        cells.append(pair.outcome.value)
        style = _COLOURS.get(pair.outcome, "")
        table.add_row(f" {escape(pair.name)}", *map(escape, cells), style=style)
    table.caption = "\n".join(map(escape, notes.lines)) or None
    table.caption_justify = "left"
    return table


def _print_changes(
    out: Terminal, found: SessionComparison, *, everything: bool
) -> None:
    changed = [change for change in found.changes if everything or not change.ordinary]
    if not changed:
        print_line(out, " nothing differs in how they came about")
        return
    print_line(out, " what differs in how they came about, from A to B", 1)
    shown = changed if everything or not out.is_terminal else changed[:_CHANGES]
    width = max(len(change.path) for change in shown)
    for change in shown:
        path = escape(change.path) + " " * (width - len(change.path))
        print_line(
            out, f"   {path}  {escape(change.before)} → {escape(change.after)}", 5
        )
    if left := len(changed) - len(shown):
        print_line(out, f"   {left} more: --all")


def print_several(out: Terminal, found: SeveralSessions) -> None:
    """Print many sessions: a list with their numbers, then a table a metric."""
    for each in found.sessions:
        about = ", ".join(filter(None, (each.device, each.monitor, each.task)))
        name = f"{escape(each.name)}  {escape(about or each.reason)}"
        print_line(out, f" [bold]{each.number:>2}[/]  {name}", 5)
        for line in badge_lines(of_session(each.session.path), out.width, 6):
            print_line(out, line, 6)
    print_line(out, f" {escape(found.statement)}", 1)
    for note, numbers in found.notes:
        print_line(out, f" note on {in_ranges(numbers)}: {escape(note)}", 3)
    for metric in found.metrics:
        if metric.summary:
            said = f"[bold]{escape(metric.name)}[/]  {escape(metric.summary)}"
            print_line(out, f" {said}", 3)
    for metric in found.metrics:
        out.print()
        tables = [_of_metric(metric, form) for form in _OF_MANY]
        lacks = [form.lacks for form in _OF_MANY]
        print_table(out, *tables, lacks=lacks, also="with --json")


def _of_metric(metric: ComparedMetric, form: _Form) -> Table:
    """Return the table of a metric in one of its forms."""
    notes = Notes()
    table = borderless_table()
    table.add_column(f" {metric.name}", no_wrap=True)
    *numbers, last = HEADS[1:]
    for head in numbers:
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column(last, no_wrap=not form.folds)
    for each, row, pair in metric.rows:
        texts = cells(
            each,
            row,
            pair,
            notes,
            same_samples=metric.same_samples,
            interval=form.intervals,
            relative=form.relative,
        )
        name = f"{each.number:>2}" + f"  {each.name}" * form.names
        style = _COLOURS.get(pair.outcome, "") if pair is not None else ""
        shown = [escape(texts[head]) for head in HEADS[1:]]
        table.add_row(f" {escape(name)}", *shown, style=style)
    below = (*metric.reasons, *notes.lines)
    table.caption = "\n".join(map(escape, below)) or None
    table.caption_justify = "left"
    return table


def _tree(found: SessionComparison) -> dict[str, Any]:
    """Return the comparison as JSON, in SI units."""
    sessions = [_session(session) for session in (found.first, found.second)]
    metrics = list(map(_pair, found.metrics))
    changes = typed.to_json(list(found.changes))
    return {
        "sessions": sessions,
        "notes": list(found.notes),
        "question": found.question,
        "metrics": metrics,
        "changes": changes,
    }


def _session(session: Session) -> dict[str, Any]:
    """Return a session as JSON; `error` says why its results cannot be read."""
    outcome, error = outcome_of(session)
    labels = typed.to_json(list(of_session(session.path)))
    return {
        "session": str(session.path),
        "status": session.status,
        "outcome": outcome,
        "labels": labels,
        "error": error,
    }


def outcome_of(session: Session) -> tuple[Verdict | None, str]:
    """Return the outcome of a session, or why it has none."""
    try:
        return session.verdict.outcome, ""
    except (RigError, OSError, *DAMAGE) as error:
        return None, cause_of(error)


def _pair(pair: MetricPair) -> dict[str, Any]:
    """Return a compared metric; `first` and `second` have the intervals of the
    comparison.
    """
    values: dict[str, Any] = {"first": None, "second": None}
    for name, row in (("first", pair.first), ("second", pair.second)):
        if row is not None:
            interval = typed.to_json(pair.interval(row))
            values[name] = {"value": row.value, "interval": interval}
    return {
        "metric": pair.name,
        "unit": pair.unit,
        "outcome": pair.outcome.value,
        "reason": pair.reason,
        **values,
        "difference": pair.difference,
        "relative": pair.relative,
        "apart": typed.to_json(pair.apart),
        "shared": typed.to_json(pair.shared),
        "shared_parts": list(pair.shared_parts),
    }
