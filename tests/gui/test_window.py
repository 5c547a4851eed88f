# SPDX-License-Identifier: Apache-2.0
"""The window: its screens by keys, dropped files, errors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtWidgets import QLineEdit, QSplitter

from gui.memory import Memory
from gui.window import MainWindow
from rig.errors import DataError

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot


def shown(window: MainWindow) -> str:
    return window._stack.currentWidget().objectName()


def test_control_and_a_digit_show_a_screen(window: MainWindow, qtbot: QtBot) -> None:
    names = []
    for digit in "2345671":
        key = getattr(Qt.Key, f"Key_{digit}")
        window.activateWindow()
        qtbot.keyClick(window, key, Qt.KeyboardModifier.ControlModifier)
        names.append(shown(window))
    assert names == [
        f"screen-{name}"
        for name in ("bench", "run", "trace", "trials", "sessions", "meter", "start")
    ]


def dropped(path: Path) -> QDropEvent:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    dropped.kept = data  # type: ignore[attr-defined]
    return QDropEvent(
        QPointF(10, 10),
        Qt.DropAction.CopyAction,
        data,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )


def test_a_session_that_is_dropped_opens(
    window: MainWindow, virtual_session: Path, qtbot: QtBot
) -> None:
    window.dropEvent(dropped(virtual_session))
    qtbot.waitUntil(lambda: window.shell.session is not None)
    assert window.shell.session is not None
    assert window.shell.session.path == virtual_session
    assert window.shell.memory.recent == [virtual_session]
    assert virtual_session.name in window.windowTitle()


def test_an_error_is_a_sentence_in_the_window(
    window: MainWindow, tmp_path: Path, qtbot: QtBot
) -> None:
    window.say_error(
        DataError("x is no trace", evidence="it is empty", try_next="another file")
    )
    assert (
        window._notice.text == "x is no trace\nevidence: it is empty\ntry: another file"
    )
    window.open_session(tmp_path)
    qtbot.waitUntil(
        lambda: (
            "is no session" in window._notice.text
            or tmp_path.name in window._notice.text
        )
    )


def test_what_devices_say_is_no_markup(window: MainWindow) -> None:
    window.say_error(DataError("<b>bold</b>\x1b[31m"))
    assert "<b>bold</b>" in window._notice.text
    assert "\x1b" not in window._notice.text


def test_a_path_is_opened_by_keys_and_escape_leaves_the_question(
    window: MainWindow, virtual_session: Path, qtbot: QtBot
) -> None:
    field = window.findChild(QLineEdit, "open-path")
    qtbot.keyClick(window, Qt.Key.Key_O, Qt.KeyboardModifier.ControlModifier)
    assert field.isVisible()
    qtbot.keyClick(field, Qt.Key.Key_Escape)
    assert not field.isVisible()
    qtbot.keyClick(window, Qt.Key.Key_O, Qt.KeyboardModifier.ControlModifier)
    qtbot.keyClicks(field, str(virtual_session))
    qtbot.keyClick(field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: window.shell.session is not None)
    assert not field.isVisible()


def test_size_and_splitters_are_remembered(qtbot: QtBot, tmp_path: Path) -> None:
    shapes = []
    for first in (True, False):
        made = MainWindow(Memory(tmp_path / "gui.json"))
        qtbot.addWidget(made)
        made.go("keys")
        splitter = QSplitter(made.screen_named("keys"))
        splitter.setObjectName("of-a-test")
        for _ in range(2):
            splitter.addWidget(QLineEdit())
        splitter.resize(400, 50)
        made._restore_splitters(made.screen_named("keys"))
        if first:
            # The offscreen display has 800 x 800: a larger window is not restored.
            made.resize(860, 611)
        made.show()
        qtbot.waitExposed(made)
        if first:
            splitter.setSizes([300, 100])
        shapes.append((made.height(), splitter.sizes()))
        made.close()
    assert shapes[0] == shapes[1]
    assert shapes[0][0] == 611 and shapes[0][1][0] > 250


def test_a_page_stays_when_the_keyboard_comes_to_the_navigation(
    window: MainWindow, qtbot: QtBot
) -> None:
    window.activateWindow()
    for key in (Qt.Key.Key_F1, Qt.Key.Key_F1):
        qtbot.keyClick(window, key)
        window.go("about")
        window._navigation.clearFocus()
        window._navigation.setFocus()
        qtbot.wait(10)
        assert shown(window) == "screen-about"
        screens = [
            window._stack.widget(position) for position in range(window._stack.count())
        ]
        assert [each.objectName() for each in screens if each.isVisible()] == [
            "screen-about"
        ]
    qtbot.keyClick(window._navigation, Qt.Key.Key_Down)
    assert shown(window) == "screen-bench"
