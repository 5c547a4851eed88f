# SPDX-License-Identifier: Apache-2.0
"""`rig results`: metrics of many sessions in one table, or one metric over time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.table import Table

from rig.cli.options import EXISTING_FOLDER, FILE, refuse_idle, to_write
from rig.cli.printed.labels import badge
from rig.cli.printed.terminal import (
    Terminal,
    borderless_table,
    escape,
    print_line,
    print_table,
)
from rig.results.labels import Label

if TYPE_CHECKING:
    from rich.console import JustifyMethod

    from rig.api.archive.results_table import TableRow
    from rig.results.stated import Notes

_COMMIT = 10
_DATE = 16


@click.command()
@click.argument(
    "places",
    metavar="SESSIONS...",
    nargs=-1,
    required=True,
    type=EXISTING_FOLDER,
)
@click.option(
    "--metric", "metrics", multiple=True, metavar="NAME", help="Show this metric."
)
@click.option("--all", "everything", is_flag=True, help="Show all metrics.")
@click.option(
    "--history",
    metavar="METRIC",
    default="",
    help="Show one metric over time, with the commit of each session.",
)
@click.option(
    "--picture",
    type=FILE,
    callback=to_write,
    metavar="FILE",
    help="Draw the history: .svg or .png.",
)
@click.option(
    "--csv", type=FILE, callback=to_write, metavar="FILE", help="Write the table."
)
@click.option(
    "--parquet",
    type=FILE,
    callback=to_write,
    metavar="FILE",
    help="Write the table; needs pyarrow.",
)
def results(
    places: tuple[Path, ...],
    metrics: tuple[str, ...],
    everything: bool,
    history: str,
    picture: Path | None,
    csv: Path | None,
    parquet: Path | None,
) -> None:
    """Show metrics of sessions, or of folders of sessions, in one table: value, 95 %
    interval, device, monitor, labels. A history has a table for each bench, device,
    monitor, task and scenario, as those of two are no values of one quantity.

    The headline metrics are shown, or those that --metric names. Intervals are those
    for the same samples measured again, of shares for other samples. The files have
    both, in SI units.
    """
    # Imported here: the help does without numpy.
    from rig.api.archive import results_table as tables
    from rig.api.archive.series import by_series

    if history:
        refuse_idle("beside --history", "metrics", "everything")
    else:
        refuse_idle("without --history", "picture")
    out = Terminal()
    sessions = tables.collect(places)
    names = [history] if history else metrics
    found = tables.rows(sessions, names, every=everything)
    _print_labels(out, found)
    if history:
        for series, rows in by_series(found).items():
            print_line(
                out, f" [bold]{escape(series.title)}[/], {escape(series.about)}", 3
            )
            _print_rows(out, rows, _OF_HISTORY)
            out.print()
    else:
        _print_rows(out, found, _OF_SESSIONS, "with --csv")
    for session in sessions:
        if session.results is None:
            told = f"{session.listed.name} has no results: {session.listed.outcome}"
            print_line(out, f" [yellow]{escape(told)}[/]", 1)
    if csv is not None:
        tables.write_csv(csv, found)
    if parquet is not None:
        tables.write_parquet(parquet, found)
    if picture is not None:
        from rig.api.archive.history_picture import save

        save(picture, history, found)
    for path in filter(None, (csv, parquet, picture)):
        print_line(out, f" wrote {escape(str(path))}", 7)


#: Columns of the table, and of a history; the widest form first.
_OF_SESSIONS = (
    ("session", "device", "monitor", "metric", "value", "interval", "outcome"),
    ("session", "metric", "value", "interval", "outcome"),
    ("session", "metric", "value", "interval"),
    ("session", "metric", "value"),
)
_OF_HISTORY = (
    ("date", "commit", "value", "interval", "against", "outcome"),
    ("date", "commit", "value", "interval", "against"),
    ("date", "value", "interval", "against"),
    ("date", "value", "interval"),
)
_RIGHT = ("value",)
#: Columns of texts, whose cells take several lines in tables of few columns.
_FOLDED = ("against", "outcome")
_NARROW = 4


def _print_rows(
    out: Terminal,
    found: Sequence[TableRow],
    forms: Sequence[Sequence[str]],
    also: str = "",
) -> None:
    print_table(out, *(_table(found, form) for form in forms), also=also)


def _table(found: Sequence[TableRow], columns: Sequence[str]) -> Table:
    from rig.results.stated import INTERVALS, Notes

    notes = Notes()
    table = borderless_table()
    for head in columns:
        name = _HEADS.get(head, head)
        side: JustifyMethod = "right" if head in _RIGHT else "left"
        shown = f" {name}" if head == columns[0] else name
        folds = len(columns) <= _NARROW and head in _FOLDED
        table.add_column(shown, justify=side, no_wrap=not folds)
    before: TableRow | None = None
    for each in found:
        cells = _cells(each, before, notes)
        first, *others = (escape(cells[head]) for head in columns)
        table.add_row(f" {first}", *others)
        if each.session.counts:
            before = each
    lines = [f" {INTERVALS}"] if "interval" in columns else []
    lines += notes.lines
    table.caption = "\n".join(map(escape, lines)) or None
    table.caption_justify = "left"
    return table


_HEADS = {"interval": "95 % interval", "against": "against the one before"}


def _cells(each: TableRow, before: TableRow | None, notes: Notes) -> dict[str, str]:
    from rig.results.stated import shown_interval, stated

    row = each.row
    text = stated(each.metric)
    interval = shown_interval(each.metric)
    return {
        "session": row.session,
        "device": row.device,
        "monitor": row.monitor,
        "metric": row.metric,
        "value": f"{text.value} {text.unit}".rstrip(),
        "interval": notes.cell(interval, each.metric.value, text.factor),
        "outcome": row.outcome,
        "date": row.created_utc[:_DATE].replace("T", " "),
        "commit": row.commit[:_COMMIT],
        "against": _against(each, before),
    }


def _against(each: TableRow, before: TableRow | None) -> str:
    """State whether the interval meets that of the session before, of the last one
    whose numbers are results.
    """
    from rig.api.archive.results_table import numbers_of

    if before is None or not each.session.counts:
        return ""
    value, low, high = numbers_of(each.metric)
    earlier, earlier_low, earlier_high = numbers_of(before.metric)
    if low > earlier_high or high < earlier_low:
        return f"{(value - earlier) / abs(earlier):+.2%}" if earlier else "differs"
    return "no difference shown"


def _print_labels(out: Terminal, found: Sequence[TableRow]) -> None:
    """Print each label with the number of sessions that have it."""
    sessions = {each.row.session: each.session for each in found}
    having: dict[str, list[str]] = {}
    for name, session in sessions.items():
        for label in session.labels:
            having.setdefault(label.text, []).append(name)
    for text, names in having.items():
        is_in_all = len(names) == len(sessions)
        place = "every session" if is_in_all else ", ".join(names)
        print_line(out, f"{badge(Label(text, ''))} {escape(place)}", 2)
