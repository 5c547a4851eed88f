# SPDX-License-Identifier: Apache-2.0
"""The results of a session on one screen: the verdict first, then the numbers that
matter."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from rich.console import Console
from rich.table import Table

from rig.cli.printed.labels import badge_lines
from rig.cli.printed.terminal import borderless_table, escape, print_whole
from rig.cli.printed.verdicts import BADGES
from rig.model.metric import Prominence, Statistic
from rig.problems import SEE
from rig.results import judging, off_trial, verdict
from rig.results.document import IntervalResult, MetricResult, Results, VerdictResult
from rig.results.replication import LIMIT, TRIALS, deviation
from rig.results.stated import INTERVALS, Notes, stated
from rig.results.verdict import Outcome
from rig.units import plural, share

#: With the other lines a screen of 24 is full. Where a session has more metrics, the
#: headlines are shown, the first ones where these are more.
_ROWS = 11
#: Problems, and windows that are too short, of each so many.
_PROBLEMS = 3
_INDENT = " " * 7


def print_summary(
    console: Console, results: Results, folder: Path, report: Path
) -> None:
    """Print the verdict with its reason, the labels, the headline metrics, and what to
    do next."""
    for line in _verdict(results, console.width):
        console.print(line, highlight=False, soft_wrap=True)
    console.print()
    if results.outcome is Outcome.INVALID:
        # Numbers of invalid trials are no results; --wide has them.
        lines = _problems(results, console.width)
    else:
        notes = Notes()
        print_whole(console, _table(results, notes))
        lines = [*(f" {line}" for line in notes.lines), *_remarks(results, folder)]
    for line in lines:
        console.print(escape(line), highlight=False, soft_wrap=True)
    for name, text in (("report", str(report)), ("next", _next(results, folder))):
        console.print(
            f" [bold]{name:<7}[/]{escape(text)}", soft_wrap=True, highlight=False
        )


def _verdict(results: Results, width: int) -> list[str]:
    """Return the badge with reason and title, further reasons, and the labels."""
    first, *further = reasons(results)
    what = f"{results.task}, {results.scenario}"
    line_width = max(width - len(_INDENT) - len(what) - 2, 30)
    lines = textwrap.wrap(first, line_width) or [""]
    plain = f" {results.outcome.upper()} "
    room = width - len(plain) - 1 - len(lines[0]) - len(what)
    lines_shown = [
        f"{BADGES[results.outcome]}"
        f" {escape(lines[0])}{' ' * max(room, 1)}[dim]{escape(what)}[/]"
    ]
    lines_shown += [f"{_INDENT}{escape(line)}" for line in (*lines[1:], *further)]
    return lines_shown + badge_lines(results.labels, width)


def reasons(results: Results) -> list[str]:
    """Return the reasons of the outcome, one or more lines."""
    replication = results.replication
    if results.outcome is Outcome.INVALID:
        bad = [trial.number for trial in results.trials if not trial.valid]
        return [f"{len(bad)} of {len(results.trials)} trials {_is(bad)} no measurement"]
    if results.outcome is Outcome.NOT_TESTED:
        return [replication.reason]
    if results.outcome is Outcome.FAIL:
        odd = off_trial.find(results)
        return odd.lines if odd else [replication.reason, *_audit(results)]
    units = {name: metric.unit for name, metric in results.metrics.items()}
    covered = verdict.covered((*replication.per_metric, *replication.drawn), units)
    left = verdict.left_out(replication.not_tested)
    claimed = (
        "the claim holds"
        if results.audit
        else f"{replication.trials} trials agree within 5 %"
    )
    more = [f"{left}: {_most(replication)}"] if left else []
    return [f"{claimed} on {covered}", *_audit(results), *more]


def _audit(results: Results) -> list[str]:
    return [f"audit {results.audit.judged.upper()}"] if results.audit else []


def _most(result: VerdictResult) -> str:
    """Return the most frequent reason why metrics were not tested, without its
    consequence.
    """
    first = next(iter(verdict.reasons(result.not_tested)), "no rule is about them")
    return judging.reason_alone(first)


def _is(trials: Sequence[int]) -> str:
    return "is" if len(trials) == 1 else "are"


def shown(results: Results) -> dict[str, MetricResult]:
    """Return the metrics that a screen has room for."""
    main = {
        name: metric
        for name, metric in results.metrics.items()
        if metric.prominence is not Prominence.DETAIL
    }
    if len(main) <= _ROWS:
        return main
    headlines = {
        name: metric
        for name, metric in main.items()
        if metric.prominence is Prominence.HEADLINE
    }
    return dict(islice(headlines.items(), _ROWS))


def _table(results: Results, notes: Notes) -> Table:
    table = borderless_table()
    table.add_column(" metric", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("95 % interval", justify="right", no_wrap=True)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("farthest trial", justify="right", no_wrap=True)
    rows = shown(results)
    for name, metric in rows.items():
        told = stated(metric)
        interval, words = _interval(metric)
        text = notes.cell(interval, metric.value, told.factor)
        cells = map(escape, (told.value, told.unit, text, words))
        away = _farthest(metric, name in results.replication.per_metric)
        style = "bold" if metric.prominence is Prominence.HEADLINE else ""
        table.add_row(f" {escape(name)}", *cells, away, style=style)
    return table


def _interval(metric: MetricResult) -> tuple[IntervalResult, str]:
    """Return the interval that is shown, and its half-width as a share of the value: of
    the same samples measured again, and of a share of samples that of other ones.
    """
    if metric.statistic is Statistic.SHARE:
        return metric.other_samples, ""
    same = metric.same_samples
    if same.expanded_uncertainty is None or not metric.value:
        return same, ""
    return same, f"({share(same.expanded_uncertainty / abs(metric.value))})"


def _farthest(metric: MetricResult, limited: bool) -> str:
    """Return how far the farthest trial lies from the mean; red where the rule refuses
    it. One trial has no distance.
    """
    unknown = any(trial.value is None for trial in metric.per_trial)
    if metric.value is None or unknown or len(metric.per_trial) < 2:
        return "-"
    values = [trial.value for trial in metric.per_trial if trial.value is not None]
    away = [abs(deviation(each, metric.value, metric.deviation)) for each in values]
    farthest = max(away, default=math.nan)
    text = share(farthest) if math.isfinite(farthest) else "-"
    return f"[red]{text}[/]" if limited and farthest > LIMIT else text


def _remarks(results: Results, folder: Path) -> list[str]:
    """Return the remarks that a reader needs about the numbers above."""
    rows = shown(results)
    more = sum(
        metric.prominence is not Prominence.DETAIL
        for metric in results.metrics.values()
    )
    lines = [f" {INTERVALS}"] if rows else []
    if len(rows) < more:
        cut = plural(more - len(rows), "more metric")
        lines.append(f" {cut}: rig results {folder} --all")
    lines += _failures(results)
    if largest := _largest(rows):
        lines.append(f" {largest}")
    if clock := results.provenance.device_clock:
        lines.append(
            " no monitor, no energy: latency by the device's own clock, within "
            f"{clock.limit_ppm:g} ppm"
        )
    return [*lines, *_unresolved(results)]


def _unresolved(results: Results) -> list[str]:
    """Return which windows do not resolve 5 %: those that are too short, and those of
    which no length is enough.
    """
    coarse = [row for row in results.resolution if not row.ok]
    short = [row.phase for row in coarse if row.needed_s is not None]
    never = [row for row in coarse if row.needed_s is None]
    lines = []
    if short:
        lines.append(
            f" windows too short to resolve 5 %: {', '.join(short[:_PROBLEMS])}"
            " (--wide states the length that is enough)"
        )
    if never:
        names = ", ".join(row.phase for row in never[:_PROBLEMS])
        causes = ", ".join(dict.fromkeys(row.because for row in never[:_PROBLEMS]))
        lines.append(f" windows of no length resolve 5 %: {names} ({causes})")
    return lines


def _failures(results: Results) -> list[str]:
    """Return why workloads failed, the first of them; with the cells, where others of
    the workload did not fail so.
    """
    cells = results.coverage.cells if results.coverage else ()
    asked = Counter(cell.workload for cell in cells)
    whats: dict[tuple[str, str], list[str]] = {}
    for cell in cells:
        for reason in dict.fromkeys(cell.failures):
            whats.setdefault((cell.workload, reason), []).append(cell.what)
    lines = []
    for (workload, reason), names in list(whats.items())[:_PROBLEMS]:
        is_whole = len(names) == asked[workload]
        where = workload if is_whole else f"{workload} {', '.join(names)}"
        lines.append(f" {where}: {reason}")
    if (left := len(whats) - _PROBLEMS) > 0:
        lines.append(f" {plural(left, 'more failure')}: in the report")
    return lines


def _problems(results: Results, width: int) -> list[str]:
    """Return the first problems, each in as many lines as it needs."""
    lines = []
    for problem in results.problems[:_PROBLEMS]:
        text = f"trial {problem.trial}: {problem.code}: {problem.detail}"
        lines += textwrap.wrap(
            text, width - 3, initial_indent=" ", subsequent_indent="   "
        )
    if (left := len(results.problems) - _PROBLEMS) > 0:
        lines.append(f" {left} more problems: in the report")
    rows = {SEE[problem.code] for problem in results.problems if problem.code in SEE}
    for row in sorted(rows)[:_PROBLEMS]:
        lines.append(f" see: rig docs {row}")
    return lines


def _largest(metrics: dict[str, MetricResult]) -> str:
    """Return which component is most of the uncertainty of the last metric that has a
    budget: the one that is made of the others.
    """
    for name, metric in reversed(metrics.items()):
        counted = [part for part in metric.budget if part.counted]
        if (
            not metric.budget_shown
            or not counted
            or metric.prominence is not Prominence.HEADLINE
        ):
            continue
        variances = {part.component: part.standard_uncertainty**2 for part in counted}
        component = max(variances, key=lambda each: variances[each])
        whole = sum(variances.values())
        if whole > 0:
            part = variances[component] / whole
            return (
                f"{name}: {100 * part:.0f} % of the variance of its uncertainty is"
                f" {component}"
            )
    return ""


def _next(results: Results, folder: Path) -> str:
    if results.outcome is Outcome.PASS:
        return f"rig check {folder}"
    if results.outcome is Outcome.NOT_TESTED and len(results.trials) < TRIALS:
        return f"the same with --trials {TRIALS}, as the rule asks for"
    if not results.provenance.monitors:
        return f"rig report {folder}"
    return f"rig view {folder}"
