# SPDX-License-Identifier: Apache-2.0
"""Printed verdicts with their scope, and a claim next to the measured values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console

from rig.cli.printed.terminal import borderless_table, escape, print_line, print_table
from rig.results import judging, labels, replication, verdict
from rig.results.claim import Claim
from rig.results.document import MetricResult, Results, VerdictResult
from rig.results.labels import Label
from rig.results.verdict import Outcome
from rig.units import quantity

BADGES = {
    Outcome.PASS: "[black on green] PASS [/]",
    Outcome.FAIL: "[white on red] FAIL [/]",
    Outcome.NOT_TESTED: "[black on yellow] NOT TESTED [/]",
    Outcome.INVALID: "[white on red] INVALID [/]",
}
#: Number of reasons in a line why metrics were not tested.
_REASONS = 3


def print_verdict(
    console: Console, name: str, result: VerdictResult, marked: Sequence[Label]
) -> None:
    """Print a verdict with its scope, its reason, and what must stand beside it."""
    beside = f" [yellow]({escape(labels.texts(marked))})[/]" if marked else ""
    about = (
        f" for {result.scope}" if result.scope and result.judged is Outcome.PASS else ""
    )
    reason = f": {result.reason}" if result.reason else ""
    badge = BADGES[result.judged]
    line = f"{name} {badge}{escape(about)}{beside}{escape(reason)}"
    print_line(console, line, 2)
    for text in _remarks(result):
        print_line(console, f"  [dim]{escape(text)}[/]", 4)


def _remarks(result: VerdictResult) -> list[str]:
    lines = []
    if result.not_tested and result.judged is not Outcome.NOT_TESTED:
        lines.append(f"not tested: {_few_reasons(result)}")
    if result.drawn and result.judged is Outcome.PASS:
        times = judging.noticeable(result.drawn)
        if times is not None:
            lines.append(
                f"would have noticed a claim that is {times:.2g} times too good"
            )
    lines += [f"{name}: {test.assumed}" for name, test in _first_assumed(result)]
    if result.interleaved is not None:
        lines.append(f"interleaved: {result.interleaved}")
    return lines


def _first_assumed(
    result: VerdictResult,
) -> list[tuple[str, verdict.DrawnVerdict]]:
    """Return the first metric for which each assumption was made."""
    seen: dict[str, tuple[str, verdict.DrawnVerdict]] = {}
    for name, test in result.drawn.items():
        if test.assumed:
            seen.setdefault(test.assumed, (name, test))
    return list(seen.values())


def _few_reasons(result: VerdictResult) -> str:
    grouped = verdict.reasons(result.not_tested)
    shown = [
        f"{len(names)} ({reason})" for reason, names in list(grouped.items())[:_REASONS]
    ]
    left = len(grouped) - len(shown)
    return "; ".join(shown) + (f"; {left} more reasons, with --explain" if left else "")


def print_explained(console: Console, verdicts: Mapping[str, VerdictResult]) -> None:
    """Print the words of each rule, the policy, and every metric that was not
    tested."""
    for name, result in verdicts.items():
        line = f"{name}, rule {result.rule}: {result.rule_text}."
        print_line(console, escape(line), 2)
    print_line(console, f"policy: {escape(replication.POLICY)}", 2)
    for name, result in verdicts.items():
        for reason, metrics in verdict.reasons(result.not_tested).items():
            line = f"{name} does not test {', '.join(metrics)}: {reason}."
            print_line(console, escape(line), 2)


def print_claim(
    console: Console,
    claim: Claim,
    verdicts: Mapping[str, VerdictResult],
    results: Results,
) -> None:
    """Print the verdicts, and each claimed value next to the measured one."""
    marked = results.labels
    if claim.labels:
        line = f"the claim is a result of: {', '.join(claim.labels)}"
        print_line(console, f"[yellow]{escape(line)}[/]", 2)
    for name, result in verdicts.items():
        print_verdict(console, name, result, marked)
    table = borderless_table()
    for heading in (" metric", "claimed", "measured", "deviation", "limit"):
        table.add_column(
            heading, justify="left" if heading == " metric" else "right", no_wrap=True
        )
    for name, value in claim.values.items():
        cells, failed = _cells(name, value, verdicts, results.metrics.get(name))
        table.add_row(
            f" {escape(name)}", *map(escape, cells), style="red" if failed else ""
        )
    print_table(console, table)


def _cells(
    name: str,
    claimed: float,
    verdicts: Mapping[str, VerdictResult],
    metric: MetricResult | None,
) -> tuple[tuple[str, ...], bool]:
    """Return the cells of a claimed metric after its name, and whether a rule refuses
    it.
    """
    compared = next(iter(verdicts.values()))
    unit = metric.unit if metric is not None else ""
    value = quantity(claimed, unit)
    if (test := compared.drawn.get(name)) is not None:
        chance = f"chance {test.chance:.2g}"
        away = f"{100 * test.deviation:+.2f} %, {chance}"
        limit = f"chance {test.limit:.2g}" if test.limit else "-"
        return (value, quantity(test.mean, unit), away, limit), not test.ok
    if (row := compared.per_metric.get(name)) is not None:
        away = f"{100 * row.deviation:+.2f} %"
        limit = f"{100 * row.limit:.0f} %"
        return (value, quantity(row.mean, unit), away, limit), not row.ok
    measured = (
        quantity(metric.value, unit) if metric and metric.value is not None else "-"
    )
    return (value, measured, "not tested" if metric else "-", "-"), False
