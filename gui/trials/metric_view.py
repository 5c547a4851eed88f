# SPDX-License-Identifier: Apache-2.0
"""One metric: its value with both intervals, its trials over time, what if, and its
budget."""

from __future__ import annotations

from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPaintEvent
from PySide6.QtWidgets import QLabel, QScrollArea, QWidget

from gui.trials import words
from gui.trials.drift_view import DriftView
from gui.trials.what_if import WhatIfView
from gui.widgets.controls import named
from gui.widgets.layouts import LOW, STRETCH, in_column
from gui.widgets.painter import ThemedPainter
from gui.widgets.text import LEFT, enlarge, plain
from rig.api.trials.replication import BudgetLine, MetricTrials, SessionTrials
from rig.units import quantity, share

_PLOT_PX = 215
_PLOT_MOST_PX = 330
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


class MetricView(QScrollArea):
    """The panel of one metric of a session."""

    def __init__(self) -> None:
        super().__init__()
        named(self, "trials-metric", "The metric at hand")
        self.setWidgetResizable(True)
        self.setFrameShape(QScrollArea.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._title = _label("trials-metric-title")
        enlarge(self._title, 1.25)
        self._intervals = _label("trials-metric-intervals", role="muted")
        self._judged = _label("trials-metric-judged")
        self._slope = _label("trials-slope", role="muted")
        self._advice = _label("trials-advice")
        self.drift = DriftView()
        self.drift.setMinimumHeight(_PLOT_PX)
        self.drift.setMaximumHeight(_PLOT_MOST_PX)
        self.what_if = WhatIfView()
        self.budget = BudgetView()
        self._inner = QWidget()
        texts = [self._title, self._intervals, self._judged]
        claim = [self._slope, _rule(), self.what_if, _rule()]
        below = [*claim, self._advice, self.budget]
        rows = [*texts, (self.drift, 10), *below, STRETCH]
        in_column(rows, self._inner, margins=(10, 4, 10, 6), spacing=5)
        self.setWidget(self._inner)

    def set_metric(
        self, view: SessionTrials | None, metric: MetricTrials | None
    ) -> None:
        """Show a metric of a session."""
        self._inner.setVisible(metric is not None)
        self.drift.set_metric(metric)
        self.what_if.set_metric(view, metric)
        self.budget.set_metric(metric)
        if metric is None or view is None:
            return
        self._title.setText(f"{metric.name}   {words.value(metric)}")
        self._intervals.setText(" · ".join(words.statement(metric)))
        self._judged.setText(words.judged(metric, view.replication))
        self._slope.setText(words.slope(metric))
        self._advice.setText(metric.advice or "Uncertainty budget")


def _label(name: str, role: str = "") -> QLabel:
    return plain(name, role=role, wrap=True, selectable=True)


def _rule() -> QWidget:
    line = QWidget()
    line.setFixedHeight(1)
    line.setAutoFillBackground(True)
    line.setBackgroundRole(line.palette().ColorRole.Mid)
    return line
