# SPDX-License-Identifier: Apache-2.0
"""Painting in the colours of the theme that is shown."""

from __future__ import annotations

from typing import Self

from PySide6.QtCore import QRect, QRectF, Qt
from PySide6.QtGui import QColor, QPaintDevice, QPainter

from gui.theme import shown


def faint(colour: str, share: float) -> QColor:
    """Return an opaque colour that looks like a transparent one on the ground of
    plots.
    """
    front, back = QColor(colour), QColor(shown().base)
    fronts = front.redF(), front.greenF(), front.blueF()
    backs = back.redF(), back.greenF(), back.blueF()
    pairs = zip(fronts, backs, strict=True)
    red, green, blue = (
        share * of_front + (1 - share) * of_back for of_front, of_back in pairs
    )
    return QColor.fromRgbF(red, green, blue)


class ThemedPainter(QPainter):
    """A painter with the theme that is shown; on a device at once, or after `begin`."""

    def __init__(self, device: QPaintDevice | None = None) -> None:
        super().__init__()
        self.theme = shown()
        if device is not None:
            self.begin(device)

    def __enter__(self) -> Self:
        return self

    def text(
        self, area: QRect | QRectF, alignment: Qt.AlignmentFlag, text: str, colour: str
    ) -> None:
        """Paint a text into an area."""
        self.setPen(QColor(colour))
        self.drawText(area, alignment, text)

    def shade(self, area: QRect | QRectF, colour: str, opacity: float) -> None:
        """Fill an area with a translucent colour."""
        fill = QColor(colour)
        fill.setAlphaF(opacity)
        self.fillRect(area, fill)
