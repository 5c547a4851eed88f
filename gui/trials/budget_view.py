# SPDX-License-Identifier: Apache-2.0
"""The uncertainty budget of a metric as bars: what to improve first stands on top."""

from __future__ import annotations

from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPaintEvent
from PySide6.QtWidgets import QWidget

from gui.widgets.controls import named
from gui.widgets.layouts import LOW
from gui.widgets.painter import ThemedPainter
from gui.widgets.text import LEFT
from rig.api.trials.replication import BudgetLine, MetricTrials
from rig.units import quantity, share

_ROW_PX = 20
_NAME_PX = 150
_NUMBER_PX = 250
_ROWS_MAX = 9


class BudgetView(QWidget):
    """Bars of the components' standard uncertainties; hollow where the scatter of
    trials contains a component already.
    """

    def __init__(self) -> None:
        super().__init__()
        named(self, "trials-budget", "Uncertainty budget")
        self.setSizePolicy(LOW)
        self.lines: tuple[BudgetLine, ...] = ()
        self._unit = ""

    def set_metric(self, metric: MetricTrials | None) -> None:
        """Show the budget of a metric."""
        self.lines = () if metric is None else metric.budget[:_ROWS_MAX]
        self._unit = "" if metric is None else metric.metric.unit
        lines = [
            f"{line.component} {quantity(line.standard_uncertainty, self._unit)}"
            for line in self.lines
        ]
        self.setAccessibleDescription("; ".join(lines))
        self.setFixedHeight(max(_ROW_PX * len(self.lines), _ROW_PX))
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802
        """Return the size that shows all lines."""
        return QSize(500, max(_ROW_PX * len(self.lines), _ROW_PX))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        """Paint a bar a component."""
        painter = ThemedPainter(self)
        if not self.lines:
            text = "No budget is stated for it."
            left = Qt.AlignmentFlag.AlignLeft
            painter.text(self.rect(), left, text, painter.theme.muted)
        largest = (
            max((line.standard_uncertainty for line in self.lines), default=0.0) or 1.0
        )
        room = max(self.width() - _NAME_PX - _NUMBER_PX, 40)
        for row, line in enumerate(self.lines):
            self._paint_line(
                painter, line, row, line.standard_uncertainty / largest * room
            )
        painter.end()

    def _paint_line(
        self, painter: ThemedPainter, line: BudgetLine, row: int, long_px: float
    ) -> None:
        top = row * _ROW_PX
        counted = line.variance_share is not None
        first = row == 0 and counted
        ink = painter.theme.text if counted else painter.theme.muted
        name = self.fontMetrics().elidedText(
            line.component, Qt.TextElideMode.ElideRight, _NAME_PX - 8
        )
        painter.text(QRect(0, top, _NAME_PX - 8, _ROW_PX), LEFT, name, ink)
        colour = QColor(painter.theme.warn if first else painter.theme.accent)
        bar = QRectF(_NAME_PX, top + 4, max(long_px, 1.0), _ROW_PX - 8)
        if counted:
            painter.fillRect(bar, colour)
        else:
            painter.setPen(QColor(painter.theme.muted))
            painter.drawRect(bar)
        number = quantity(line.standard_uncertainty, self._unit)
        part = (
            f"{_rounded(line.variance_share)} of variance"
            if line.variance_share is not None
            else "in the scatter"
        )
        text = f"{number} ({share(line.relative)}), {part}"
        box = QRect(self.width() - _NUMBER_PX + 6, top, _NUMBER_PX - 6, _ROW_PX)
        painter.text(box, LEFT, text, ink)


def _rounded(part: float) -> str:
    return "<1 %" if part < 0.01 else f"{part * 100:.0f} %"
