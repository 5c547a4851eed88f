# SPDX-License-Identifier: Apache-2.0
"""Buttons, boxes, timers and keys of a part of the window; widgets have names for
tests, styles and screen readers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeVar

from PySide6.QtCore import QSignalBlocker, QTimer
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QButtonGroup, QCheckBox, QComboBox, QPushButton, QWidget

Widget = TypeVar("Widget", bound=QWidget)
Action = Callable[[], object]


def named(widget: Widget, name: str, accessible: str) -> Widget:
    """Give a widget its names, and return it."""
    widget.setObjectName(name)
    widget.setAccessibleName(accessible)
    return widget


def push_button(
    name: str,
    text: str,
    action: Action | None = None,
    *,
    accessible: str = "",
    tip: str = "",
    role: str = "",
) -> QPushButton:
    """Return a button that calls `action`; it is read out as `accessible`, or else as
    its text. The style sheet has the roles.
    """
    button = named(QPushButton(text), name, accessible or text.replace("&", ""))
    button.setToolTip(tip)
    button.setProperty("role", role)
    if action is not None:
        # The signal's argument, whether a button is pressed, is left out.
        button.clicked.connect(lambda checked=False: action())
    return button


def page_buttons(
    prefix: str, pages: Iterable[tuple[str, str, str]], chosen: Callable[[str], object]
) -> dict[str, QPushButton]:
    """Return a button for each page, given as name, text and keys: one stays pressed;
    `chosen` is called with the name of a page.
    """
    buttons = {}
    for name, text, keys in pages:
        button = push_button(
            f"{prefix}-page-{name}", text, partial(chosen, name), tip=keys
        )
        button.setCheckable(True)
        buttons[name] = button
    # Tab reaches every button of a group, and of exclusive ones without a group one.
    group = QButtonGroup(next(iter(buttons.values())))
    for button in buttons.values():
        group.addButton(button)
    return buttons


def combo_box(
    name: str, accessible: str, items: Sequence[str] = (), action: Action | None = None
) -> QComboBox:
    """Return a box to choose one of some texts from; `action` is called with each
    other choice.
    """
    box = named(QComboBox(), name, accessible)
    box.addItems(list(items))
    if action is not None:
        box.currentIndexChanged.connect(lambda number: action())
    return box


def offer(
    box: QComboBox, rows: Iterable[tuple[str, object]], chosen: object = None
) -> None:
    """Offer texts with their values in a box; no action is called."""
    with QSignalBlocker(box):
        box.clear()
        for text, value in rows:
            box.addItem(text, value)
        box.setCurrentIndex(max(box.findData(chosen), 0))


def check_box(
    name: str, text: str, action: Action | None = None, *, accessible: str = ""
) -> QCheckBox:
    """Return a box to tick; `action` is called with each change."""
    box = named(QCheckBox(text), name, accessible or text.replace("&", ""))
    if action is not None:
        box.toggled.connect(lambda on: action())
    return box


def delayed(owner: QWidget, delay_ms: int, action: Action) -> QTimer:
    """Return a timer that calls `action` once, a time after its newest start."""
    timer = QTimer(owner)
    timer.setSingleShot(True)
    timer.setInterval(delay_ms)
    timer.timeout.connect(action)
    return timer


def shortcut(owner: QWidget, keys: str | QKeySequence, action: Action) -> QShortcut:
    """Let keys call `action`, with the focus anywhere while a widget is seen."""
    made = QShortcut(QKeySequence(keys), owner)
    made.activated.connect(action)
    return made
