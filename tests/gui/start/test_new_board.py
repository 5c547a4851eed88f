# SPDX-License-Identifier: Apache-2.0
"""The page of a board's first bench: made by clicks, stopped, refused."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
)

from gui.start.new_board import NewBoardPage, ports_known
from rig.bench.first_bench import PORT, FirstBench
from rig.bench.scan import FOUND, SERIAL, ScanRow
from tests.rig.cli.boards.test_firmware import fake_tool, needs_make

if TYPE_CHECKING:
    import pytest
    from pytestqt.qtbot import QtBot

    from gui.window import MainWindow

LEFT = Qt.MouseButton.LeftButton
ROWS = [
    ScanRow("nordic_ppk2", "PPK2", FOUND, addresses=("/dev/p", "/dev/shell")),
    ScanRow(SERIAL, "/dev/b: adapter", FOUND, addresses=("/dev/b",)),
]


def choose(page: NewBoardPage, box: str, name: str) -> None:
    found = page.findChild(QComboBox, box)
    found.setCurrentIndex(found.findData(name))
    assert found.currentData() == name


def page_of(window: MainWindow, qtbot: QtBot) -> NewBoardPage:
    start = window.screen_named("start")
    qtbot.mouseClick(start.findChild(QPushButton, "start-board"), LEFT)
    page = start.findChild(NewBoardPage)
    boards = page.findChild(QComboBox, "new-board")
    qtbot.waitUntil(lambda: boards.count() > 0)
    return page


@needs_make
def test_a_bench_is_made_by_clicks_and_taken_to_its_wires(
    window: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    page = page_of(window, qtbot)
    choose(page, "new-board", "posix")
    choose(page, "new-board", "posix")
    page.findChild(QLineEdit, "new-folder").setText(str(tmp_path / "mine"))
    wires = page.findChild(QPushButton, "new-open")
    assert not wires.isEnabled()
    qtbot.mouseClick(page.findChild(QPushButton, "new-make"), LEFT)
    qtbot.waitUntil(wires.isEnabled)
    lines = page.findChild(QPlainTextEdit, "new-lines").toPlainText().splitlines()
    given = [line.split()[2:4] for line in lines if line.startswith("$ rig ")]
    assert given == [["firmware", "new"], ["firmware", "build"]]
    assert (tmp_path / "mine" / "build" / "posix" / "asc").is_file()
    qtbot.mouseClick(wires, LEFT)
    assert window.shell.bench_path == tmp_path / "mine" / "asc.toml"
    assert window._stack.currentWidget().objectName() == "screen-bench"


@needs_make
def test_a_stop_ends_the_command_at_once_and_what_is_made_stays(
    window: MainWindow,
    qtbot: QtBot,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tools = tmp_path / "tools"
    fake_tool(tools, "make")
    (tools / "make").write_text("#!/bin/sh\necho compiling\nexec sleep 600\n", "ascii")
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    page = page_of(window, qtbot)
    choose(page, "new-board", "posix")
    choose(page, "new-board", "posix")
    page.findChild(QLineEdit, "new-folder").setText(str(tmp_path / "mine"))
    make = page.findChild(QPushButton, "new-make")
    lines = page.findChild(QPlainTextEdit, "new-lines")
    qtbot.mouseClick(make, LEFT)
    qtbot.waitUntil(lambda: "firmware build" in lines.toPlainText())
    assert not make.isEnabled()
    qtbot.mouseClick(page.findChild(QPushButton, "new-stop"), LEFT)
    notice = window.screen_named("start").findChild(QLabel, "notice-text")
    qtbot.waitUntil(lambda: notice.text().startswith("stopped: "))
    assert make.isEnabled() and (tmp_path / "mine" / "port.toml").is_file()
    assert not page.findChild(QPushButton, "new-open").isEnabled()


def test_a_folder_of_something_else_is_refused_before_any_command(
    window: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    (tmp_path / "letters.txt").write_text("mine")
    page = page_of(window, qtbot)
    choose(page, "new-board", "posix")
    choose(page, "new-board", "posix")
    page.findChild(QLineEdit, "new-folder").setText(str(tmp_path))
    qtbot.mouseClick(page.findChild(QPushButton, "new-make"), LEFT)
    notice = window.screen_named("start").findChild(QLabel, "notice-text")
    qtbot.waitUntil(lambda: "no project of posix" in notice.text())
    assert page.findChild(QPlainTextEdit, "new-lines").toPlainText() == ""


def test_what_is_attached_is_proposed_and_what_lacks_is_named(qtbot: QtBot) -> None:
    page = NewBoardPage()
    qtbot.addWidget(page)
    page.set_ports(ports_known())
    choose(page, "new-board", "pico")
    choose(page, "new-monitor", "ppk2")
    make = page.findChild(QPushButton, "new-make")
    remark = page.findChild(QLabel, "new-remark")
    assert "port of the board" in remark.text() and not make.isEnabled()
    page.findChild(QComboBox, "new-port").setEditText("/dev/mine")
    assert "address of the monitor" in remark.text() and not make.isEnabled()
    page.set_attached(ROWS)
    assert make.isEnabled() and make.text().replace("&", "") == "Make, build and flash"
    asked: list[tuple[FirstBench, bool]] = []
    page.asked.connect(lambda first, flashes: asked.append((first, flashes)))
    page.findChild(QCheckBox, "new-flashed").setChecked(True)
    qtbot.mouseClick(make, LEFT)
    [(first, flashes)] = asked
    assert not flashes
    # A port that was typed stays, also after a scan.
    assert first.addresses == {PORT: "/dev/mine", "monitor.nordic_ppk2.port": "/dev/p"}
    assert first.bench.name == "pico-ppk2.toml"
    choose(page, "new-monitor", "simulated")
    assert make.text().replace("&", "") == "Make and build"
