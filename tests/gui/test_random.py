# SPDX-License-Identifier: Apache-2.0
"""Random sequences of clicks and keys: no exception, no leaked thread, supply off."""

from __future__ import annotations

import os
import random
import shutil
import threading
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QDesktopServices
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QComboBox,
    QFileDialog,
    QLineEdit,
    QPlainTextEdit,
    QTabBar,
    QWidget,
)

from drivers.virtual import VirtualMonitor
from gui.about import screen as about
from gui.memory import Memory
from gui.window import MainWindow
from rig.api import demonstration
from rig.bench import scan
from tests.conftest import VIRTUAL_NULL
from tests.length import length

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

_SEQUENCES = length(200, 40)
#: A window lives for so many sequences, so that what one leaves is there for the next.
_PER_WINDOW = 20
_ACTIONS = (1, 5)
#: One sequence may wait so long for its work in the background.
_SETTLE_MS = 5
_KEYS = (
    *(Qt.Key(Qt.Key.Key_1 + number) for number in range(7)),
    Qt.Key.Key_Tab,
    Qt.Key.Key_Space,
    Qt.Key.Key_Return,
    Qt.Key.Key_Escape,
    Qt.Key.Key_Delete,
    Qt.Key.Key_Left,
    Qt.Key.Key_Right,
    Qt.Key.Key_Up,
    Qt.Key.Key_Down,
    Qt.Key.Key_Plus,
    Qt.Key.Key_Minus,
    Qt.Key.Key_Asterisk,
    Qt.Key.Key_S,
    Qt.Key.Key_D,
    Qt.Key.Key_Z,
    Qt.Key.Key_F1,
    Qt.Key.Key_F5,
    Qt.Key.Key_F6,
)
_MODIFIERS = (
    Qt.KeyboardModifier.NoModifier,
    Qt.KeyboardModifier.NoModifier,
    Qt.KeyboardModifier.ShiftModifier,
    Qt.KeyboardModifier.ControlModifier,
)
_SCREENS = ("start", "bench", "run", "trace", "trials", "sessions", "meter")
_TEXTS = (
    "",
    "1",
    "-1e99",
    "nan",
    "x y",
    "#tag",
    "../..",
    "a=b",
    "\u202e\x00",
    "0.001",
    "µ",
    "9" * 40,
)
#: Widgets that a random click must not reach: other programs, and the end of the
#: window.
_LEFT_OUT = (
    "session-see-report",
    # Other benches than the small one: their runs and plans only take time.
    *("start-demo", "start-virtual", "bench-without", "new-create"),
)


