# SPDX-License-Identifier: Apache-2.0
"""The table of a campaign: a line for each combination of values."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from rich.table import Table

from rig.api.campaign import table as tables
from rig.api.campaign.grid import Grid
from rig.api.campaign.table import CampaignRow
from rig.cli.printed.labels import badge_lines
from rig.cli.printed.terminal import (
    Terminal,
    borderless_table,
    escape,
    print_line,
    print_table,
    table_width,
)
from rig.results.document import MetricResult
from rig.results.stated import INTERVALS, Notes, beside, shown_interval, stated

_SEVERAL = (
    "all of 95 %: a session's own; of several sessions, that of their mean, with the"
    " errors of the instruments whole"
)


def print_rows(
    console: Terminal, grid: Grid, campaign_rows: Sequence[CampaignRow]
) -> None:
    """Print the rows with their labels: in a terminal that is too narrow a table for
    each few metrics.
    """
    for line in badge_lines(tables.labels_of(campaign_rows), console.width, 1):
        print_line(console, line, 1)
    notes = Notes()
    names = tables.metric_names(campaign_rows)
    while True:
        count = max(len(names), 1)
        drawn = _table(grid, campaign_rows, names[:count], notes)
        while console.is_terminal and count > 1:
            if table_width(console, drawn) <= console.width:
                break
            count -= 1
            drawn = _table(grid, campaign_rows, names[:count], notes)
        print_table(console, drawn)
        names = names[count:]
        if not names:
            break
        console.print()
    for line in (INTERVALS, _SEVERAL):
        print_line(console, escape(line), 2)
    of_rows = chain.from_iterable(row.notes for row in campaign_rows)
    for line in (*notes.lines, *of_rows):
        print_line(console, escape(line), 2)


def _table(
    grid: Grid, campaign_rows: Sequence[CampaignRow], names: Sequence[str], notes: Notes
) -> Table:
    table = borderless_table()
    for head in _heads(grid):
        table.add_column(f" {escape(head)}" if not table.columns else escape(head))
    table.add_column("done" if grid.axes else " done", justify="right", no_wrap=True)
    for name in names:
        table.add_column(escape(name), justify="right", no_wrap=True)
    marks = list(map(_marks, campaign_rows))
    measured = zip(marks, campaign_rows, strict=True)
    has_marks = len({mark for mark, row in measured if row.sessions}) > 1
    if has_marks:
        table.add_column("labels")
    for row, mark in zip(campaign_rows, marks, strict=True):
        cells = [_short(row.values[axis.name]) for axis in grid.axes]
        cells.append(f"{len(row.sessions)}/{row.repetitions}")
        cells += [_metric(row.metrics.get(name), notes) for name in names]
        cells[0] = f" {cells[0]}"
        if has_marks:
            cells.append(mark)
        table.add_row(*map(escape, cells))
    return table


def _marks(row: CampaignRow) -> str:
    return ", ".join(label.text for label in row.labels)


def _heads(grid: Grid) -> list[str]:
    """Return the axes by the last part of their names, where that is one axis's."""
    names = [axis.name for axis in grid.axes]
    last = [name.rpartition(".")[2] for name in names]
    return [
        short if last.count(short) == 1 else name
        for name, short in zip(names, last, strict=True)
    ]


def _short(value: object) -> str:
    text = str(value)
    return text.rpartition("/")[2] if isinstance(value, str) else text


def _metric(metric: MetricResult | None, notes: Notes) -> str:
    if metric is None:
        return "-"
    shown = stated(metric)
    interval = beside(shown_interval(metric), metric.value, shown.factor, notes)
    return " ".join(filter(None, (shown.value, interval, shown.unit)))
