# SPDX-License-Identifier: Apache-2.0
"""`rig docs`: the pages of documentation, which messages name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path, PurePosixPath

import click

from rig.cli.printed.terminal import Terminal, print_rows, say
from rig.errors import ConfigError, did_you_mean
from rig.files.shipped import shipped

#: The folders of pages, a newcomer's first.
KINDS = ("tutorials", "how-to", "reference", "explanation")


@click.command()
@click.argument("page", required=False)
def docs(page: str | None) -> None:
    """List the pages of documentation, or read one."""
    folder = shipped("docs")
    if page is None:
        print_pages(Terminal(), {kind: titles(folder / kind) for kind in KINDS})
        return
    pages = {path.stem: path for path in folder.glob("*/[A-Z]*.md")}
    name = PurePosixPath(page).stem.upper()
    if name not in pages:
        raise ConfigError(
            f"no page {page}",
            path="PAGE",
            try_next=f"{did_you_mean(name, pages, 3)}rig docs lists all pages",
        )
    click.echo_via_pager(pages[name].read_text(encoding="utf-8"))


def titles(folder: Path) -> list[tuple[str, str]]:
    """Return the names and titles of the pages in a folder, sorted by name."""
    return [(path.stem, title(path)) for path in sorted(folder.glob("*.md"))]


def title(path: Path) -> str:
    """Return the heading of a page."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return next((line[2:] for line in lines if line.startswith("# ")), "")


def print_pages(out: Terminal, pages: Mapping[str, Sequence[tuple[str, str]]]) -> None:
    """Print the names and titles of all pages, by kind."""
    names = [name for name, _ in chain.from_iterable(pages.values())]
    width = max(map(len, names))
    for kind, rows in pages.items():
        print_rows(out, kind, rows, width)
    say(out, f"next: rig docs {names[0]} opens that page")
