# SPDX-License-Identifier: Apache-2.0
"""Verdicts, and a claim beside what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from rig.cli.printed.terminal import escape, print_whole
from rig.results import labels
from rig.results.claim import Claim
from rig.results.document import Results, VerdictResult
from rig.results.labels import Label
from rig.units import quantity


def print_verdict(
    console: Console, name: str, verdict: VerdictResult, marked: Sequence[Label]
) -> None:
    """Print a verdict, with what must stand beside it."""
    badge = "[black on green] TRUE [/]" if verdict.ok else "[white on red] FALSE [/]"
    beside = f" [yellow]({escape(labels.texts(marked))})[/]" if marked else ""
    console.print(f"{name} {badge}{beside} {escape(verdict.reason)}".rstrip(), soft_wrap=True)
    console.print(f"  [dim]{escape(verdict.rule)}: {escape(verdict.rule_text)}[/]", soft_wrap=True)
    if verdict.interleaved is not None:
        console.print(f"  [dim]interleaved: {escape(verdict.interleaved)}[/]", soft_wrap=True)


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
    compared = next(iter(verdicts.values())).per_metric
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
    print_whole(console, table)
    for name, verdict in verdicts.items():
        print_verdict(console, name, verdict, marked)
