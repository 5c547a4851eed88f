# SPDX-License-Identifier: Apache-2.0
"""The about page: versions, the theme, and the support bundle."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import ClassVar

from PySide6.QtCore import qVersion
from PySide6.QtGui import QFontDatabase
from PySide6.QtWidgets import (
    QButtonGroup,
    QFrame,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
)

from gui.screen import Screen
from gui.shell import Shell
from gui.widgets.controls import check_box, named, push_button
from gui.widgets.file_dialog import FileRequest, with_chooser
from gui.widgets.layouts import CARD, PAGE, STRETCH, in_column, in_row, split
from gui.widgets.notice import Notice, Severity
from gui.widgets.table import DataTable, TableColumn
from gui.widgets.text import PlainLabel
from rig.api.support import bundle
from rig.api.support.bundle import Bundle, BundleFile
from rig.bench.scan import scan
from rig.files.plain_text import visible
from rig.files.user_folders import expanded
from rig.store import provenance
from rig.units import bytes_text

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
_PACKAGES = (
    ("PySide6", "PySide6-Essentials"),
    ("pyqtgraph", "pyqtgraph"),
    ("numpy", "numpy"),
    ("pyjls", "pyjls"),
    ("scipy", "scipy"),
    ("pyserial", "pyserial"),
    ("pyjoulescope_driver", "pyjoulescope_driver"),
    ("pyvisa", "pyvisa"),
)
_FILE_COLUMNS = (
    TableColumn("file", lambda file: file.name),
    TableColumn(
        "size",
        lambda file: bytes_text(file.size_b),
        lambda file: file.size_b,
        right=True,
    ),
    TableColumn("what it holds", lambda file: file.what),
)
_EXPLAINED = (
    "For a question to another person: versions, the bench file, what is"
    " attached, how the open session went. No traces, no data. Passwords, keys, home"
    " folders and the names of users and computers are taken out. Collect it, look at"
    " every file, then write it."
)


class SupportCard(QFrame):
    """Collect a support bundle, look at its files, write it."""

    def __init__(self, shell: Shell) -> None:
        super().__init__()
        self._shell = shell
        self.bundle: Bundle | None = None
        self.setProperty("role", "card")
        self._serials = check_box(
            "support-serials", "Keep serial &numbers of instruments", self._forget
        )
        self._collect = _button("support-collect", "&Collect", self._do_collect)
        self._write = _button("support-write", "&Write", self._do_write)
        self._write.setEnabled(False)
        self._path = named(
            QLineEdit("~/neurorig-support.zip"), "support-path", "File of the bundle"
        )
        self._files = DataTable(_FILE_COLUMNS, "support-files")
        self._files.chosen.connect(self._show_file)
        self._text = named(QPlainTextEdit(), "support-text", "Text of the file")
        self._text.setReadOnly(True)
        self._text.setTabChangesFocus(True)
        self._text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self._text.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self._notice = Notice()
        heading = PlainLabel("Support bundle", role="heading")
        explained = PlainLabel(_EXPLAINED, role="muted", wrap=True)
        path = with_chooser(self._path, FileRequest.NAME, "Archives (*.zip)")
        row = in_row([self._collect, self._serials, STRETCH, (path, 2), self._write])
        both = split([self._files, self._text], (480, 520), name="support-split")
        in_column(
            [heading, explained, row, self._notice, (both, 1)],
            self,
            margins=CARD,
        )

    def _forget(self) -> None:
        """Drop a bundle that was collected with other choices."""
        self.bundle = None
        self._files.set_rows([])
        self._text.clear()
        self._write.setEnabled(False)

    def _do_collect(self) -> None:
        self._notice.clear()
        self._collect.setEnabled(False)
        session = self._shell.session.path if self._shell.session is not None else None
        bench = self._shell.bench_path
        keep = self._serials.isChecked()
        self._shell.worker.do(
            lambda: bundle.collect(session, bench, keep_serials=keep, scan=scan),
            self._take,
            self._fail,
            key="support",
        )

    def _take(self, made: Bundle) -> None:
        self._collect.setEnabled(True)
        if made.serials_kept != self._serials.isChecked():
            return
        self.bundle = made
        self._files.set_rows(made.files)
        self._files.choose(made.files[0])
        self._write.setEnabled(True)

    def _fail(self, error: BaseException) -> None:
        self._collect.setEnabled(True)
        self._notice.show_error(error)

    def _show_file(self, file: BundleFile) -> None:
        self._text.setPlainText(visible(file.text))

    def _do_write(self) -> None:
        if self.bundle is None:
            return
        made = self.bundle
        path = expanded(self._path.text())
        if path.exists():
            self._notice.show_text(
                f"{path} is there already: give another name", Severity.ERROR
            )
            return
        self._shell.worker.do(
            lambda: made.write(path), self._written, self._fail, key="support"
        )

    def _written(self, path: Path) -> None:
        self._notice.show_text(
            f"{path} is written: look at it once more before you send it",
            Severity.SUCCESS,
        )


def _button(name: str, text: str, action: Callable[[], None]) -> QPushButton:
    accessible = f"{text.replace('&', '')} the support bundle"
    return push_button(name, text, action, accessible=accessible)


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A part of the program, and its version."""

    name: str
    version: str


def versions(qt: str) -> list[VersionRow]:
    """Return the versions of the rig and of the packages that it uses; `qt` is that of
    Qt itself.
    """
    rows = [
        VersionRow("neurorig", _version("neurorig")),
        VersionRow("revision", _revision()),
        VersionRow("Python", sys.version.split()[0]),
        VersionRow("Qt", qt),
    ]
    rows += [VersionRow(name, _version(package)) for name, package in _PACKAGES]
    rows.append(VersionRow("system", platform.platform()))
    return rows


def _revision() -> str:
    own = provenance.own_revision()
    return str(own) if own.unknown else own.text[:12] or "an installed package"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


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
