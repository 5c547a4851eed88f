# SPDX-License-Identifier: Apache-2.0
"""A console that shows text as it is, errors and lists."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

from rich import markup
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment, Segments
from rich.table import Table
from rich.text import Text

from rig.errors import BenchError, RigError
from rig.files.plain_text import one_line, visible

#: More than any table is wide.
_UNBOUND = 1000
#: Columns that fold break words that are wider.
_FOLDED_WORD = 20
_WORD = re.compile(r"\s*\S+\s*")


class Terminal(Console):
    """A console that shows text unchanged: words between colons do not become pictures,
    and no character commands the terminal.

    It continues silently when its reader has ended (rig run | head): the run matters
    more than its output. Raises BenchError if standard output takes no more for another
    reason, such as a full disk.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(emoji=False, **options)
        #: Whether what cannot be shown is left out: while a session runs, and of error
        #: messages.
        self.goes_on = bool(options.get("stderr"))

    def render_str(self, text: str, **options: Any) -> Text:
        """Return text to show, with a sign in the place of characters that none can
        see."""
        return super().render_str(visible(text), **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """Return the segments of an object. All output passes here, also objects made
        without `render_str`, such as tracebacks.
        """
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else visible(text), style, control)

    def out(self, *objects: Any, **options: Any) -> None:
        """Print text as it is, for programs; characters that command a terminal are no
        part of any format.
        """
        shown = [visible(each) if isinstance(each, str) else each for each in objects]
        super().out(*shown, **options)

    def _check_buffer(self) -> None:
        """Write the buffer; if that fails, discard all further output."""
        try:
            super()._check_buffer()
        except OSError as error:
            self.on_broken_pipe()
            lost = BenchError(
                "standard output takes no more",
                evidence=error.strerror or str(error),
                try_next="what was measured is kept: rig sessions, rig report SESSION",
            )
            if not self.goes_on:
                raise lost from error
            if not self.stderr:
                print_error(Terminal(stderr=True), lost)

    def on_broken_pipe(self) -> None:
        """Discard all further output."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())


def escape(text: str) -> str:
    """Return text from outside for a place in a line: no markup, and no line of its
    own."""
    return markup.escape(one_line(text))


def escape_lines(text: str) -> str:
    """Return several lines of the rig's own text without markup; text from outside in
    them is already one line.
    """
    return "\n".join(map(escape, text.split("\n")))


def table_width(console: Console, table: Table) -> int:
    return console.measure(
        table, options=console.options.update(width=_UNBOUND)
    ).maximum


def print_whole(console: Console, table: Table) -> None:
    """Print a table as wide as it is: in a terminal that is narrower its lines go on
    below, and no number loses a digit.
    """
    whole = console.options.update(
        width=max(console.width, table_width(console, table))
    )
    console.print(Segments(console.render(table, whole)), crop=False)


def say(console: Console, text: str, lead: str = "") -> None:
    """Print a text after a lead, both with markup; further lines begin below its
    beginning."""
    print_line(console, lead + text, console.render_str(lead, highlight=False).cell_len)


def say_plain(text: str, lead: str = "") -> None:
    """Print text from outside on standard output, after a lead with markup."""
    say(Terminal(), escape(text), lead)


def print_table(
    console: Console,
    *tables: Table,
    lacks: Sequence[Sequence[str]] = (),
    also: str = "",
) -> None:
    """Print the first of some tables, the widest first, that a terminal is wide enough
    for; for a program the first, as wide as it is. Below a narrower one stand the names
    of the columns that it lacks, or those in `lacks`, one for each table, and where
    they are `also`. If none fits, each cell of the last one has a line.

    Cells of columns with `no_wrap` are never broken.
    """
    whole = tables[0]
    if not console.is_terminal:
        print_whole(console, whole)
        return
    fitting = [each for each in tables if _least_width(console, each) <= console.width]
    table = fitting[0] if fitting else tables[-1]
    if fitting:
        console.print(table)
    else:
        _print_cells(console, table)
    kept = _heads(table)
    left = [head for head in _heads(whole) if head not in kept]
    if lacks:
        left = list(lacks[tables.index(table)])
    print_left_out(console, left, also)


def print_left_out(console: Console, heads: Sequence[str], also: str = "") -> None:
    """Name the columns that a terminal is too narrow for, and where they are `also`."""
    if heads:
        places = f"in a wider terminal{f', or {also}' if also else ''}"
        print_line(console, f" [dim]{places}: {escape(', '.join(heads))}[/]", 1)


def _heads(table: Table) -> list[str]:
    """Return the headings of a table, each as one line."""
    headings = (markup.render(str(column.header)) for column in table.columns)
    return [" ".join(heading.plain.split()) for heading in headings]


def _least_width(console: Console, table: Table) -> int:
    """Return the least width of a table that breaks no cell with `no_wrap`, and no
    word but in columns that fold.
    """
    unbound = console.options.update(width=_UNBOUND)
    width = table_width(console, table)
    for column in table.columns:
        if column.no_wrap:
            continue
        cells = (column.header, *column.cells)
        sizes = [console.measure(cell, options=unbound) for cell in cells]
        most = max(size.maximum for size in sizes)
        if column.max_width is not None:
            most = min(most, column.max_width)
        least = max(size.minimum for size in sizes)
        if column.overflow == "fold":
            least = min(least, _FOLDED_WORD)
        width -= max(most - least, 0)
    return width


def _print_cells(console: Console, table: Table) -> None:
    """Print each cell on a line, after the heading of its column; a blank line between
    rows.
    """
    heads = _heads(table)
    rows = zip(*(column.cells for column in table.columns), strict=True)
    for row in rows:
        for head, cell in zip(heads, row, strict=True):
            shown = escape(cell.plain) if isinstance(cell, Text) else str(cell)
            if shown.strip():
                print_line(console, f" {escape(head)}: {shown.strip()}", 3)
        console.print()
    if table.caption:
        print_line(console, f" {table.caption}", 1)


def borderless_table() -> Table:
    """Return a table with a line below its headings alone."""
    return Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)


def node_table(*headings: str) -> Table:
    """Return a table of a network's nodes; only cells of the last column may take
    several lines.
    """
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for heading in headings:
        table.add_column(heading, no_wrap=heading != headings[-1])
    return table


def print_line(console: Console, line: str, indent: int = 0) -> None:
    """Print a line of ours; in a terminal that is narrower it goes on below, indented,
    and breaks between words. A word that is wider than the terminal, such as a path,
    stays whole.
    """
    text = console.render_str(line, highlight=False)
    if not console.is_terminal or text.cell_len <= console.width:
        console.print(text, soft_wrap=True)
        return
    first, *further = text.divide(_breaks(text.plain, console.width, indent))
    first.rstrip()
    console.print(first, soft_wrap=True)
    for rest in further:
        rest.rstrip()
        rest.pad_left(indent)
        console.print(rest, soft_wrap=True)


def _breaks(text: str, width: int, indent: int) -> list[int]:
    """Return where the lines of a text begin, but the first: those have `indent` cells
    less."""
    breaks = []
    taken = 0
    for word in _WORD.finditer(text):
        if taken > indent and taken + cell_len(word.group().rstrip()) > width:
            breaks.append(word.start())
            taken = indent
        taken += cell_len(word.group())
    return breaks


def print_named(console: Console, name: str, text: str) -> None:
    """Print text beside its name, in a column: "next     rig view SESSION"."""
    print_line(console, f" [bold]{escape(name):<8}[/]{escape(text)}", 9)


def print_error(console: Console, error: RigError) -> None:
    """Print cause, evidence and what to try, and what went wrong after it. Further
    lines of an evidence are marked as such.
    """
    say(console, escape(error.cause), "[bold red]error[/] ")
    if error.evidence:
        first, *further = error.evidence.split("\n")
        say(console, escape(first), "  evidence: ")
        for line in further:
            say(console, escape(line), "    | ")
    if error.try_next:
        say(console, escape(error.try_next), "  try: ")
    print_see(console, error.see, "  ")
    for note in getattr(error, "__notes__", ()):
        say(console, escape(note), "  and then: ")


def print_see(console: Console, see: str, indent: str) -> None:
    """Print the command that shows a row of the page on troubleshooting, if there is
    one."""
    if see:
        say(console, f"rig docs {escape(see)}", f"{indent}see: ")


def print_stopped(console: Console, left: Sequence[str]) -> None:
    """Print that a command was stopped, and its notes."""
    for line in ("stopped", *(f"  {one}" for one in left)):
        console.print(escape(line), soft_wrap=True, highlight=False)


def print_rows(
    console: Console, title: str, rows: Sequence[tuple[str, str]], width: int = 0
) -> None:
    """Print a list with a title: names, and a text beside each, in a column after the
    longest name or after `width` columns.
    """
    say(console, f"[bold]{escape(title)}[/]")
    width = max([width, *(len(name) for name, _ in rows)])
    for name, text in rows:
        say(console, escape(text), f"  {escape(f'{name:<{width}}')}  ")
