# SPDX-License-Identifier: Apache-2.0
"""The sheet of keys: what each does, in the window and on every screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from gui.screen import Screen
from gui.shell import Shell
from gui.widgets.layouts import PAGE, in_column
from gui.widgets.table import DataTable, TableColumn
from gui.widgets.text import PlainLabel

#: Keys that work on every screen.
WINDOW = (
    ("Ctrl+1 ... Ctrl+7", "start, bench, run, trace, trials, sessions, meter"),
    ("F1", "this sheet"),
    ("Ctrl+Shift+A", "about the program, and the support bundle"),
    ("Ctrl+Shift+T", "light or dark theme"),
    ("Ctrl+O", "open a session folder, a bench file or a trace by its path"),
    ("Ctrl+Q", "close the window; the supply goes off"),
    ("Tab, Shift+Tab", "the next, the previous field"),
    ("Space, Enter", "press the button that has the focus"),
    ("Ctrl+C in a table", "copy the selected rows, or all, with tabs between"),
    ("Escape", "leave a question without an answer"),
)
_COLUMNS = (
    TableColumn("screen", lambda row: row.where),
    TableColumn("key", lambda row: row.key),
    TableColumn("what it does", lambda row: row.what),
)


@dataclass(frozen=True, slots=True)
class KeyRow:
    """A key of a screen and its action."""

    where: str
    key: str
    what: str


def key_rows(screens: Mapping[str, Sequence[tuple[str, str]]]) -> list[KeyRow]:
    """Return the rows of the sheet: the window's keys, then those of each screen by its
    title."""
    rows = [KeyRow("everywhere", key, what) for key, what in WINDOW]
    for title, keys in screens.items():
        rows += [KeyRow(title.lower(), key, what) for key, what in keys]
    return rows


class KeysScreen(Screen):
    """The sheet of keys."""

    KEYS: ClassVar = ()

    def __init__(self, shell: Shell) -> None:
        super().__init__(shell)
        title = PlainLabel("Keys", role="title")
        self.table = DataTable(_COLUMNS, "keys")
        in_column([title, (self.table, 1)], self, margins=PAGE, spacing=12)
        self.show_keys({})

    def show_keys(self, screens: Mapping[str, Sequence[tuple[str, str]]]) -> None:
        """Show the keys of screens, by their titles."""
        self.table.set_rows(key_rows(screens))
