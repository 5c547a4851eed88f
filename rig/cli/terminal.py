# SPDX-License-Identifier: Apache-2.0
"""A console that shows text as it is, errors and lists."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.segment import Segments
from rich.table import Table
from rich.text import Text

from rig.errors import RigError
from rig.plain_text import visible

#: More than any table is wide.
_UNBOUND = 1000


class Terminal(Console):
    """A console that shows text as it is: no word between colons becomes a picture, and no
    character commands the terminal.

    It goes on in silence when whoever read it has gone (rig run | head): the run matters, not its
    words.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(emoji=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """Return text to show, with a sign in the place of characters that none can see."""
        return super().render_str(visible(text), **options)

    def out(self, *objects: Any, **options: Any) -> None:
        """Print text as it is, for programs; characters that command a terminal are no part of any
        format.
        """
        super().out(
            *(visible(each) if isinstance(each, str) else each for each in objects), **options
        )

    def on_broken_pipe(self) -> None:
        """Send the rest nowhere."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())


def table_width(console: Console, table: Table) -> int:
    return console.measure(table, options=console.options.update(width=_UNBOUND)).maximum


def print_whole(console: Console, table: Table) -> None:
    """Print a table as wide as it is: in a terminal that is narrower its lines go on below, and no
    number loses a digit.
    """
    whole = console.options.update(width=max(console.width, table_width(console, table)))
    console.print(Segments(console.render(table, whole)), crop=False)


def print_error(console: Console, error: RigError) -> None:
    """Print cause, evidence and what to try, and what went wrong after it."""
    cause, *rest = str(error).split("\n")
    rest += [f"and then: {note}" for note in getattr(error, "__notes__", ())]
    console.print(f"[bold red]error[/] {escape(cause)}", soft_wrap=True)
    for line in rest:
        console.print(f"  {escape(line)}", soft_wrap=True)


def print_rows(console: Console, title: str, rows: Sequence[tuple[str, str]]) -> None:
    """Print a list with a title."""
    console.print(f"[bold]{escape(title)}[/]")
    for name, text in rows:
        console.print(f"  {escape(name):<20} {escape(text)}", soft_wrap=True)
