# SPDX-License-Identifier: Apache-2.0
"""The start screen: the demonstration, recent files, paths that are typed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QLineEdit, QProgressBar, QPushButton

from gui.start import recent
from gui.widgets.table import DataTable
from rig.api import demonstration

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from gui.window import MainWindow


def test_the_demonstration_opens_by_a_click(
    window: MainWindow,
    virtual_session: Path,
    qtbot: QtBot,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(demonstration, "default_root", lambda: virtual_session.parent)
    monkeypatch.setattr(demonstration, "NAME", "virtual-null")
    start = window.screen_named("start")
    button = start.findChild(QPushButton, "start-demo")
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: window.shell.session is not None)
    assert window.shell.session is not None
    assert window.shell.session.path == virtual_session
    assert button.isEnabled()


@pytest.mark.parametrize("way", ["cancel", "close"])
def test_a_demonstration_that_is_given_up_leaves_no_part_of_it(
    window: MainWindow,
    tmp_path: Path,
    qtbot: QtBot,
    monkeypatch: pytest.MonkeyPatch,
    way: str,
) -> None:
    root = tmp_path / "demonstration"
    monkeypatch.setattr(demonstration, "default_root", lambda: root)
    start = window.screen_named("start")
    making = start.findChild(QPushButton, "start-demo")
    cancel = start.findChild(QPushButton, "demo-cancel")
    bar = start.findChild(QProgressBar, "demo-progress")
    assert not bar.isVisible()
    window.open_demonstration()
    assert not making.isVisible()
    window.open_demonstration()  # one at a time
    qtbot.waitUntil(lambda: bar.isVisible() and bar.value() > 0)
    assert list(root.iterdir()), "it is being made"
    if way == "close":
        window.close()
    else:
        qtbot.mouseClick(cancel, Qt.MouseButton.LeftButton)
        qtbot.waitUntil(making.isVisible)
        assert "cancelled" in start.findChild(QLabel, "notice-text").text()
        assert not bar.isVisible()
    assert list(root.iterdir()) == []
    assert window.shell.session is None


def test_a_recent_file_opens_by_enter_and_is_forgotten_by_delete(
    window: MainWindow, virtual_session: Path, tmp_path: Path, qtbot: QtBot
) -> None:
    for path in (tmp_path / "gone.jls", virtual_session):
        window.shell.memory.opened(path)
    start = window.screen_named("start")
    start.enter()
    table = start.findChild(DataTable, "recent")
    qtbot.waitUntil(lambda: len(table.rows) == 2)
    assert [row.kind for row in table.rows] == [recent.SESSION, recent.MISSING]
    table.setFocus()
    table.choose(table.rows[1])
    qtbot.keyClick(table, Qt.Key.Key_Delete)
    qtbot.waitUntil(lambda: len(table.rows) == 1)
    table.choose(table.rows[0])
    qtbot.keyClick(table, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: window.shell.session is not None)


def test_a_path_that_is_not_there_is_reported_and_a_bench_file_is_taken(
    window: MainWindow, tmp_path: Path, qtbot: QtBot
) -> None:
    field = window.screen_named("start").findChild(QLineEdit, "start-trace-path")
    qtbot.keyClicks(field, str(tmp_path / "no.jls"))
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert "is not there" in window._notice.text
    bench = tmp_path / "my.toml"
    bench.write_text("")
    other = window.screen_named("start").findChild(QLineEdit, "start-bench-path")
    qtbot.keyClicks(other, str(bench))
    qtbot.keyClick(other, Qt.Key.Key_Return)
    assert window.shell.bench_path == bench
    assert window._stack.currentWidget().objectName() == "screen-bench"
    assert window._notice.text == ""


def test_the_virtual_bench_is_taken_in_hand(window: MainWindow, qtbot: QtBot) -> None:
    button = window.screen_named("start").findChild(QPushButton, "start-virtual")
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert window.shell.bench_path is not None and window.shell.bench_path.is_file()
    assert window._stack.currentWidget().objectName() == "screen-run"


def test_a_row_says_where_a_file_lies(tmp_path: Path) -> None:
    (tmp_path / "a.jls").write_text("")
    (tmp_path / "b.toml").write_text("")
    paths = [
        tmp_path / "a.jls",
        tmp_path / "b.toml",
        tmp_path,
        Path.home() / "x" / "c.jls",
    ]
    result = recent.rows(paths)
    assert [row.kind for row in result] == [
        "trace",
        "bench file",
        "session",
        "not there",
    ]
    assert result[3].place == "~/x"
    assert result[0].place == str(tmp_path)
