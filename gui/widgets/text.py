# SPDX-License-Identifier: Apache-2.0
"""Labels with text that is never taken for markup: what devices and files say is shown as it is."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel


def plain(name: str, text: str = "", *, wrap: bool = False, selectable: bool = False) -> QLabel:
    """Return a label; `wrap` breaks long lines, `selectable` lets the mouse copy of it."""
    label = QLabel(text)
    label.setObjectName(name)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(wrap)
    if selectable:
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return label


def heading(name: str, text: str, scale: float) -> QLabel:
    """Return a label in bold letters, `scale` times as large as others."""
    label = plain(name, text)
    font = label.font()
    font.setBold(True)
    font.setPointSizeF(font.pointSizeF() * scale)
    label.setFont(font)
    return label
