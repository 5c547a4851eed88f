# SPDX-License-Identifier: Apache-2.0
"""Text that is never taken for markup, and in which nothing is unseen: what devices, instruments
and files say is shown as it is.
"""

from __future__ import annotations

import html

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget

from rig.plain_text import visible


class PlainLabel(QLabel):
    """A label of plain text, the only kind in the window: Qt takes a text with a tag in it for
    markup otherwise.
    """

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setText(text)

    def setText(self, text: str) -> None:  # noqa: N802
        """Show a text."""
        super().setText(visible(text))


def plain(name: str, text: str = "", *, wrap: bool = False, selectable: bool = False) -> PlainLabel:
    """Return a label; `wrap` breaks long lines, `selectable` lets the mouse copy of it."""
    label = PlainLabel(text)
    label.setObjectName(name)
    label.setWordWrap(wrap)
    if selectable:
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return label


def heading(name: str, text: str, scale: float) -> PlainLabel:
    """Return a label in bold letters, `scale` times as large as others."""
    label = plain(name, text)
    font = label.font()
    font.setBold(True)
    font.setPointSizeF(font.pointSizeF() * scale)
    label.setFont(font)
    return label


def no_markup(text: str) -> str:
    """Return a text for a place that takes HTML and nothing else, as titles of plots do."""
    return html.escape(visible(text), quote=False)


def tip(text: str) -> str:
    """Return a text to show under the mouse, where Qt takes what looks like markup for it."""
    return f"<qt>{no_markup(text)}</qt>".replace("\n", "<br>") if text else ""
