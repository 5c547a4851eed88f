# SPDX-License-Identifier: Apache-2.0
"""`rig docs`: where the pages lie that messages name."""

from __future__ import annotations

import click

from rig.cli.printed.terminal import Terminal, escape
from rig.errors import ConfigError, did_you_mean
from rig.shipped import shipped

_OUT = Terminal()


@click.command()
@click.argument("page", required=False)
def docs(page: str | None) -> None:
    """List the pages of documentation, or show where one lies."""
    folder = shipped("docs")
    pages = {path.stem: path for path in sorted(folder.glob("*.md"))}
    if page is None:
        for path in pages.values():
            _OUT.print(escape(str(path)), soft_wrap=True, highlight=False)
        return
    name = page.removeprefix("docs/").removesuffix(".md").upper()
    if name not in pages:
        raise ConfigError(
            f"no page {page}",
            path="PAGE",
            try_next=f"{did_you_mean(name, pages, 3)}rig docs lists all pages",
        )
    _OUT.print(escape(str(pages[name])), soft_wrap=True, highlight=False)
