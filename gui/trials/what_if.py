# SPDX-License-Identifier: Apache-2.0
"""What if I claim ...: a slider, and what both rules say of the claim at hand."""

from __future__ import annotations

import math

from PySide6.QtCore import QRectF, QSignalBlocker, Qt
from PySide6.QtGui import QColor, QPaintEvent, QPen
from PySide6.QtWidgets import (
    QDoubleSpinBox,
    QGridLayout,
    QSlider,
    QWidget,
)

from gui.trials import words
from gui.widgets.controls import named, push_button
from gui.widgets.layouts import LOW, STRETCH, in_column, in_row
from gui.widgets.painter import ThemedPainter
from gui.widgets.text import LEFT, PlainLabel, set_state
from rig.api.trials.replication import (
    AUDIT,
    REPLICATION,
    MetricTrials,
    SessionTrials,
    WhatIf,
    claims_that_hold,
    what_if,
)
from rig.model.metric import Deviation

#: The slider goes so far to both sides of the mean, in steps of a thousandth of it.
_REACH = 0.15
_STEPS = 150
_HANDLE_PX = 6


class WhatIfView(QWidget):
    """A claimed value to play with, and the verdicts of both rules on it."""

    def __init__(self) -> None:
        super().__init__()
        self._view: SessionTrials | None = None
        self._metric: MetricTrials | None = None
        self._factor = 1.0
        self.found: WhatIf | None = None
        self.entry = named(QDoubleSpinBox(), "trials-claim", "Claimed value")
        self.entry.setKeyboardTracking(False)
        self.entry.setButtonSymbols(QDoubleSpinBox.ButtonSymbols.NoButtons)
        self.entry.setToolTip("A value, or the arrow keys for thousandths of the mean")
        self.entry.setRange(-1e12, 1e12)
        self.entry.setMinimumWidth(150)
        self.slider = named(
            QSlider(Qt.Orientation.Horizontal),
            "trials-slider",
            "Claimed value, in thousandths of the mean",
        )
        self.slider.setRange(-_STEPS, _STEPS)
        self.slider.setPageStep(10)
        self.back = push_button(
            "trials-claim-back",
            "Back",
            self.reset,
            accessible="Back to the claim of the session",
            tip="Back to the session's claim, or to the mean of its trials",
        )
        self._strip = HoldStrip()
        self._told = {rule: PlainLabel(wrap=True) for rule in (REPLICATION, AUDIT)}
        self._ranges = {
            rule: PlainLabel(role="muted", wrap=True) for rule in (REPLICATION, AUDIT)
        }
        self._titles = {rule: PlainLabel(wrap=True) for rule in (REPLICATION, AUDIT)}
        self._lay_out()
        self.slider.valueChanged.connect(self._slid)
        self.entry.valueChanged.connect(self._entered)

    def set_metric(
        self, view: SessionTrials | None, metric: MetricTrials | None
    ) -> None:
        """Take a metric; the claim is that of the session, or the mean of its
        trials."""
        self._view = view
        self._metric = metric
        self.setEnabled(metric is not None and math.isfinite(metric.mean))
        if metric is None or view is None:
            return
        self._factor, unit = words.shown_unit(metric)
        decimals = max(4 - math.floor(math.log10(self._size * self._factor)), 0)
        # Signals of the old metric's numbers would judge the new one.
        with QSignalBlocker(self.entry):
            self.entry.setSuffix(f" {unit}" if unit else "")
            self.entry.setDecimals(min(decimals, 9))
            self.entry.setSingleStep(self._size * self._factor / 1000)
        ends = {
            rule: claims_that_hold(view.results, metric.name, rule)
            for rule in self._ranges
        }
        for rule, label in self._ranges.items():
            label.setText(words.holds(ends[rule], metric.metric.unit))
        relative = {rule: self._relative(metric.mean, ends[rule]) for rule in ends}
        self._strip.set_ends(relative[REPLICATION], relative[AUDIT])
        self.reset()

    def _relative(
        self, mean: float, ends: tuple[float, float] | None
    ) -> tuple[float, ...] | None:
        """Return claims as places of the strip, whose middle is the mean."""
        if ends is None:
            return None
        return tuple((end - mean) / (_REACH * self._size) for end in ends)

    def reset(self) -> None:
        """Set the claim to that of the session, or to the mean of its trials."""
        if self._metric is not None:
            claimed = self._metric.claimed
            self._claim(self._metric.mean if claimed is None else claimed)

    def claim(self, value: float) -> None:
        """Claim a value, in SI units."""
        self._claim(value)

    def texts(self) -> dict[str, str]:
        """Return what each rule says, as it is shown."""
        return {rule: label.text() for rule, label in self._told.items()}

    @property
    def _size(self) -> float:
        """What deviations are relative to: the mean, or the cost that a gap
        stands for."""
        metric = self._metric
        if metric is None or not math.isfinite(metric.mean):
            return 1.0
        cost = metric.row.deviation is Deviation.COST
        return abs(1.0 - metric.mean if cost else metric.mean) or 1.0

    def _slid(self, step: int) -> None:
        if self._metric is not None:
            self._claim(
                self._metric.mean + self._size * _REACH * step / _STEPS, slid=True
            )

    def _entered(self, value: float) -> None:
        self._claim(value / self._factor, entered=True)

    def _claim(self, value: float, slid: bool = False, entered: bool = False) -> None:
        metric, view = self._metric, self._view
        if metric is None or view is None or not math.isfinite(value):
            return
        self.found = what_if(view.results, metric.name, value)
        if not entered:
            with QSignalBlocker(self.entry):
                self.entry.setValue(value * self._factor)
        away = (value - metric.mean) / (_REACH * self._size)
        if not slid:
            with QSignalBlocker(self.slider):
                self.slider.setValue(round(min(max(away, -1.0), 1.0) * _STEPS))
        self._strip.set_at(away)
        self._show()

    def _show(self) -> None:
        if self.found is None or self._metric is None or self._view is None:
            return
        for rule, label in self._told.items():
            label.setText(words.outcome(self.found, rule, self._metric.name))
            judged = self.found.verdicts.get(rule)
            state = "warn"
            if judged is not None:
                state = "ok" if judged.ok else "bad"
            set_state(label, state)
            self._titles[rule].setToolTip(words.rule_text(rule, self._view))

    def _lay_out(self) -> None:
        title = PlainLabel("What if I &claim")
        title.setBuddy(self.entry)
        row = in_row([title, self.entry, self.back, STRETCH])
        grid = QGridLayout()
        grid.setHorizontalSpacing(18)
        for column, rule in enumerate((REPLICATION, AUDIT)):
            head = self._titles[rule]
            head.setText(f"{words.RULE_TITLES[rule]}: {words.RULE_MEANINGS[rule]}")
            self._told[rule].setObjectName(f"trials-{rule}")
            self._told[rule].setAccessibleName(words.RULE_TITLES[rule])
            self._ranges[rule].setObjectName(f"trials-{rule}-claims")
            for line, label in enumerate((head, self._told[rule], self._ranges[rule])):
                grid.addWidget(label, line, column, Qt.AlignmentFlag.AlignTop)
            grid.setColumnStretch(column, 1)
        in_column([row, self.slider, self._strip, grid], self, spacing=4)


