# SPDX-License-Identifier: Apache-2.0
"""`rig docs`: the pages that messages name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from rig.cli.printed.terminal import Terminal, print_rows, say
from rig.errors import ConfigError, did_you_mean
from rig.files.shipped import shipped


@click.command()
@click.argument("page", required=False)
def docs(page: str | None) -> None:
    """List the pages of documentation, or read one."""
    pages = {path.stem: path for path in sorted(shipped("docs").glob("*.md"))}
    if page is None:
        print_pages(Terminal(), {name: title(path) for name, path in pages.items()})
        return
    name = page.removeprefix("docs/").removesuffix(".md").upper()
    if name not in pages:
        raise ConfigError(
            f"no page {page}",
            path="PAGE",
            try_next=f"{did_you_mean(name, pages, 3)}rig docs lists all pages",
        )
    click.echo_via_pager(pages[name].read_text(encoding="utf-8"))


def title(path: Path) -> str:
    """Return the heading of a page."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return next((line[2:] for line in lines if line.startswith("# ")), "")


def print_pages(out: Terminal, titles: Mapping[str, str]) -> None:
    """Print the names of all pages with their titles."""
    print_rows(out, "pages of documentation", list(titles.items()))
    say(out, f"next: rig docs {next(iter(titles))} opens that page")
