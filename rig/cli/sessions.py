# SPDX-License-Identifier: Apache-2.0
"""`rig sessions`: the sessions of a folder, searched and tagged."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from rig.api.archive import listing, tags
from rig.api.archive.listing import Listed
from rig.cli.options import NO_SESSIONS, has_sessions, json_option, sessions_option
from rig.cli.printed.terminal import (
    Terminal,
    escape,
    print_left_out,
    print_line,
    print_table,
)
from rig.errors import DataError
from rig.files import typed
from rig.files.plain_text import one_line
from rig.units import bytes_text

_COLOURS = {
    "PASS": "green",
    "FAIL": "red",
    "INVALID": "red",
    "NOT TESTED": "yellow",
    listing.CHANGED: "red",
    "running": "cyan",
}

#: Where the columns are that a narrow terminal leaves out.
_ALSO = "with --json"


@click.command()
@click.argument("words", nargs=-1, metavar="[WORD]...")
@sessions_option
@click.option(
    "--tag",
    "tagged",
    metavar="SESSION",
    help="Replace the tags of this session by the words; without words, remove them.",
)
@json_option
def sessions(
    words: Sequence[str], sessions: Path, tagged: str | None, as_json: bool
) -> None:
    """List sessions, the newest first, with verdict, size and tags.

    With WORDs, list only sessions that match every word. #TAG matches a whole tag,
    status:killed a status, verdict:fail a verdict; after --, -WORD excludes a word.
    """
    out = Terminal(stderr=as_json)
    if tagged is not None:
        kept = tags.write(_session(sessions, tagged), words)
        print_line(out, escape(f"{tagged}: {' '.join(kept) or 'no tags'}"), 2)
        if as_json:
            Terminal().out(json.dumps({"session": tagged, "tags": kept}, indent=1))
        return
    if not has_sessions(sessions):
        out.print(escape(NO_SESSIONS.format(sessions)), soft_wrap=True)
        return
    found = listing.Listing(sessions)
    every = found.rows()
    rows = listing.search(every, " ".join(words))
    if as_json:
        tree = {
            "folder": str(sessions),
            "sessions": list(map(_tree, rows)),
            "error": found.fault,
        }
        Terminal().out(json.dumps(tree, indent=1))
    if rows:
        print_rows(out, rows)
    said = listing.summary(rows)
    if every and not rows:
        asked = " ".join(words)
        said = f"no session in {sessions} matches {asked!r}; it has {len(every)}"
    print_line(out, escape(said), 2)
    for row in rows:
        if row.status == listing.UNREADABLE:
            print_line(
                out,
                f"[yellow]{escape(f'{row.name} cannot be read: {row.reason}')}[/]",
                2,
            )
    if found.fault:
        print_line(out, f"[yellow]{escape(found.fault)}[/]", 2)


def _tree(row: Listed) -> dict[str, Any]:
    """Return a session as JSON; `error` says of one that cannot be read why."""
    content = typed.to_json(row)
    content.pop("path")
    outcome, reason, error = content.pop("verdict"), content.pop("reason"), ""
    if row.status == listing.UNREADABLE:
        reason, error = "", reason
    return {
        "session": str(row.path),
        "outcome": outcome,
        **content,
        "reason": reason,
        "error": error,
    }


def _session(root: Path, name: str) -> Path:
    for path in (root / name, Path(name)):
        if path.is_dir() and path.resolve().parent.is_dir():
            return path.resolve()
    raise DataError(
        f"{root} has no session {name}", try_next="rig sessions shows those there are"
    )


def print_rows(out: Terminal, rows: Sequence[Listed]) -> None:
    """Print the rows: for a program all columns, in a terminal as many as it is wide
    enough for. In the narrowest one labels take several lines.
    """
    heads = list(_COLUMNS)
    if not any(row.tags for row in rows):
        heads.remove("tags")
    columns = []
    for head in heads:
        columns.append([head, *(one_line(_COLUMNS[head](row)) for row in rows)])
    widths = [max(map(cell_len, column)) for column in columns]
    for count in range(len(heads), _KEPT - 1, -1):
        if not out.is_terminal or _width(widths[:count]) <= out.width:
            _print_lines(out, columns[:count], widths[:count], rows)
            print_left_out(out, heads[count:], _ALSO)
            return
    session, outcome, trials, labels, *_ = columns
    forms = ([session, outcome, trials, labels], [session, outcome, labels])
    tables = [_table(form, rows) for form in forms]
    left = heads[_KEPT:]
    print_table(out, *tables, lacks=(left, ["trials", *left]), also=_ALSO)


def _width(widths: Sequence[int]) -> int:
    return sum(widths) + len(_BETWEEN) * (len(widths) - 1) + 2


def _print_lines(
    out: Terminal,
    columns: Sequence[Sequence[str]],
    widths: Sequence[int],
    rows: Sequence[Listed],
) -> None:
    """Print columns as a rich table with the box SIMPLE_HEAD looks; rich lays out a
    thousand rows in a second.
    """
    empty = " " * _width(widths)
    text = Text(empty)
    padded = [_padded(*column) for column in zip(columns, widths, strict=True)]
    text.append("\n ")
    for place, (column, whole) in enumerate(zip(columns, padded, strict=True)):
        head = column[0]
        text.append(_BETWEEN if place else "").append(head, _HEAD)
        text.append(whole[0][len(head) :])
    text.append(f" \n {'─' * (len(empty) - 2)} ")
    # One piece of text for all columns beside the coloured one: each piece costs.
    for number, row in enumerate(rows, start=1):
        cells = [whole[number] for whole in padded]
        outcome = columns[_OUTCOME][number]
        room = cells[_OUTCOME][len(outcome) :]
        before = _BETWEEN.join(cells[:_OUTCOME])
        after = "".join(f"{_BETWEEN}{cell}" for cell in cells[_OUTCOME + 1 :])
        text.append(f"\n {before}{_BETWEEN}").append(outcome, _colour(row))
        text.append(f"{room}{after} ")
    text.append(f"\n{empty}")
    out.print(text, soft_wrap=True, highlight=False)


def _padded(column: Sequence[str], width: int) -> list[str]:
    """Fill the cells of a column with spaces to a width."""
    return [cell + " " * (width - cell_len(cell)) for cell in column]


def _table(columns: Sequence[Sequence[str]], rows: Sequence[Listed]) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for head, *_ in columns:
        table.add_column(head, no_wrap=head != "labels")
    for number, row in enumerate(rows, start=1):
        cells = [Text(column[number]) for column in columns]
        cells[_OUTCOME].stylize(_colour(row))
        table.add_row(*cells)
    return table


def _colour(row: Listed) -> str:
    return _COLOURS.get(row.outcome, "yellow")


#: The columns by their headings, the first the last to be left out.
_COLUMNS: dict[str, Callable[[Listed], str]] = {
    "session": lambda row: row.name,
    "outcome": lambda row: row.outcome,
    "trials": lambda row: f"{row.trials}/{row.trials_due}" if row.trials_due else "",
    "labels": lambda row: ", ".join(row.labels),
    "tags": lambda row: " ".join(row.tags),
    "task": lambda row: row.task,
    "scenario": lambda row: row.scenario,
    "device": lambda row: row.device,
    "size": lambda row: f"{bytes_text(row.size_b):>7}",
}
#: The column with a colour, the style of headings, and the room between columns.
_OUTCOME = 1
_HEAD = "table.header"
_BETWEEN = "  "
#: Number of columns that are always shown.
_KEPT = 4