class HoldStrip(QWidget):
    """Two bars under the slider: the claims that hold by each rule; places are -1 to
    1."""

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName("Claims that hold by each rule")
        self.setSizePolicy(LOW)
        self.setFixedHeight(38)
        self._ends: tuple[tuple[float, ...] | None, ...] = (None, None)
        self._at = 0.0

    def set_ends(self, *ends: tuple[float, ...] | None) -> None:
        """Show which claims hold by each rule."""
        self._ends = ends
        self.update()

    def set_at(self, at: float) -> None:
        """Show the claim at hand."""
        self._at = at
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        """Paint a bar a rule, and a line at the claim."""
        painter = ThemedPainter(self)
        for row, (ends, title) in enumerate(
            zip(self._ends, ("replication", "audit"), strict=True)
        ):
            box = QRectF(_HANDLE_PX, row * 18 + 2, self.width() - 2 * _HANDLE_PX, 15)
            painter.shade(box, painter.theme.bad, 0.235)
            if ends is not None:
                low, high = (self._x(end) for end in ends)
                bar = QRectF(low, box.top(), max(high - low, 1.0), 15)
                painter.shade(bar, painter.theme.ok, 0.47)
            text = f"{title}: {'no claim holds' if ends is None else 'holds in green'}"
            painter.text(box.adjusted(4, 0, 0, 0), LEFT, text, painter.theme.text)
        painter.setPen(QPen(QColor(painter.theme.text), 2.0))
        at = self._x(self._at)
        painter.drawLine(round(at), 0, round(at), self.height())
        painter.end()

    def _x(self, relative: float) -> float:
        room = self.width() - 2 * _HANDLE_PX
        return _HANDLE_PX + room * (min(max(relative, -1.0), 1.0) + 1) / 2
