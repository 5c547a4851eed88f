# SPDX-License-Identifier: Apache-2.0
"""The names of a plot's curves and lines, above the plot, where they hide no sample."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from PySide6.QtCore import QLineF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui.widgets.painter import ThemedPainter
from gui.widgets.text import LEFT
from rig.files.plain_text import visible

_STROKE_PX = 16.0
_SPACE_PX = 5.0
_GAP_PX = 12.0


@dataclass(frozen=True, slots=True)
class CurveName:
    """A name, and how its curve is drawn."""

    text: str
    colour: str
    width: float = 1.0
    is_dashed: bool = False


class CurveNames(QWidget):
    """Strokes and names in lines that break where the width ends; hidden without
    names.
    """

    def __init__(self) -> None:
        super().__init__()
        self.names: list[CurveName] = []
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.hide()

    def clear(self) -> None:
        """Forget the names."""
        self.names = []
        self._changed()

    def add(self, name: CurveName) -> None:
        """Add the name of a curve or a line."""
        self.names.append(name)
        self._changed()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Take the height of all lines at the new width."""
        super().resizeEvent(event)
        self._take_height()

    def boxes(self, wide: float) -> Iterator[QRectF]:
        """Yield the place of each stroke with its name."""
        metrics = QFontMetricsF(self.font())
        tall = metrics.height()
        x = y = 0.0
        for name in self.names:
            text_px = metrics.horizontalAdvance(visible(name.text))
            needed_px = _STROKE_PX + _SPACE_PX + text_px + 1
            if x and x + needed_px > wide:
                x, y = 0.0, y + tall
            yield QRectF(x, y, needed_px, tall)
            x += needed_px + _GAP_PX

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        """Paint strokes and names."""
        with ThemedPainter(self) as painter:
            for name, box in zip(self.names, self.boxes(self.width()), strict=True):
                _paint(painter, name, box)

    def _changed(self) -> None:
        self.setAccessibleName(", ".join(visible(name.text) for name in self.names))
        self.setVisible(bool(self.names))
        self._take_height()
        self.update()

    def _take_height(self) -> None:
        bottoms = [box.bottom() for box in self.boxes(self.width())]
        self.setFixedHeight(math.ceil(max(bottoms, default=0.0)))


def _paint(painter: ThemedPainter, name: CurveName, box: QRectF) -> None:
    style = Qt.PenStyle.DashLine if name.is_dashed else Qt.PenStyle.SolidLine
    painter.setPen(QPen(QColor(name.colour), name.width + 0.5, style))
    middle = box.center().y()
    right = box.left() + _STROKE_PX
    painter.drawLine(QLineF(box.left(), middle, right, middle))
    area = box.adjusted(_STROKE_PX + _SPACE_PX, 0, 0, 0)
    painter.text(area, LEFT, visible(name.text), painter.theme.text)
