# SPDX-License-Identifier: Apache-2.0
"""The page about the program: versions, theme, support bundle, sheet of keys."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLineEdit, QPlainTextEdit, QPushButton

import rig
from gui.about import screen as about
from gui.about.keys import KeysScreen, key_rows
from gui.memory import Memory
from gui.theme import DARK, LIGHT, THEMES, shown
from gui.widgets.table import DataTable

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from gui.window import MainWindow


def test_versions_of_qt_and_the_rig_are_listed_and_copied(
    window: MainWindow, qtbot: QtBot
) -> None:
    window.go("about")
    table = window.screen_named("about").findChild(DataTable, "versions")
    qtbot.waitUntil(lambda: len(table.rows) > 8)
    qtbot.keyClick(table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    copied = QApplication.clipboard().text()
    for name in ("neurorig", "PySide6", "Qt", "pyqtgraph", "numpy", "pyjls"):
        line = next(
            line for line in copied.splitlines() if line.startswith(f"{name}\t")
        )
        assert line.split("\t")[1][0].isdigit(), line


def test_the_theme_changes_by_click_and_key_and_is_remembered(
    window: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    window.go("about")
    page = window.screen_named("about")
    seen: list[object] = []
    window.shell.themes.changed.connect(seen.append)
    for name in ("dark", "light", "dark"):
        button = page.findChild(QPushButton, f"theme-{name}")
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
        assert window.shell.theme is THEMES[name]
        assert button.isChecked()
    assert Memory(tmp_path / "config" / "gui.json").get("theme") == "dark"
    qtbot.keyClick(
        window,
        Qt.Key.Key_T,
        Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier,
    )
    assert window.shell.theme is LIGHT is shown()
    assert DARK in seen and seen[-1] is LIGHT
    qtbot.mouseClick(
        page.findChild(QPushButton, "theme-system"), Qt.MouseButton.LeftButton
    )
    assert window.shell.themes.choice == ""


def test_the_bundle_is_looked_at_before_it_is_written(
    window: MainWindow,
    virtual_session: Path,
    qtbot: QtBot,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(about, "scan", list)
    window.shell.session = rig.open_session(virtual_session)
    window.go("about")
    page = window.screen_named("about")
    write = page.findChild(QPushButton, "support-write")
    assert not write.isEnabled()
    collect = page.findChild(QPushButton, "support-collect")
    qtbot.mouseClick(collect, Qt.MouseButton.LeftButton)
    files = page.findChild(DataTable, "support-files")
    qtbot.waitUntil(lambda: len(files.rows) > 3)
    files.choose(
        next(row for row in files.rows if row.name == "session/provenance.json")
    )
    assert (
        "virtual monitor"
        in page.findChild(QPlainTextEdit, "support-text").toPlainText()
    )
    path = page.findChild(QLineEdit, "support-path")
    path.setText(str(tmp_path / "missing" / "x.zip"))
    qtbot.mouseClick(write, Qt.MouseButton.LeftButton)
    notice = page.findChild(QPushButton, "support-write").parent()._notice
    qtbot.waitUntil(lambda: "cannot be written" in notice.text)
    path.setText(str(tmp_path / "x.zip"))
    qtbot.mouseClick(write, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: "is written" in notice.text)
    with zipfile.ZipFile(tmp_path / "x.zip") as archive:
        assert archive.namelist() == [row.name for row in files.rows]
    # Another choice of its content has to be looked at again.
    page.findChild(QPushButton, "support-collect").setFocus()
    qtbot.keyClick(
        page.findChild(type(page.support._serials), "support-serials"), Qt.Key.Key_Space
    )
    assert not write.isEnabled() and files.rows == []


def test_the_sheet_has_the_keys_of_every_screen(
    window: MainWindow, qtbot: QtBot
) -> None:
    qtbot.keyClick(window, Qt.Key.Key_F1)
    sheet = window._stack.currentWidget()
    assert isinstance(sheet, KeysScreen)
    rows = sheet.table.rows
    assert {"everywhere", "start"} <= {row.where for row in rows}
    (first,) = [row for row in rows if row.key.startswith("Ctrl+1")]
    assert first.key == f"Ctrl+1 ... Ctrl+{window._navigation.count()}"
    assert key_rows({"X": (("A", "does a"),)})[-1].where == "x"
