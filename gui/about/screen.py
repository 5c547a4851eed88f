# SPDX-License-Identifier: Apache-2.0
"""The page about the program: versions, theme, support bundle."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from PySide6.QtCore import qVersion
from PySide6.QtWidgets import (
    QButtonGroup,
    QFrame,
)

from gui.about.support import SupportCard
from gui.about.versions import VersionRow, versions
from gui.screen import Screen
from gui.shell import Shell
from gui.widgets.controls import push_button
from gui.widgets.layouts import CARD, PAGE, STRETCH, in_column, in_row
from gui.widgets.table import DataTable, TableColumn
from gui.widgets.text import PlainLabel

_THEMES = (("", "&System"), ("light", "&Light"), ("dark", "&Dark"))
_COLUMNS = (
    TableColumn("part", lambda row: row.name),
    TableColumn("version", lambda row: row.version),
)
_ABOUT = (
    "neurorig measures accuracy, latency and energy of neuromorphic and tinyML devices."
    " Every number has its uncertainty, and can be recomputed from its session. Apache"
    " License 2.0."
)


class AboutScreen(Screen):
    """Versions, theme and support bundle."""

    KEYS: ClassVar = (("Ctrl+C", "copy the versions, as a table"),)

    def __init__(self, shell: Shell) -> None:
        super().__init__(shell)
        title = PlainLabel("About", role="title")
        about = PlainLabel(_ABOUT, wrap=True)
        self._versions = DataTable(_COLUMNS, "versions")
        self._themes = QButtonGroup(self)
        card = self._card("Versions", self._versions)
        top = in_row([(card, 3), (self._theme_card(), 2)], spacing=12)
        self.support = SupportCard(shell)
        in_column(
            [title, self.notice, about, (top, 1), (self.support, 1)],
            self,
            margins=PAGE,
            spacing=12,
        )

    def enter(self) -> None:
        """Look up the versions."""
        self._show_choice()
        self.work("versions", lambda: versions(qVersion()), self._take)

    def _take(self, rows: list[VersionRow]) -> None:
        self._versions.set_rows(rows)

    def _theme_card(self) -> QFrame:
        card = QFrame()
        card.setProperty("role", "card")
        heading = PlainLabel("Theme", role="heading")
        for name, text in _THEMES:
            button = push_button(
                f"theme-{name or 'system'}",
                text,
                partial(self._choose, name),
                accessible=f"Theme: {text.replace('&', '')}",
            )
            button.setCheckable(True)
            self._themes.addButton(button)
        note = PlainLabel(
            "Ctrl+Shift+T changes between light and dark on every screen.",
            role="muted",
            wrap=True,
        )
        row = in_row([*self._themes.buttons(), STRETCH])
        in_column([heading, row, note, STRETCH], card, margins=CARD)
        return card

    def _choose(self, name: str) -> None:
        self.shell.memory.set("theme", name)
        self.shell.themes.choose(name)
        self._show_choice()

    def _show_choice(self) -> None:
        for button in self._themes.buttons():
            chosen = self.shell.themes.choice or "system"
            button.setChecked(button.objectName() == f"theme-{chosen}")

    @staticmethod
    def _card(title: str, table: DataTable) -> QFrame:
        card = QFrame()
        card.setProperty("role", "card")
        heading = PlainLabel(title, role="heading")
        in_column([heading, table], card, margins=CARD)
        return card
