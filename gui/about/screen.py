# SPDX-License-Identifier: Apache-2.0
"""The page about the program: versions, theme, support bundle."""

from __future__ import annotations

from typing import ClassVar

from PySide6.QtCore import qVersion
from PySide6.QtWidgets import (
    QButtonGroup,
    QFrame,
    QHBoxLayout,
    QPushButton,
    QVBoxLayout,
)

from gui.about.support import SupportCard
from gui.about.versions import VersionRow, versions
from gui.screen import Screen
from gui.shell import Shell
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
        title = PlainLabel("About")
        title.setProperty("role", "title")
        about = PlainLabel(_ABOUT)
        about.setWordWrap(True)
        self._versions = DataTable(_COLUMNS, "versions")
        self._themes = QButtonGroup(self)
        top = QHBoxLayout()
        top.setSpacing(12)
        top.addWidget(self._card("Versions", self._versions), 3)
        top.addWidget(self._theme_card(), 2)
        column = QVBoxLayout(self)
        column.setContentsMargins(24, 20, 24, 16)
        column.setSpacing(12)
        column.addWidget(title)
        column.addWidget(about)
        column.addLayout(top, 1)
        self.support = SupportCard(shell)
        column.addWidget(self.support, 1)

    def enter(self) -> None:
        """Look up the versions."""
        self._show_choice()
        self.shell.worker.do(lambda: versions(qVersion()), self._take, key="versions")

    def _take(self, rows: list[VersionRow]) -> None:
        self._versions.set_rows(rows)

    def _theme_card(self) -> QFrame:
        card = QFrame()
        card.setProperty("role", "card")
        heading = PlainLabel("Theme")
        heading.setProperty("role", "heading")
        column = QVBoxLayout(card)
        column.setContentsMargins(16, 12, 16, 12)
        column.addWidget(heading)
        row = QHBoxLayout()
        for name, text in _THEMES:
            button = QPushButton(text)
            button.setCheckable(True)
            button.setObjectName(f"theme-{name or 'system'}")
            button.setAccessibleName(f"Theme: {text.replace('&', '')}")
            button.clicked.connect(lambda checked, name=name: self._choose(name))
            self._themes.addButton(button)
            row.addWidget(button)
        row.addStretch(1)
        column.addLayout(row)
        note = PlainLabel(
            "Ctrl+Shift+T changes between light and dark on every screen."
        )
        note.setWordWrap(True)
        note.setProperty("role", "muted")
        column.addWidget(note)
        column.addStretch(1)
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
        heading = PlainLabel(title)
        heading.setProperty("role", "heading")
        column = QVBoxLayout(card)
        column.setContentsMargins(16, 12, 16, 12)
        column.addWidget(heading)
        column.addWidget(table)
        return card
