# SPDX-License-Identifier: Apache-2.0
"""Buttons and boxes with names for tests, styles and screen readers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtWidgets import QCheckBox, QComboBox, QPushButton


def push_button(
    name: str,
    text: str,
    action: Callable[[], object] | None = None,
    *,
    accessible: str = "",
    tip: str = "",
    role: str = "",
) -> QPushButton:
    """Return a button that calls `action`; it is read out as `accessible`, or else as
    its text. The style sheet has the roles.
    """
    button = QPushButton(text)
    button.setObjectName(name)
    button.setAccessibleName(accessible or text.replace("&", ""))
    button.setToolTip(tip)
    button.setProperty("role", role)
    if action is not None:
        # The signal's argument, whether a button is pressed, is left out.
        button.clicked.connect(lambda checked=False: action())
    return button


def combo_box(name: str, accessible: str, items: Sequence[str] = ()) -> QComboBox:
    """Return a box to choose one of some texts from."""
    box = QComboBox()
    box.setObjectName(name)
    box.setAccessibleName(accessible)
    box.addItems(list(items))
    return box


def check_box(name: str, text: str, *, accessible: str = "") -> QCheckBox:
    """Return a box to tick."""
    box = QCheckBox(text)
    box.setObjectName(name)
    box.setAccessibleName(accessible or text.replace("&", ""))
    return box
