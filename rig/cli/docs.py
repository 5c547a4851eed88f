# SPDX-License-Identifier: Apache-2.0
"""`rig docs`: the pages of documentation, which messages name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path, PurePosixPath

import click

from rig.cli.printed.terminal import Terminal, escape_lines, print_rows, say
from rig.errors import ConfigError, did_you_mean
from rig.files.shipped import shipped

#: The page whose rows messages name.
TROUBLESHOOTING = "TROUBLESHOOTING"
#: The folders of pages, a newcomer's first.
KINDS = ("tutorials", "how-to", "reference", "explanation")


@click.command()
@click.argument("page", required=False)
def docs(page: str | None) -> None:
    """List the pages of documentation, or read one.

    PAGE: the name of a page, or the row of TROUBLESHOOTING that a message names after
    "see:".
    """
    folder = shipped("docs")
    if page is None:
        print_pages(Terminal(), {kind: titles(folder / kind) for kind in KINDS})
        return
    pages = {path.stem: path for path in folder.glob("*/[A-Z]*.md")}
    name = PurePosixPath(page).stem.upper()
    if row := troubleshooting_rows(pages[TROUBLESHOOTING]).get(page.lstrip("#")):
        Terminal().print(escape_lines(row), soft_wrap=True, highlight=False)
        return
    if name not in pages:
        raise ConfigError(
            f"no page {page}",
            path="PAGE",
            try_next=f"{did_you_mean(name, pages, 3)}rig docs lists all pages",
        )
    click.echo_via_pager(pages[name].read_text(encoding="utf-8"))


def troubleshooting_rows(path: Path) -> dict[str, str]:
    """Return the rows of a page of symptoms by their anchors: each heading of the third
    level, with the text below it.
    """
    rows = {}
    for part in path.read_text(encoding="utf-8").split("\n### ")[1:]:
        row = part.partition("\n## ")[0].strip()
        heading = row.partition("\n")[0]
        rows[anchor(heading)] = row
    return rows


def anchor(heading: str) -> str:
    """Return the anchor of a heading, as GitHub makes it."""
    kept = [each for each in heading.lower() if each.isalnum() or each in " -"]
    return "".join(kept).replace(" ", "-")


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
