# SPDX-License-Identifier: Apache-2.0
"""Dialogs beside the lines for paths: a choice in them acts as typed text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialogButtonBox,
    QFileDialog,
    QLabel,
    QLineEdit,
    QPushButton,
    QWidget,
)

from rig.files.shipped import DEMO

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from gui.window import MainWindow

FILE, NAME, FOLDER = (
    QFileDialog.FileMode.ExistingFile,
    QFileDialog.FileMode.AnyFile,
    QFileDialog.FileMode.Directory,
)


def press(parent: QWidget, qtbot: QtBot, name: str) -> QFileDialog:
    """Click on a button, and return the dialog that it opens."""
    button = parent.findChild(QPushButton, name)
    assert button is not None, name
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    dialog = button.findChild(QFileDialog)
    assert dialog is not None and dialog.isVisible(), name
    return dialog


def answer(dialog: QFileDialog, qtbot: QtBot, path: Path) -> None:
    """Type a path into a dialog, and click on its Open or Save."""
    box = dialog.findChild(QDialogButtonBox)
    button = next(
        each
        for each in box.buttons()
        if box.buttonRole(each) is QDialogButtonBox.ButtonRole.AcceptRole
    )
    dialog.findChild(QLineEdit).setText(str(path))
    qtbot.waitUntil(button.isEnabled)
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


@pytest.fixture
def files(tmp_path: Path) -> dict[QFileDialog.FileMode, Path]:
    file, folder = tmp_path / "some.toml", tmp_path / "folder"
    file.write_text("")
    folder.mkdir()
    return {FILE: file, NAME: tmp_path / "new.zip", FOLDER: folder}


@pytest.mark.parametrize(
    ("screen", "line", "mode"),
    [
        ("bench", "new-path", NAME),
        ("bench", "bench-save-as", NAME),
        ("run", "run-claim", FILE),
        ("run", "run-root", FOLDER),
        ("trace", "export-path", NAME),
        ("trace", "export-picture", NAME),
        ("about", "support-path", NAME),
        ("sessions", "sessions-root", FOLDER),
    ],
)
def test_a_path_is_chosen_in_a_dialog(
    window: MainWindow,
    qtbot: QtBot,
    files: dict[QFileDialog.FileMode, Path],
    screen: str,
    line: str,
    mode: QFileDialog.FileMode,
) -> None:
    window.go(screen)
    shown = window.screen_named(screen)
    field = shown.findChild(QLineEdit, line)
    # Some pages are not in front: their buttons work all the same.
    field.parentWidget().show()
    dialog = press(shown, qtbot, f"{line}-choose")
    assert dialog.fileMode() is mode
    saves = dialog.acceptMode() is QFileDialog.AcceptMode.AcceptSave
    assert saves == (mode is NAME)
    answer(dialog, qtbot, files[mode])
    qtbot.waitUntil(lambda: field.text() == str(files[mode]))


@pytest.mark.parametrize(
    ("screen", "line"),
    [("start", "start-bench-path"), ("bench", "open-bench"), ("run", "run-bench")],
)
def test_a_bench_that_is_chosen_is_taken_in_hand(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, screen: str, line: str
) -> None:
    bench = tmp_path / "my.toml"
    bench.write_text(DEMO.read_text())
    window.go(screen)
    answer(press(window.screen_named(screen), qtbot, f"{line}-choose"), qtbot, bench)
    qtbot.waitUntil(lambda: window.shell.bench_path == bench)


def test_ctrl_o_opens_a_file_or_a_session_from_a_dialog(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, virtual_session: Path
) -> None:
    window._path_bar.ask()
    answer(press(window, qtbot, "open-session"), qtbot, virtual_session)
    qtbot.waitUntil(lambda: window.shell.session is not None)
    assert not window._path_bar.isVisible()
    bench = tmp_path / "my.toml"
    bench.write_text(DEMO.read_text())
    window._path_bar.ask()
    answer(press(window, qtbot, "open-file"), qtbot, bench)
    qtbot.waitUntil(lambda: window.shell.bench_path == bench)


def test_the_start_screen_opens_a_session_and_a_trace_by_mouse(
    window: MainWindow, qtbot: QtBot, virtual_session: Path
) -> None:
    start = window.screen_named("start")
    for button, path in (
        ("start-session", virtual_session),
        ("start-trace", virtual_session / "trial-2" / "trace.jls"),
    ):
        window.go("start")
        qtbot.mouseClick(
            start.findChild(QPushButton, button), Qt.MouseButton.LeftButton
        )
        [dialog] = [
            each for each in start.findChildren(QFileDialog) if each.isVisible()
        ]
        answer(dialog, qtbot, path)
        qtbot.waitUntil(lambda: window.shell.session is not None)
    screen: Any = window.screen_named("trace")
    qtbot.waitUntil(
        lambda: screen.state is not None and screen.state.subject.trial == 2
    )


@pytest.mark.parametrize("by_dialog", [True, False])
def test_an_export_has_the_format_that_its_name_ends_with(
    window: MainWindow,
    qtbot: QtBot,
    tmp_path: Path,
    virtual_session: Path,
    by_dialog: bool,
) -> None:
    window.shell.open_trace(virtual_session / "trial-1" / "trace.jls")
    screen: Any = window.screen_named("trace")
    qtbot.waitUntil(lambda: screen.state is not None and screen.idle())
    screen.tabs.setCurrentWidget(screen.export)
    path = tmp_path / "part.csv"
    if by_dialog:
        answer(press(screen, qtbot, "export-path-choose"), qtbot, path)
    else:
        screen.export.path.selectAll()
        qtbot.keyClicks(screen.export.path, f"{path}\r")
    qtbot.waitUntil(lambda: screen.export.form.currentText() == "CSV")
    assert screen.export.path.text() == str(path)
    qtbot.waitUntil(lambda: screen.export.button.isEnabled() and screen.idle())
    qtbot.mouseClick(screen.export.button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(path.exists)
    assert path.read_text().count(",") > 100


def test_a_model_and_a_folder_of_data_are_chosen_for_a_bench_file(
    window: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    bench, model, data = tmp_path / "my.toml", tmp_path / "a.nir", tmp_path / "data"
    bench.write_text(DEMO.read_text())
    model.write_bytes(b"")
    data.mkdir()
    window.open_path(bench)
    screen: Any = window.screen_named("bench")
    qtbot.waitUntil(screen.findChild(QPushButton, "bench-prove").isEnabled)
    tab = screen.findChild(QPushButton, "bench-page-settings")
    qtbot.mouseClick(tab, Qt.MouseButton.LeftButton)
    screen.settings.form.choose("task")
    for key, path, mode in (("model", model, FILE), ("data", data, FOLDER)):
        name = f"field-task.asc.{key}"
        qtbot.waitUntil(lambda name=name: screen.findChild(QLineEdit, name) is not None)
        dialog = press(screen, qtbot, f"{name}-choose")
        assert dialog.fileMode() is mode
        answer(dialog, qtbot, path)
        qtbot.waitUntil(
            lambda path=path: str(path) in screen.settings.text.toPlainText()
        )
    save = screen.findChild(QPushButton, "bench-save")
    qtbot.waitUntil(save.isEnabled)
    qtbot.mouseClick(save, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(
        lambda: str(model) in bench.read_text() and str(data) in bench.read_text()
    )


def test_a_support_bundle_is_not_written_over_another_file(
    window: MainWindow, qtbot: QtBot, files: dict[QFileDialog.FileMode, Path]
) -> None:
    window.go("about")
    screen: Any = window.screen_named("about")
    qtbot.mouseClick(
        screen.findChild(QPushButton, "support-collect"), Qt.MouseButton.LeftButton
    )
    write = screen.findChild(QPushButton, "support-write")
    qtbot.waitUntil(write.isEnabled)
    answer(press(screen, qtbot, "support-path-choose"), qtbot, files[FILE])
    qtbot.mouseClick(write, Qt.MouseButton.LeftButton)
    texts = [label.text() for label in screen.findChildren(QLabel, "notice-text")]
    assert any("is there already" in text for text in texts)
    assert files[FILE].read_text() == ""
