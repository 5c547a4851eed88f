# SPDX-License-Identifier: Apache-2.0
"""One metric: its value with both intervals, its trials over time, what if, and its
budget."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QScrollArea, QWidget

from gui.trials import words
from gui.trials.budget_view import BudgetView
from gui.trials.drift_view import DriftView
from gui.trials.what_if import WhatIfView
from gui.widgets.controls import named
from gui.widgets.layouts import STRETCH, in_column
from gui.widgets.text import enlarge, plain
from rig.api.trials.replication import MetricTrials, SessionTrials

_PLOT_PX = 215
_PLOT_MOST_PX = 330


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
        in_column(
            [
                *texts,
                (self.drift, 10),
                *below,
                STRETCH,
            ],
            self._inner,
            margins=(10, 4, 10, 6),
            spacing=5,
        )
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
