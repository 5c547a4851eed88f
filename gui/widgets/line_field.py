# SPDX-License-Identifier: Apache-2.0
"""A field of one line."""

from __future__ import annotations

from PySide6.QtWidgets import QLineEdit

from gui.widgets.controls import named
from gui.widgets.text import tip


class LineField(QLineEdit):
    """A field whose text stands under the mouse too, or its hint while it is empty: a
    path may be longer than the field.
    """

    def __init__(self, name: str, accessible: str, hint: str = "") -> None:
        super().__init__()
        named(self, name, accessible)
        self.setPlaceholderText(hint)
        self.setToolTip(tip(hint or accessible))
        self.textChanged.connect(self._show_under_mouse)

    def _show_under_mouse(self, text: str) -> None:
        shown = text or self.placeholderText()
        accessible = self.accessibleName()
        self.setToolTip(tip(f"{accessible}: {shown}" if shown else accessible))
