# SPDX-License-Identifier: Apache-2.0
"""The results of a session: metrics, problems, verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from rig.cli.printed.coverage_table import print_states
from rig.cli.printed.labels import badge
from rig.cli.printed.terminal import escape, print_whole, table_width
from rig.cli.printed.verdicts import print_verdict
from rig.model import comparison
from rig.model.comparison import Compared
from rig.model.metric import Prominence
from rig.network import complexity_text
from rig.results import complexity, origins
from rig.results.document import MetricResult, Results, TrialResult
from rig.results.replication import LIMIT, deviation
from rig.results.resolution import Resolution
from rig.results.stated import Notes, stated
from rig.store.provenance_file import DeviceClock
from rig.units import quantity, share

#: More lines than this are shown of one trial only.
_LINES = 5
_INTERVALS = (
    "intervals of 95 %: the same samples measured again; other samples of this kind;\n"
    "SE: s/sqrt(n) over samples"
)


def print_results(console: Console, results: Results) -> None:
    """Print the table of main metrics, the problems and the verdict."""
    title = f"{results.task}, {results.scenario}, {results.sut}, {results.monitor}"
    title += f"\n{origins.of_facts(results.provenance.stored)}"
    marked = results.labels
    # A line of their own: in a narrow terminal none of them is broken.
    title = (
        f"{escape(title)}\n{' '.join(map(badge, marked))}" if marked else escape(title)
    )
    _print_metrics(console, results, title)
    if network := complexity.of_facts(results.provenance.stored):
        console.print(
            escape(complexity_text.sentence(network)), soft_wrap=True, highlight=False
        )
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
        print_states(console, results.coverage)


def _print_metrics(console: Console, results: Results, title: str) -> None:
    """Print the main metrics: in a narrow terminal the trials' deviations are a table
    of their own.
    """
    main = {
        name: metric
        for name, metric in results.metrics.items()
        if metric.prominence is not Prominence.DETAIL
    }
    whole = _metrics_table(results, main, title, intervals=True, trials=True)
    if table_width(console, whole) <= console.width:
        console.print(whole)
        return
    values = _metrics_table(results, main, title, intervals=True, trials=False)
    deviations = _metrics_table(results, main, "", intervals=False, trials=True)
    print_whole(console, values)
    print_whole(console, deviations)


def _metrics_table(
    results: Results,
    metrics: Mapping[str, MetricResult],
    title: str,
    *,
    intervals: bool,
    trials: bool,
) -> Table:
    table = Table(
        title=title or None,
        title_justify="left",
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
        style = "" if trial.valid else "red"
        table.add_column(str(trial.number), justify="right", no_wrap=True, style=style)
    notes = Notes()
    for name, metric in metrics.items():
        cells = [escape(name)]
        if intervals:
            cells += map(escape, _interval_cells(metric, notes))
        if trials:
            cells += _deviations(metric, name in results.replication.per_metric)
        table.add_row(*cells)
    captions = [_INTERVALS] if intervals else []
    if trials:
        captions.append("1 to n: deviation of each trial, in %")
    table.caption = "\n".join([*captions, *map(escape, notes.lines)])
    return table


def _interval_cells(metric: MetricResult, notes: Notes) -> list[str]:
    """Format the value and its intervals; long reasons become notes."""
    shown = stated(metric)
    same = notes.cell(metric.same_samples, metric.value, shown.factor)
    other = notes.cell(metric.other_samples, metric.value, shown.factor)
    return [shown.value, shown.unit, same, other, shown.standard_error]


def _print_lines(console: Console, trials: Sequence[TrialResult]) -> None:
    with_lines = [trial for trial in trials if trial.lines]
    shown = (
        with_lines
        if all(len(trial.lines) <= _LINES for trial in with_lines)
        else with_lines[:1]
    )
    for trial in shown:
        for line in trial.lines:
            console.print(
                f"trial {trial.number}  {escape(line)}", soft_wrap=True, highlight=False
            )
    if len(shown) < len(with_lines):
        console.print(
            f"the lines of {len(with_lines) - len(shown)} more trials:"
            " trial-N/results.txt",
            soft_wrap=True,
        )


def _print_targets(console: Console, rows: Sequence[Compared]) -> None:
    """Print official, best known and measured costs, cell by cell."""
    table = Table(caption=comparison.MEANING, box=SIMPLE_HEAD, pad_edge=False)
    for number, title in enumerate(comparison.HEAD):
        table.add_column(title, justify="left" if number < 2 else "right", no_wrap=True)
    for row in comparison.of_cells(rows):
        table.add_row(*map(escape, comparison.shown(row)))
    print_whole(console, table)


def _unmetered(clock: DeviceClock) -> str:
    return (
        "no energy: there is no monitor; latency is by the device's own clock, which"
        f" nothing checks: within {clock.limit_ppm:g} ppm ({clock.source})"
    )


def _resolution(row: Resolution) -> str:
    window = quantity(row.window_s, "s")
    width = share(row.energy_u95)
    line = (
        f"{row.phase}: a window of {window} does not resolve 5 %: ±{width}, "
        f"most of it {row.because}"
    )
    return line + (
        "; no length is enough"
        if row.needed_s is None
        else f"; about {quantity(row.needed_s, 's')} are needed"
    )


def _deviations(metric: MetricResult, limited: bool) -> list[str]:
    """Return the deviation of each trial; red beyond the limit, where the rule compares
    it."""
    cells = []
    for trial in metric.per_trial:
        if trial.value is None or metric.value is None:
            cells.append("-")
            continue
        away = deviation(trial.value, metric.value, metric.deviation)
        shown = f"{100 * away:+.{1 if abs(away) >= 0.1 else 2}f}"
        cells.append(f"[red]{shown}[/]" if limited and abs(away) > LIMIT else shown)
    return cells
