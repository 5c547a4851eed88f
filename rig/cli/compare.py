# SPDX-License-Identifier: Apache-2.0
"""`rig compare`: two sessions side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from rig.api.comparing.comparison import MetricPair, Outcome, SessionComparison
from rig.api.comparing.comparison import compare as compare_sessions
from rig.api.comparing.provenance_changes import Change
from rig.api.comparing.text import difference_text, spread_text, value_text
from rig.api.sessions.session import open_session
from rig.cli.labels import of_session, print_labels
from rig.cli.terminal import Terminal, print_whole
from rig.model.metric import Prominence

_COLOURS = {Outcome.DIFFERS: "bold", Outcome.IF_UNCHANGED: "yellow", Outcome.UNKNOWN: "dim"}
_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@click.command()
@click.argument("first", type=_FOLDER)
@click.argument("second", type=_FOLDER)
@click.option("--all", "everything", is_flag=True, help="Show details and ordinary changes too.")
def compare(first: Path, second: Path, everything: bool) -> None:
    """Compare the metrics of two sessions, and how they came about.

    The uncertainty of a difference is given twice: as if the sessions had nothing in common, and as
    if the instrument that both used had not changed at all.
    """
    out = Terminal()
    found = compare_sessions(open_session(first), open_session(second))
    for letter, path in (("A", first), ("B", second)):
        out.print(f"[bold]{letter}[/] {escape(str(path))}", soft_wrap=True, highlight=False)
        print_labels(out, of_session(path))
    for note in found.notes:
        out.print(f"note: {escape(note)}", soft_wrap=True, highlight=False)
    pairs = [pair for pair in found.metrics if everything or _prominence(pair)]
    if pairs:
        print_whole(out, _metrics(pairs, found))
    changed = [change for change in found.changes if everything or not change.ordinary]
    if changed:
        print_whole(out, _changes(changed))
    else:
        out.print("nothing differs in how they came about")


def _prominence(pair: MetricPair) -> bool:
    rows = [row for row in (pair.first, pair.second) if row is not None]
    return any(row.prominence is not Prominence.DETAIL for row in rows)


def _metrics(pairs: Sequence[MetricPair], found: SessionComparison) -> Table:
    table = Table(box=SIMPLE_HEAD, title="B less A, with its uncertainty at 95 %")
    table.add_column("metric", no_wrap=True)
    for head in ("A", "B", "B - A", "±"):
        table.add_column(head, justify="right", no_wrap=True)
    if found.shared_rails:
        table.add_column("± if unchanged", justify="right", no_wrap=True)
    table.add_column("outcome", no_wrap=True)
    for pair in pairs:
        colour = _COLOURS.get(pair.outcome, "default")
        cells = [
            pair.name,
            value_text(pair, pair.first),
            value_text(pair, pair.second),
            difference_text(pair),
            spread_text(pair, pair.apart),
        ]
        if found.shared_rails:
            cells.append(spread_text(pair, pair.shared))
        table.add_row(*map(escape, cells), f"[{colour}]{escape(pair.outcome.value)}[/]")
    return table


def _changes(changed: Sequence[Change]) -> Table:
    table = Table(box=SIMPLE_HEAD, title="what differs in how they came about")
    for head in ("key", "A", "B"):
        table.add_column(head, overflow="fold", max_width=60)
    for change in changed:
        table.add_row(*map(escape, (change.path, change.before, change.after)))
    return table
