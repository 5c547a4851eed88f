# SPDX-License-Identifier: Apache-2.0
"""Each metric as a row of dots: trials about the claim, or their mean, in the 5 %
band."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFontMetrics,
    QKeyEvent,
    QMouseEvent,
    QPaintEvent,
    QPen,
    QPolygonF,
)
from PySide6.QtWidgets import QScrollArea, QWidget

from gui.trials import words
from gui.trials.words import DotScale
from gui.widgets.controls import named
from gui.widgets.layouts import LOW
from gui.widgets.painter import ThemedPainter
from gui.widgets.text import CENTRE, LEFT, tip
from rig.api.trials.drift import percent
from rig.api.trials.replication import MetricTrials, TrialDot
from rig.results.replication import LIMIT, deviation

_ROW_PX = 34
_HEAD_PX = 26
_GAP_PX = 10
_DOT_PX = 3.6
_RING_PX = 7.1
#: Distance from the ring of an odd trial to its number.
_ASIDE_PX = 3.5
_VERDICT_PX = 92
#: The number of an odd trial may reach so far beyond the plot, and the verdict begins
#: as far beyond the number.
_NUMBER_PX = 8
_BAND_OPACITY = 0.18
_CHOSEN_OPACITY = 0.17
_SPREAD_PX = 8.0
_TICK_PX = 52


class Dots(QWidget):
    """Rows of dots; `chosen` is emitted with the name of the metric at hand."""

    chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        named(self, "trials-dots", "Trials of each metric as dots")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setSizePolicy(LOW)
        self.metrics: tuple[MetricTrials, ...] = ()
        self._scale = DotScale(LIMIT * 1.4)
        self._at = -1
        self._name_px = 0

    @property
    def current(self) -> str:
        """The name of the metric at hand; empty where there is none."""
        return self.metrics[self._at].name if 0 <= self._at < len(self.metrics) else ""

    def set_metrics(self, metrics: tuple[MetricTrials, ...]) -> None:
        """Show other metrics; the one at hand stays, where it is among them."""
        before = self.current
        self.metrics = metrics
        self._scale = DotScale.of(metrics)
        words_px = QFontMetrics(self.font())
        names = [words_px.horizontalAdvance(metric.name) for metric in metrics]
        values = [words_px.horizontalAdvance(words.value(metric)) for metric in metrics]
        self._name_px = min(max([120, *names, *values]) + 2 * _GAP_PX, 300)
        self.setMinimumHeight(_HEAD_PX + _ROW_PX * len(metrics))
        self._at = next(
            (row for row, one in enumerate(metrics) if one.name == before), -1
        )
        if self._at < 0 and metrics:
            self.choose(0)
        self.update()

    def choose(self, row: int) -> None:
        """Take the metric of a row in hand."""
        if not self.metrics:
            return
        self._at = min(max(row, 0), len(self.metrics) - 1)
        viewport = self.parent()
        area = viewport.parent() if viewport is not None else None
        if isinstance(area, QScrollArea):
            area.ensureVisible(
                0, _HEAD_PX + self._at * _ROW_PX + _ROW_PX // 2, 0, _ROW_PX
            )
        self.update()
        self.chosen.emit(self.current)

    def choose_named(self, name: str) -> None:
        """Take a metric in hand, where it is shown."""
        for row, metric in enumerate(self.metrics):
            if metric.name == name:
                self.choose(row)

    def sizeHint(self) -> QSize:  # noqa: N802
        """Return the size that shows all rows."""
        return QSize(620, _HEAD_PX + _ROW_PX * max(len(self.metrics), 1))

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        """Go up and down by the arrows, to both ends by Home and End."""
        steps = {
            Qt.Key.Key_Up: self._at - 1,
            Qt.Key.Key_Down: self._at + 1,
            Qt.Key.Key_PageUp: self._at - 10,
            Qt.Key.Key_PageDown: self._at + 10,
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: len(self.metrics) - 1,
        }
        key = Qt.Key(event.key())
        if key in steps:
            self.choose(steps[key])
        else:
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Take the metric under the mouse in hand."""
        row = int((event.position().y() - _HEAD_PX) // _ROW_PX)
        if 0 <= row < len(self.metrics):
            self.choose(row)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Tell the values of the row under the mouse."""
        row = int((event.position().y() - _HEAD_PX) // _ROW_PX)
        is_row = 0 <= row < len(self.metrics)
        self.setToolTip(tip(self._tip(self.metrics[row])) if is_row else "")

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        """Paint the rows that are visible."""
        painter = ThemedPainter(self)
        painter.setRenderHint(painter.RenderHint.Antialiasing)
        painter.fillRect(event.rect(), QColor(painter.theme.base))
        wide = self.width() - self._name_px - _VERDICT_PX
        plot = QRectF(self._name_px, 0.0, wide, float(self.height()))
        self._paint_scale(painter, plot)
        first = max((event.rect().top() - _HEAD_PX) // _ROW_PX, 0)
        last = min((event.rect().bottom() - _HEAD_PX) // _ROW_PX + 1, len(self.metrics))
        for row in range(first, last):
            self._paint_row(painter, plot, row)
        painter.end()

    def _x(self, plot: QRectF, away: float) -> float:
        return plot.left() + plot.width() * self._scale.place(away)

    def _paint_scale(self, painter: ThemedPainter, plot: QRectF) -> None:
        left, right = self._x(plot, -LIMIT), self._x(plot, LIMIT)
        band = QRectF(left, _HEAD_PX, right - left, plot.height() - _HEAD_PX)
        painter.shade(band, painter.theme.ok, _BAND_OPACITY)
        painter.setPen(QPen(QColor(painter.theme.muted), 1.0))
        middle = self._x(plot, 0.0)
        painter.drawLine(QPointF(middle, _HEAD_PX), QPointF(middle, plot.bottom()))
        ticks = self._scale.ticks()
        room = plot.width() / max(len(ticks), 1) >= _TICK_PX
        for tick in ticks:
            if not room and tick and abs(abs(tick) - LIMIT) > 1e-9:
                continue
            at = self._x(plot, tick)
            text = f"{tick * 100:+g} %".replace("-", "−") if tick else "0"
            box = QRectF(at - 40, 4, 80, _HEAD_PX - 6)
            painter.drawText(box, CENTRE, text)

    def _paint_row(self, painter: ThemedPainter, plot: QRectF, row: int) -> None:
        metric = self.metrics[row]
        top = _HEAD_PX + row * _ROW_PX
        whole = QRect(0, top, self.width(), _ROW_PX)
        if row == self._at:
            painter.shade(whole, painter.theme.accent, _CHOSEN_OPACITY)
            if self.hasFocus():
                painter.setPen(QPen(QColor(painter.theme.accent), 1.0))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRect(whole.adjusted(0, 0, -1, -1))
        self._paint_words(painter, metric, top)
        middle = top + _ROW_PX / 2
        painter.setPen(QPen(QColor(painter.theme.border), 1.0))
        painter.drawLine(QPointF(plot.left(), middle), QPointF(plot.right(), middle))
        self._paint_intervals(painter, plot, metric, middle)
        last = len(metric.dots) - 1
        for number, dot in enumerate(metric.dots):
            y = middle + (_SPREAD_PX * (2 * number / last - 1) if last else 0.0)
            self._paint_dot(painter, plot, metric, dot, y)
        if metric.claimed is not None:
            away = deviation(metric.mean, metric.reference, metric.row.deviation)
            self._paint_diamond(painter, QPointF(self._x(plot, away), middle))

    def _paint_words(
        self, painter: ThemedPainter, metric: MetricTrials, top: int
    ) -> None:
        words_px = QFontMetrics(self.font())
        half = _ROW_PX // 2
        theme = painter.theme
        box = QRect(_GAP_PX, top + 1, self._name_px - 2 * _GAP_PX, half)
        name = words_px.elidedText(
            metric.name, Qt.TextElideMode.ElideMiddle, box.width()
        )
        painter.text(box, LEFT, name, theme.text)
        box = box.translated(0, half - 2)
        painter.text(box, LEFT, words.value(metric), theme.muted)
        judged = metric.replication
        colour = theme.muted
        if judged is not None:
            colour = theme.ok if judged.ok else theme.bad
        aside = 2 * _NUMBER_PX
        end = QRect(self.width() - _VERDICT_PX, top, _VERDICT_PX, _ROW_PX)
        end.adjust(aside, 0, -4, 0)
        painter.text(end, LEFT, words.verdict(metric), colour)

    def _paint_intervals(
        self, painter: ThemedPainter, plot: QRectF, metric: MetricTrials, middle: float
    ) -> None:
        """Paint both intervals: that of other samples thin, that of the same samples
        thick."""
        both = (
            (metric.metric.other_samples, 3.0, 0.35),
            (metric.metric.same_samples, 7.0, 0.51),
        )
        for interval, thick, opacity in both:
            if not interval.known:
                continue
            kind = metric.row.deviation
            low = self._x(plot, deviation(interval.low, metric.reference, kind))
            high = self._x(plot, deviation(interval.high, metric.reference, kind))
            left, right = min(low, high), max(low, high)
            bar = QRectF(left, middle - thick / 2, max(right - left, 1.0), thick)
            painter.shade(bar, painter.theme.accent, opacity)

    def _paint_dot(
        self,
        painter: ThemedPainter,
        plot: QRectF,
        metric: MetricTrials,
        dot: TrialDot,
        y: float,
    ) -> None:
        if dot.deviation != dot.deviation:
            return
        odd = words.is_odd(metric, dot)
        colour = QColor(painter.theme.bad if dot.beyond or odd else painter.theme.text)
        at = QPointF(self._x(plot, dot.deviation), y)
        painter.setPen(QPen(colour, 1.2))
        painter.setBrush(colour if dot.valid else Qt.BrushStyle.NoBrush)
        if self._scale.beyond(dot.deviation):
            side = 1.0 if dot.deviation > 0 else -1.0
            tip = at - QPointF(side * 2, 0)
            base = tip + QPointF(-side * 8, 0)
            half = QPointF(0, 4)
            painter.drawPolygon(QPolygonF([tip, base + half, base - half]))
        else:
            painter.drawEllipse(at, _DOT_PX, _DOT_PX)
        if odd:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawEllipse(at, _RING_PX, _RING_PX)
            number = str(dot.trial)
            wide = QFontMetrics(self.font()).horizontalAdvance(number)
            # Beside the ring, on the side where it meets no verdict.
            aside = _RING_PX + _ASIDE_PX
            if at.x() + aside + wide > plot.right() + _NUMBER_PX:
                aside = -aside - wide
            painter.drawText(at + QPointF(aside, 4), number)

    def _paint_diamond(self, painter: ThemedPainter, at: QPointF) -> None:
        painter.setPen(QPen(QColor(painter.theme.marker), 1.6))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        corners = (QPointF(6, 0), QPointF(0, 6), QPointF(-6, 0), QPointF(0, -6))
        painter.drawPolygon(QPolygonF([at + corner for corner in corners]))

    def _tip(self, metric: MetricTrials) -> str:
        rows = []
        for dot in metric.dots:
            remark = "" if dot.valid else ", invalid"
            rows.append(f"trial {dot.trial}: {percent(dot.deviation)}{remark}")
        return "\n".join([metric.name, *rows])