@pytest.fixture
def place(
    tmp_path: Path, virtual_session: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A folder of its own with a session and a bench file, without a link to the
    outside.
    """
    monkeypatch.chdir(tmp_path)
    # What tasks generate is kept for all tests.
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    monkeypatch.setenv("XDG_CACHE_HOME", cache)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    (tmp_path / "sessions").mkdir()
    for name in ("one", "two"):
        shutil.copytree(virtual_session, tmp_path / "sessions" / name)
    text = VIRTUAL_NULL.read_text()
    (tmp_path / "bench.toml").write_text(
        text.replace("samples = 20", "samples = 2").replace("trials = 5", "trials = 2")
    )
    monkeypatch.setattr(about, "scan", list)
    monkeypatch.setattr(scan, "scan", lambda *words: [])
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: True)
    monkeypatch.setattr(demonstration, "default_root", lambda: tmp_path / "sessions")
    monkeypatch.setattr(demonstration, "NAME", "virtual-null")
    return tmp_path


@pytest.fixture
def supplies(monkeypatch: pytest.MonkeyPatch) -> dict[int, bool]:
    """The supply of each virtual monitor that is open: True while it is on."""
    on: dict[int, bool] = {}
    original_power = VirtualMonitor.power
    original_close = VirtualMonitor.close

    def power(self: VirtualMonitor, wanted: bool) -> None:
        original_power(self, wanted)
        on[id(self)] = wanted

    def close(self: VirtualMonitor) -> None:
        original_close(self)
        on[id(self)] = False

    monkeypatch.setattr(VirtualMonitor, "power", power)
    monkeypatch.setattr(VirtualMonitor, "close", close)
    return on


def targets(window: MainWindow) -> list[QWidget]:
    """Return what can be clicked now."""
    kinds = (
        QAbstractButton,
        QLineEdit,
        QComboBox,
        QAbstractItemView,
        QPlainTextEdit,
        QTabBar,
    )
    return [
        widget
        for widget in chain.from_iterable(map(window.findChildren, kinds))
        # Qt's own file chooser asks back and waits without a limit.
        if widget.window() is window
        and widget.isVisible()
        and widget.isEnabled()
        and widget.objectName() not in _LEFT_OUT
    ]


def act(window: MainWindow, chance: random.Random) -> str:
    """Do a random action; return its name."""
    what = chance.random()
    result = targets(window)
    if what < 0.45 and result:
        widget = chance.choice(result)
        where = widget.viewport() if isinstance(widget, QAbstractItemView) else widget
        size = where.size()
        at = QPoint(
            chance.randrange(max(size.width(), 1)),
            chance.randrange(max(size.height(), 1)),
        )
        if isinstance(widget, QComboBox) and widget.count():
            # Its list is a window of its own.
            widget.setCurrentIndex(chance.randrange(widget.count()))
        else:
            QTest.mouseClick(where, Qt.MouseButton.LeftButton, pos=at)
        return f"click {type(widget).__name__} {widget.objectName()} {at.x()},{at.y()}"
    if what < 0.6:
        fields = [widget for widget in result if isinstance(widget, QLineEdit)]
        if fields:
            field = chance.choice(fields)
            text = chance.choice(_TEXTS)
            field.setFocus()
            field.selectAll()
            field.insert(text)
            QTest.keyClick(field, Qt.Key.Key_Return)
            return f"type {text!r} into {field.objectName()}"
    key = chance.choice(_KEYS)
    modifier = chance.choice(_MODIFIERS)
    QTest.keyClick(window.focusWidget() or window, key, modifier)
    return f"key {key} {modifier}"


def test_random_sequences_leave_nothing_behind(
    qtbot: QtBot, place: Path, supplies: dict[int, bool]
) -> None:
    # Each sequence can be found again by its number: NEURORIG_SEQUENCE=17.
    only = os.environ.get("NEURORIG_SEQUENCE")
    numbers = [int(only)] if only else range(_SEQUENCES)
    before = set(threading.enumerate())
    done: list[str] = []
    window: MainWindow | None = None
    with qtbot.captureExceptions() as caught:
        for number in numbers:
            if window is None or number % _PER_WINDOW == 0:
                if window is not None:
                    assert close(qtbot, window)
                window = opened(qtbot, place, number)
            chance = random.Random(f"sequence-{number}")
            window.go(chance.choice(_SCREENS))
            for _ in range(chance.randint(*_ACTIONS)):
                done.append(f"{number}: {act(window, chance)}")
                QApplication.processEvents()
                if QApplication.activePopupWidget() is not None:
                    QApplication.activePopupWidget().close()
                dialog = QApplication.activeModalWidget()
                assert dialog is None or isinstance(dialog, QFileDialog), done[-8:]
                if dialog is not None:
                    dialog.close()
            qtbot.wait(_SETTLE_MS)
            assert not caught, (number, done[-10:], caught[0])
            if not window.isVisible():
                window = None
        if window is not None:
            assert close(qtbot, window)
    assert not caught, (done[-10:], caught[0])

    def ended() -> None:
        assert leaked(before) == []

    qtbot.waitUntil(ended, timeout=20000)
    assert not any(supplies.values()), "a supply is on"


def opened(qtbot: QtBot, place: Path, number: int) -> MainWindow:
    """Return a window with a session and a bench at hand."""
    window = MainWindow(Memory(place / f"gui-{number}.json"))
    window.shell.memory.set("sessions", str(place / "sessions"))
    window.resize(900, 640)
    window.show()
    window.shell.set_bench(place / "bench.toml")
    result = sorted((place / "sessions").glob("*/events.jsonl"))
    if result:
        window.open_session(result[0].parent)
        qtbot.waitUntil(lambda: not window.shell.worker.busy, timeout=20000)
    return window


def close(qtbot: QtBot, window: MainWindow) -> bool:
    """Close a window, which may have to wait for a run to end."""
    qtbot.waitUntil(lambda: bool(window.close()), timeout=20000)
    closed = not window.isVisible()
    # A closed window still takes time at each change of theme.
    window.deleteLater()
    QApplication.sendPostedEvents(window, QEvent.Type.DeferredDelete)
    return closed


def leaked(before: set[threading.Thread]) -> list[str]:
    """Return the threads that were not there before and still run."""
    return [thread.name for thread in threading.enumerate() if thread not in before]
