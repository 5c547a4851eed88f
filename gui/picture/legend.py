# SPDX-License-Identifier: Apache-2.0
"""The names of the phases beside their colours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QPointF, QRectF, QSize
from PySide6.QtGui import QColor, QFontMetrics, QFontMetricsF, QPaintEvent
from PySide6.QtWidgets import QWidget

from gui.picture.bands_item import band_colour
from gui.widgets.layouts import SHRINKING
from gui.widgets.painter import ThemedPainter
from gui.widgets.text import LEFT, tip
from rig.files.plain_text import visible

_BOX_PX = 11
_SPACE_PX = 14


class Legend(QWidget):
    """A line of colours and names, as wide as it may be; the rest is in its tooltip."""

    def __init__(self) -> None:
        super().__init__()
        self.setSizePolicy(SHRINKING)
        self.entries: list[tuple[int, str]] = []

    def set_phases(self, names: Mapping[int, str]) -> None:
        """Name the phases that are drawn, by the number of their colour."""
        entries = [
            (number, visible(names[number])) for number in sorted(names, key=_order)
        ]
        if entries == self.entries:
            return
        self.entries = entries
        self.setAccessibleName("Phases: " + ", ".join(name for _, name in self.entries))
        self.setToolTip(tip(", ".join(name for _, name in self.entries)))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802
        """Return the size of all names."""
        metrics = QFontMetrics(self.font())
        wide = sum(
            _BOX_PX + 5 + metrics.horizontalAdvance(name) + _SPACE_PX
            for _, name in self.entries
        )
        return QSize(wide, metrics.height() + 4)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        """Paint colours and names."""
        with ThemedPainter(self) as painter:
            paint_legend(painter, self.entries, self.rect().toRectF())


def paint_legend(
    painter: ThemedPainter,
    entries: Sequence[tuple[int, str]],
    area: QRectF,
) -> None:
    """Paint colours and names in a line from the left of an area."""
    metrics = QFontMetricsF(painter.font())
    x = area.left()
    for number, name in entries:
        wide = metrics.horizontalAdvance(name)
        painter.setPen(QColor(painter.theme.text))
        if x + _BOX_PX + 5 + wide > area.right():
            baseline = area.center().y() + metrics.ascent() / 2 - 1
            painter.drawText(QPointF(x, baseline), "…")
            break
        top = area.center().y() - _BOX_PX / 2
        painter.fillRect(
            QRectF(x, top, _BOX_PX, _BOX_PX), band_colour(number, loud=True)
        )
        box = QRectF(x + _BOX_PX + 5, area.top(), wide + 2, area.height())
        painter.drawText(box, LEFT, name)
        x += _BOX_PX + 5 + wide + _SPACE_PX


def _order(number: int) -> tuple[bool, int]:
    """Return the place of a colour: phases before what does not count."""
    return number < 0, abs(number)
