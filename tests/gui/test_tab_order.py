# SPDX-License-Identifier: Apache-2.0
"""Tab reaches every widget of a screen that takes keys, and each page of its tabs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QLineEdit,
    QTabBar,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from gui.trace.screen import TraceScreen
from gui.window import _ALL
from tests.gui.test_accessibility import is_part

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from gui.trace.screen import TraceScreen
from gui.window import MainWindow


def due(top: QWidget) -> set[QWidget]:
    """Return the visible descendants of a widget that take the keyboard by Tab."""
    return {
        widget
        for widget in top.findChildren(QWidget)
        if widget.isVisible()
        and widget.isEnabled()
        and widget.focusPolicy() & Qt.FocusPolicy.TabFocus
        and (isinstance(widget, QTabBar) or not is_part(widget))
        and not (isinstance(widget, QTabBar) and not widget.count())
        and widget.focusProxy() is None
        and not _arrows_reach(widget)
    }


def _arrows_reach(widget: QWidget) -> bool:
    """Return whether it is one of several where Tab goes to the chosen one, by Qt's
    rule.
    """
    if not isinstance(widget, QAbstractButton) or widget.isChecked():
        return False
    group = widget.group()
    return group is not None and group.exclusive() and group.checkedButton() is not None


def reached(top: QWidget, qtbot: QtBot, most: int = 400) -> set[QWidget]:
    """Press Tab until the first one comes again; return what had the keyboard."""
    seen: list[QWidget] = []
    for _ in range(most):
        qtbot.keyClick(top.focusWidget() or top, Qt.Key.Key_Tab)
        focused = top.focusWidget()
        assert focused is not None
        if seen and focused is seen[0]:
            return set(seen)
        assert focused not in seen, f"Tab goes round without {seen[0].objectName()}"
        seen.append(focused)
    raise AssertionError("Tab never comes back")


def missed(top: QWidget, qtbot: QtBot) -> list[str]:
    """Return the names of widgets that Tab does not reach."""
    unreached = due(top) - reached(top, qtbot)
    return sorted(f"{type(each).__name__} {each.objectName()}" for each in unreached)


@pytest.mark.parametrize("name", list(_ALL))
def test_tab_reaches_everything(
    window: MainWindow, virtual_session: Path, qtbot: QtBot, name: str
) -> None:
    window.shell.memory.set("sessions", str(virtual_session.parent))
    window.open_session(virtual_session)
    qtbot.waitUntil(lambda: window.shell.session is not None)
    window.go(name)
    window.activateWindow()
    qtbot.waitUntil(lambda: not window.shell.worker.busy)
    screen = window.screen_named(name)
    if name == "trace":
        assert isinstance(screen, TraceScreen)
        qtbot.waitUntil(lambda: screen.state is not None and screen.idle())
    assert missed(window, qtbot) == []
    for tabs in screen.findChildren(QTabWidget):
        for position in range(tabs.count()):
            tabs.setCurrentIndex(position)
            assert missed(window, qtbot) == [], tabs.tabText(position)


def test_what_tab_does_not_reach_is_found(qtbot: QtBot) -> None:
    top = QWidget()
    qtbot.addWidget(top)
    around = QVBoxLayout(top)
    box = QWidget()
    around.addWidget(QLineEdit())
    around.addWidget(box)
    column = QVBoxLayout(box)
    fields = [QLineEdit() for _ in range(3)]
    for number, field in enumerate(fields):
        field.setObjectName(f"field-{number}")
        column.addWidget(field)
    top.show()
    assert missed(top, qtbot) == []
    # Tab into a widget with a proxy goes on after the proxy.
    box.setFocusProxy(fields[1])
    assert missed(top, qtbot) == ["QLineEdit field-0"]
