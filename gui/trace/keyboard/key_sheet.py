# SPDX-License-Identifier: Apache-2.0
"""The sheet of keys of the trace screen, shown over it by `?`."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QGridLayout, QWidget

from gui.widgets.controls import named
from gui.widgets.text import PlainLabel

KEYS = (
    ("Wheel, + and -", "zoom at the mouse, zoom"),
    ("Shift + wheel, ← →", "pan"),
    ("↑ ↓", "zoom in, zoom out"),
    ("Drag", "pan; on a marker: move it"),
    ("Shift + drag", "select a stretch; on a dual marker: move both lines"),
    ("Alt + drag", "place freely, off the edges"),
    ("Double click", "zoom to the window under the mouse"),
    ("* or Home", "whole trace"),
    ("Z", "zoom to the selection"),
    ("S", "single marker at the mouse"),
    ("D", "dual marker around the chosen window, or in the middle"),
    ("1 to 9", "select a marker; again: zoom to it"),
    ("F, Shift + F", "line at hand to the next edge, the one before"),
    ("N, Shift + N", "next window, the one before"),
    ("Ctrl + A", "select the whole trace"),
    ("Delete, Backspace", "delete the selected marker; with none: all"),
    ("Ctrl + Z, Shift + Ctrl + Z", "undo, redo markers"),
    ("Ctrl + C", "copy the statistics of the selection, or of the view"),
    ("Ctrl + S", "save annotations"),
    ("L", "logarithmic or linear axes"),
    ("U", "times in UTC, or from the start"),
    ("I", "numbers above each plot, or not"),
    ("H", "two levels on the plot under the mouse; drag them"),
    ("V", "a second trace below, or none"),
    ("X", "snap to edges, or not"),
    ("P", "save a picture"),
    ("Esc", "nothing selected"),
    ("?", "this sheet"),
)


class KeySheet(QFrame):
    """The keys in two columns; a click or a key closes it."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        named(self, "key-sheet", "Keys of the trace screen")
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self.setAutoFillBackground(True)
        grid = QGridLayout(self)
        grid.setContentsMargins(18, 14, 18, 14)
        grid.setHorizontalSpacing(14)
        half = -(-len(KEYS) // 2)
        for row, (keys, text) in enumerate(KEYS):
            column = 3 * (row // half)
            name = PlainLabel(keys, role="strong")
            name.setAlignment(Qt.AlignmentFlag.AlignRight)
            grid.addWidget(name, row % half, column)
            grid.addWidget(PlainLabel(text), row % half, column + 1)
        self.hide()

    def toggle(self) -> None:
        """Show the sheet in the middle of its screen, or hide it."""
        if self.isVisible():
            self.hide()
            return
        self.adjustSize()
        parent = self.parentWidget() or self
        left = max((parent.width() - self.width()) // 2, 0)
        top = max((parent.height() - self.height()) // 3, 0)
        self.move(left, top)
        self.show()
        self.raise_()
