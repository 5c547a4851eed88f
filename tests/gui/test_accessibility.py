# SPDX-License-Identifier: Apache-2.0
"""Every widget that can have the keyboard has a name for tests and one for people who
hear it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractScrollArea,
    QComboBox,
    QHeaderView,
    QLineEdit,
    QScrollBar,
    QSplitterHandle,
    QTabBar,
    QWidget,
)

from gui.window import _ALL

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from gui.window import MainWindow

#: Parts of Qt's own widgets, which speak by the widget that they belong to.
_INNER = (QHeaderView, QScrollBar, QSplitterHandle, QTabBar)


def is_part(widget: QWidget) -> bool:
    """Return whether a widget is a part that Qt made of another one."""
    parent = widget.parentWidget()
    if isinstance(widget, _INNER) or widget.objectName().startswith("qt_"):
        return True
    if isinstance(parent, QAbstractScrollArea) and parent.viewport() is widget:
        return True
    if (
        isinstance(widget, QLineEdit)
        and parent is not None
        and parent.inherits("QAbstractSpinBox")
    ):
        return True
    if isinstance(widget, QLineEdit) and isinstance(parent, QComboBox):
        return True
    # The corner of a table, the button that clears a field, the list of a combo box.
    if isinstance(widget, QAbstractButton) and parent is not None:
        return parent.inherits("QTableView") or isinstance(parent, QLineEdit)
    kind = widget.metaObject().className()
    return kind.startswith(("QComboBoxPrivate", "QComboBoxListView"))


def nameless(top: QWidget) -> list[str]:
    """Return the widgets below one that keys can reach and that lack a name."""
    result = []
    for widget in top.findChildren(QWidget):
        # A text that can be chosen by mouse is not reached by keys.
        if not widget.focusPolicy() & Qt.FocusPolicy.TabFocus or is_part(widget):
            continue
        lacks = [
            name
            for name, value in (
                ("objectName", widget.objectName()),
                ("accessibleName", widget.accessibleName()),
            )
            if not value
        ]
        if lacks:
            position = widget.parentWidget()
            around = (
                f"{type(position).__name__} {position.objectName()}"
                if position is not None
                else ""
            )
            text = getattr(widget, "text", str)()
            kind = f"{type(widget).__name__} {widget.objectName()!r} {text!r}"
            result.append(f"{kind} in {around}: {', '.join(lacks)}")
    return result


@pytest.mark.parametrize("name", list(_ALL))
def test_every_widget_that_takes_keys_has_names(
    window: MainWindow, virtual_session: Path, qtbot: QtBot, name: str
) -> None:
    window.shell.memory.set("sessions", str(virtual_session.parent))
    window.open_session(virtual_session)
    qtbot.waitUntil(lambda: window.shell.session is not None)
    window.go(name)
    qtbot.waitUntil(lambda: not window.shell.worker.busy, timeout=20000)
    assert nameless(window) == []


def test_a_widget_without_a_name_is_found(qtbot: QtBot) -> None:
    top = QWidget()
    qtbot.addWidget(top)
    field = QLineEdit(top)
    assert len(nameless(top)) == 1
    field.setObjectName("field")
    assert "accessibleName" in nameless(top)[0]
    field.setAccessibleName("Field")
    assert nameless(top) == []
