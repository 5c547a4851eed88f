# SPDX-License-Identifier: Apache-2.0
"""What the command line shows: progress with time left while a session runs, tables at its end."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.segment import Segments
from rich.table import Table
from rich.text import Text

from rig.check.check import Check
from rig.errors import RigError
from rig.kinds import registry as kinds
from rig.model import comparison
from rig.model.comparison import Compared
from rig.model.grid import DONE, FAILED, Coverage, Covered
from rig.model.metric import Prominence
from rig.results import labels
from rig.results.budget_table import BudgetCell
from rig.results.budget_table import table as budget_table
from rig.results.claim import Claim
from rig.results.document import MetricResult, Results, TrialResult, VerdictResult
from rig.results.labels import Label
from rig.results.replication import LIMIT, deviation
from rig.results.resolution import Resolution
from rig.results.stated import stated
from rig.store.events import (
    Event,
    SessionResumed,
    SessionStarted,
    StepDone,
    TrialFinished,
    TrialResumed,
    TrialStarted,
)
from rig.store.provenance_file import DeviceClock
from rig.store.session_folder import SessionFolder
from rig.units import quantity, share

#: Control characters but tabs and ends of lines, marks that turn the direction of writing, and
#: halves of characters.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)
#: More than any table is wide.
_UNBOUND = 1000
#: More lines than this are shown of one trial only.
_LINES = 5
#: A component below this share everywhere is left out of the terminal's table; the report has all.
_TELLING = 1e-5


class Terminal(Console):
    """A console that shows text as it is: no word between colons becomes a picture, and no
    character commands the terminal.

    It goes on in silence when whoever read it has gone (rig run | head): the run matters, not its
    words.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(emoji=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """Return text to show, with a sign in the place of characters that none can see."""
        return super().render_str(visible(text), **options)

    def out(self, *objects: Any, **options: Any) -> None:
        """Print text as it is, for programs; characters that command a terminal are no part of any
        format.
        """
        super().out(
            *(visible(each) if isinstance(each, str) else each for each in objects), **options
        )

    def on_broken_pipe(self) -> None:
        """Send the rest nowhere."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())


def visible(text: str) -> str:
    """Return a text with a sign in the place of characters that command a terminal, turn the
    direction of writing, or are none.

    Bytes of a name that are no UTF-8 are shown by their numbers, so that the file can be found.
    """
    return _UNSEEN.sub(
        lambda unseen: ascii(unseen[0])[1:-1] if "\udc80" <= unseen[0] <= "\udcff" else "\ufffd",
        text,
    )


class RunProgress:
    """A subscriber that shows how far a session is, and how long it will take."""

    def __init__(self, console: Console) -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
        )
        self._progress = Progress(*columns, console=console, transient=not console.is_terminal)
        self._console = console
        self._task: TaskID | None = None

    def __enter__(self) -> RunProgress:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def __call__(self, event: Event) -> None:
        """Show one event."""
        match event:
            case SessionStarted():
                self._console.print(f"session [bold]{escape(str(event.folder))}[/]", soft_wrap=True)
                print_labels(self._console, labels.of_provenance(event.provenance))
                self._task = self._progress.add_task("queries", total=event.trials * event.queries)
            case SessionResumed():
                stands = (
                    f"goes on: {event.finished} of {event.trials} trials are finished, "
                    f"{event.done} queries of the next are done"
                )
                self._console.print(
                    f"session [bold]{escape(str(event.folder))}[/] {stands}", soft_wrap=True
                )
                print_labels(
                    self._console, labels.of_provenance(SessionFolder(event.folder).provenance())
                )
                done = event.finished * event.queries + event.done
                self._task = self._progress.add_task(
                    "queries", total=event.trials * event.queries, completed=done
                )
            case TrialStarted() | TrialResumed() if self._task is not None:
                self._progress.update(self._task, description=f"trial {event.trial}")
            case StepDone() if self._task is not None and kinds.of(event.done.step).measured:
                self._progress.advance(self._task)
            case TrialFinished():
                for problem in event.trial.problems:
                    self._console.print(
                        f"[red]trial {event.trial.number}: {problem.code}[/] "
                        f"{escape(problem.detail)}",
                        soft_wrap=True,
                    )
            case _:
                return


def print_results(console: Console, results: Results) -> None:
    """Print the table of main metrics, the problems and the verdict."""
    title = f"{results.task}, {results.scenario}, {results.sut}, {results.monitor}"
    marked = results.labels
    # A line of their own: in a narrow terminal none of them is broken.
    title = f"{escape(title)}\n{' '.join(map(_badge, marked))}" if marked else escape(title)
    _print_metrics(console, results, title)
    if clock := results.provenance.device_clock:
        console.print(escape(_unmetered(clock)), soft_wrap=True)
    if results.targets:
        _print_targets(console, results.targets)
    for row in results.resolution:
        if not row.ok:
            console.print(f"[yellow]{escape(_resolution(row))}[/]", soft_wrap=True)
    for problem in results.problems:
        where = escape(f"trial {problem.trial}: {problem.code}")
        console.print(f"[red]{where}[/] {escape(problem.detail)}", soft_wrap=True)
    print_verdict(console, "replication", results.replication, marked)
    if results.audit is not None:
        print_verdict(console, "audit", results.audit, marked)
    _print_lines(console, results.trials)
    if results.coverage is not None:
        _print_coverage(console, results.coverage)


def _print_metrics(console: Console, results: Results, title: str) -> None:
    """Print the main metrics: in a narrow terminal the trials' deviations are a table of their
    own.
    """
    main = {
        name: metric
        for name, metric in results.metrics.items()
        if metric.prominence is not Prominence.DETAIL
    }
    whole = _metrics_table(results, main, title, intervals=True, trials=True)
    if _width(console, whole) <= console.width:
        console.print(whole)
        return
    for table in (
        _metrics_table(results, main, title, intervals=True, trials=False),
        _metrics_table(results, main, "", intervals=False, trials=True),
    ):
        _print_whole(console, table)


def _metrics_table(
    results: Results,
    metrics: Mapping[str, MetricResult],
    title: str,
    *,
    intervals: bool,
    trials: bool,
) -> Table:
    told = [
        "intervals of 95 %: the same samples measured again; other samples of this kind;",
        "SE: s/sqrt(n) over samples",
    ]
    caption = "\n".join(
        (told if intervals else []) + (["1 to n: deviation of each trial, in %"] if trials else [])
    )
    table = Table(
        title=title or None,
        title_justify="left",
        caption=caption,
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    table.caption_justify = "left"
    table.add_column("metric", no_wrap=True)
    if intervals:
        table.add_column("value", justify="right", no_wrap=True)
        table.add_column("", no_wrap=True)
        for heading in ("same samples", "other samples", "SE"):
            table.add_column(heading, justify="right", no_wrap=True)
    for trial in results.trials if trials else ():
        table.add_column(
            str(trial.number),
            justify="right",
            no_wrap=True,
            style="" if trial.valid else "red",
        )
    for name, metric in metrics.items():
        shown = stated(metric)
        told = [
            shown.value,
            shown.unit,
            shown.same_samples,
            shown.other_samples,
            shown.standard_error,
        ]
        table.add_row(
            escape(name),
            *(map(escape, told) if intervals else ()),
            *(_deviations(metric) if trials else ()),
        )
    return table


def _print_lines(console: Console, trials: Sequence[TrialResult]) -> None:
    told = [trial for trial in trials if trial.lines]
    shown = told if all(len(trial.lines) <= _LINES for trial in told) else told[:1]
    for trial in shown:
        for line in trial.lines:
            console.print(f"trial {trial.number}  {escape(line)}", soft_wrap=True, highlight=False)
    if len(shown) < len(told):
        console.print(
            f"the lines of {len(told) - len(shown)} more trials: trial-N/results.txt",
            soft_wrap=True,
        )


def _print_targets(console: Console, rows: Sequence[Compared]) -> None:
    """Print official, best known and measured costs, cell by cell."""
    table = Table(caption=comparison.MEANING, box=SIMPLE_HEAD, pad_edge=False)
    for number, title in enumerate(comparison.HEAD):
        table.add_column(title, justify="left" if number < 2 else "right", no_wrap=True)
    for row in comparison.of_cells(rows):
        table.add_row(*map(escape, comparison.shown(row)))
    _print_whole(console, table)


def _print_coverage(console: Console, coverage: Coverage) -> None:
    """Print how many cells are done, and of each workload that is not whole, what is missing or why
    it failed.
    """
    console.print(
        f"coverage: {coverage.done} cells done, {coverage.failed} failed, "
        f"{coverage.missing} missing"
    )
    for workload in dict.fromkeys(cell.workload for cell in coverage.cells):
        cells = [
            cell for cell in coverage.cells if cell.workload == workload and cell.state != DONE
        ]
        for state in dict.fromkeys(cell.state for cell in cells):
            of_state = [cell for cell in cells if cell.state == state]
            reasons = dict.fromkeys(reason for cell in of_state for reason in cell.failures)
            whats = ", ".join(cell.what for cell in of_state)
            console.print(
                f"  [red]{escape(state)}[/] {escape(': '.join([f'{workload} {whats}', *reasons]))}",
                soft_wrap=True,
            )


def print_coverage(console: Console, cells: Sequence[Covered]) -> None:
    """Print a table of workloads and what is asked of each, then what is not done."""
    whats = list(dict.fromkeys(cell.what for cell in cells))
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    found = {(cell.workload, cell.what): cell for cell in cells}
    for title in ("workload", *whats):
        table.add_column(escape(title), no_wrap=True)
    for workload in dict.fromkeys(cell.workload for cell in cells):
        table.add_row(escape(workload), *(_state(found.get((workload, what))) for what in whats))
    console.print(table)
    _print_coverage(console, Coverage.of(cells))


def _state(cell: Covered | None) -> str:
    if cell is None:
        return ""
    colour = {DONE: "green", FAILED: "red"}.get(cell.state, "yellow")
    count = "" if cell.asked == 1 or not cell.done else f" {cell.done} of {cell.asked}"
    return f"[{colour}]{escape(cell.state)}{count if cell.state != DONE else ''}[/]"


def _unmetered(clock: DeviceClock) -> str:
    return (
        "no energy: there is no monitor; latency is by the device's own clock, which nothing "
        "checks: "
        f"within {clock.limit_ppm:g} ppm ({clock.source})"
    )


def _resolution(row: Resolution) -> str:
    window = quantity(row.window_s, "s")
    width = share(row.energy_u95)
    said = f"{row.phase}: a window of {window} cannot tell 5 %: ±{width}, most of it {row.because}"
    return said + (
        "; no length is enough"
        if row.needed_s is None
        else f"; {quantity(row.needed_s, 's')} are needed"
    )


def print_budget(console: Console, results: Results) -> None:
    """Print the uncertainty budgets side by side: shares of the value, what the scatter contains
    already in brackets.
    """
    title = "standard uncertainty of the same samples, measured again: share of the value"
    table = Table(
        title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False
    )
    budget = budget_table(results)
    table.add_column("component", overflow="fold")
    for column in budget.columns:
        table.add_column(escape(column.name.replace("_", "\n")), justify="right", no_wrap=True)
    telling = [
        (name, cells)
        for name, cells in budget.rows
        if any(cell and cell.relative >= _TELLING for cell in cells)
    ]
    for component, cells in telling:
        table.add_row(escape(component), *(_cell(cell) for cell in cells))
    if len(telling) < len(budget.rows):
        table.caption = (
            "in brackets: contained in the scatter; "
            f"{len(budget.rows) - len(telling)} smaller components not shown"
        )
    combined = [column.standard_uncertainty / column.value for column in budget.columns]
    expanded = [column.expanded_uncertainty / column.value for column in budget.columns]
    table.add_row("[bold]all[/]", *(f"[bold]{share(part)}[/]" for part in combined))
    table.add_row(
        "factor for 95 %", *(f"{column.coverage_factor:.2f}" for column in budget.columns)
    )
    table.add_row("[bold]± (95 %)[/]", *(f"[bold]{share(part)}[/]" for part in expanded))
    if budget.rows:
        console.print(table)


def _cell(cell: BudgetCell | None) -> str:
    if cell is None:
        return ""
    return share(cell.relative) if cell.counted else f"({share(cell.relative)})"


def _deviations(metric: MetricResult) -> list[str]:
    cells = []
    for trial in metric.per_trial:
        if trial.value is None or metric.value is None:
            cells.append("-")
            continue
        away = deviation(trial.value, metric.value, metric.deviation)
        shown = f"{100 * away:+.{1 if abs(away) >= 0.1 else 2}f}"
        cells.append(f"[red]{shown}[/]" if abs(away) > LIMIT else shown)
    return cells


def _width(console: Console, table: Table) -> int:
    return console.measure(table, options=console.options.update(width=_UNBOUND)).maximum


def _print_whole(console: Console, table: Table) -> None:
    """Print a table as wide as it is: in a terminal that is narrower its lines go on below, and no
    number loses a digit.
    """
    whole = console.options.update(width=max(console.width, _width(console, table)))
    console.print(Segments(console.render(table, whole)), crop=False)


def print_verdict(
    console: Console, name: str, verdict: VerdictResult, marked: Sequence[Label]
) -> None:
    """Print a verdict, with what must stand beside it."""
    badge = "[black on green] TRUE [/]" if verdict.ok else "[white on red] FALSE [/]"
    beside = f" [yellow]({escape(labels.texts(marked))})[/]" if marked else ""
    console.print(f"{name} {badge}{beside} {escape(verdict.reason)}".rstrip(), soft_wrap=True)
    console.print(f"  [dim]{escape(verdict.rule)}: {escape(verdict.rule_text)}[/]", soft_wrap=True)


def print_claim(
    console: Console, claim: Claim, verdicts: Mapping[str, VerdictResult], results: Results
) -> None:
    """Print each claimed value beside the mean of the trials, and both verdicts."""
    marked = results.labels
    if claim.labels:
        console.print(
            f"[yellow]the claim is a result of: {escape(', '.join(claim.labels))}[/]",
            soft_wrap=True,
        )
    table = Table(title="the claim", title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for heading in ("metric", "claimed", "mean of the trials", "deviation", "limit"):
        table.add_column(heading, justify="left" if heading == "metric" else "right", no_wrap=True)
    compared = verdicts["replication"].per_metric
    for name, value in claim.values.items():
        row = compared.get(name)
        unit = results.metrics[name].unit if name in results.metrics else ""
        if row is None:
            table.add_row(escape(name), escape(quantity(value, unit)), "-", "-", "-")
            continue
        colour = "" if row.ok else "red"
        away = f"{100 * row.deviation:+.2f} %"
        cells = (
            quantity(value, unit),
            quantity(row.mean, unit),
            away,
            f"{100 * row.limit:.0f} %",
        )
        table.add_row(escape(name), *map(escape, cells), style=colour)
    _print_whole(console, table)
    for name, verdict in verdicts.items():
        print_verdict(console, name, verdict, marked)


def print_labels(console: Console, marked: Sequence[Label]) -> None:
    """Print each label with the sentence that says what it means."""
    for label in marked:
        console.print(f"{_badge(label)} {escape(label.statement)}", soft_wrap=True, highlight=False)


def _badge(label: Label) -> str:
    return f"[black on yellow] {escape(label.text)} [/]"


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


def print_error(console: Console, error: RigError) -> None:
    """Print cause, evidence and what to try, and what went wrong after it."""
    cause, *rest = str(error).split("\n")
    rest += [f"and then: {note}" for note in getattr(error, "__notes__", ())]
    console.print(f"[bold red]error[/] {escape(cause)}", soft_wrap=True)
    for line in rest:
        console.print(f"  {escape(line)}", soft_wrap=True)


def print_rows(console: Console, title: str, rows: Sequence[tuple[str, str]]) -> None:
    """Print a list with a title."""
    console.print(f"[bold]{escape(title)}[/]")
    for name, text in rows:
        console.print(f"  {escape(name):<20} {escape(text)}", soft_wrap=True)
