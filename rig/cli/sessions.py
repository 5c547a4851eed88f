# SPDX-License-Identifier: Apache-2.0
"""`rig sessions`: the sessions of a folder, searched and tagged."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from rich.box import SIMPLE_HEAD
from rich.table import Table

from rig.api.archive import listing, tags
from rig.api.archive.listing import Listed
from rig.cli.options import sessions_option
from rig.cli.printed.terminal import Terminal, escape, print_whole
from rig.errors import DataError
from rig.units import bytes_text

_COLOURS = {"replicates": "green", "does not replicate": "red", "running": "cyan"}


@click.command()
@click.argument("words", nargs=-1, metavar="[WORD]...")
@sessions_option
@click.option(
    "--tag",
    "tagged",
    metavar="SESSION",
    help="Give this session the words as its tags instead; none takes them away.",
)
def sessions(words: Sequence[str], sessions: Path, tagged: str | None) -> None:
    """List sessions, the newest first, with verdict, size and tags.

    WORD: only those in which every word is found. #TAG is a whole tag; status:killed and
    verdict:false name what they say; after --, -WORD leaves out.
    """
    out = Terminal()
    if tagged is not None:
        kept = tags.write(_session(sessions, tagged), words)
        out.print(escape(f"{tagged}: {' '.join(kept) or 'no tags'}"), soft_wrap=True)
        return
    found = listing.Listing(sessions)
    rows = listing.search(found.rows(), " ".join(words))
    if rows:
        print_whole(out, _table(rows))
    out.print(escape(listing.summary(rows)), soft_wrap=True)
    if found.fault:
        out.print(f"[yellow]{escape(found.fault)}[/]", soft_wrap=True)


def _session(root: Path, name: str) -> Path:
    for path in (root / name, Path(name)):
        if path.is_dir() and path.resolve().parent.is_dir():
            return path.resolve()
    raise DataError(f"{root} has no session {name}", try_next="rig sessions shows those there are")


def _table(rows: Sequence[Listed]) -> Table:
    table = Table(box=SIMPLE_HEAD)
    for head in ("session", "task", "scenario", "device", "trials", "outcome", "labels", "tags"):
        table.add_column(head, no_wrap=True)
    table.add_column("size", justify="right", no_wrap=True)
    for row in rows:
        colour = _COLOURS.get(row.outcome, "yellow")
        table.add_row(
            *map(escape, (row.name, row.task, row.scenario, row.device)),
            f"{row.trials}/{row.trials_due}" if row.trials_due else "",
            f"[{colour}]{escape(row.outcome)}[/]",
            escape(", ".join(row.labels)),
            escape(" ".join(row.tags)),
            bytes_text(row.size_b),
        )
    return table
