# SPDX-License-Identifier: Apache-2.0
"""The names of the phases beside their colours."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui.theme import Theme
from gui.trace.picture.bands_item import band_colour
from gui.trace.shown.engine import IDLE_COLOUR, WARM_UP_COLOUR
from gui.widgets.text import tip
from rig.plain_text import visible

_BOX_PX = 11
_SPACE_PX = 14


class Legend(QWidget):
    """A line of colours and names; as wide as it needs."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("trace-legend")
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.theme = theme
        self._entries: list[tuple[int, str]] = []

    def set_phases(self, phases: Sequence[str], colours: Collection[int]) -> None:
        """Name the phases that are drawn, by the number of their colour."""
        drawn = set(colours)
        names = {number: visible(phase) for number, phase in enumerate(phases)}
        names |= {IDLE_COLOUR: "idle", WARM_UP_COLOUR: "warm-up"}
        self._entries = [(number, name) for number, name in names.items() if number in drawn]
        self.setAccessibleName("Phases: " + ", ".join(name for _, name in self._entries))
        self.setToolTip(tip(", ".join(name for _, name in self._entries)))
        self.updateGeometry()
        self.update()

    def set_theme(self, theme: Theme) -> None:
        """Paint in the colours of a theme."""
        self.theme = theme
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802
        """Return the size of all names."""
        metrics = QFontMetrics(self.font())
        wide = sum(
            _BOX_PX + 5 + metrics.horizontalAdvance(name) + _SPACE_PX for _, name in self._entries
        )
        return QSize(wide, metrics.height() + 4)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        """Paint colours and names."""
        painter = QPainter(self)
        metrics = QFontMetrics(self.font())
        x = 0.0
        for number, name in self._entries:
            if x + _BOX_PX + 5 + metrics.horizontalAdvance(name) > self.width():
                painter.setPen(QColor(self.theme.text))
                painter.drawText(QPointF(x, (self.height() + metrics.ascent()) / 2 - 1), "…")
                break
            box = QRectF(x, (self.height() - _BOX_PX) / 2, _BOX_PX, _BOX_PX)
            painter.fillRect(box, band_colour(number, self.theme, loud=True))
            wide = metrics.horizontalAdvance(name)
            painter.setPen(QColor(self.theme.text))
            painter.drawText(
                QRectF(x + _BOX_PX + 5, 0, wide + 2, self.height()),
                Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft,
                name,
            )
            x += _BOX_PX + 5 + wide + _SPACE_PX
