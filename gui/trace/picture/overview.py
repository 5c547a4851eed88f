# SPDX-License-Identifier: Apache-2.0
"""The strip of the whole trace: its envelope, windows, gaps and markers, and where the
view is."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QMouseEvent,
    QPaintEvent,
    QPixmap,
    QResizeEvent,
)
from PySide6.QtWidgets import QWidget

from gui.picture.bands_item import BandsItem, paint_gaps
from gui.picture.envelope_item import Envelope, paint_envelope
from gui.picture.lanes import LEFT_PX, RIGHT_PX
from gui.picture.painting import line_pen
from gui.picture.viewport import Viewport
from gui.theme import Recoloured
from gui.trace.shown.background import Pictures
from gui.trace.shown.scales import Scale
from gui.trace.shown.state import Topic, TraceState
from gui.widgets.controls import named
from gui.widgets.layouts import LOW
from gui.widgets.painter import ThemedPainter, faint
from gui.widgets.text import RIGHT

_HEIGHT_PX = 40
_EDGE_PX = 6.0


class Overview(QWidget, Recoloured):
    """The whole trace in a strip; a drag moves the view, a drag at its border widens
    it, a drag beside it makes another one.
    """

    def __init__(self) -> None:
        super().__init__()
        named(self, "trace-overview", "Overview of the whole trace")
        self.setSizePolicy(LOW)
        self.setFixedHeight(_HEIGHT_PX)
        self.setToolTip(
            "Drag the frame to move the view; drag beside it to choose another one"
        )
        self._state: TraceState | None = None
        self._pictures: Pictures | None = None
        self._grip = ""
        self._from_s = 0.0
        self._bands = BandsItem()
        self._backdrop: QPixmap | None = None

    def sizeHint(self) -> QSize:  # noqa: N802
        """Return a size that shows the strip."""
        return QSize(1000, _HEIGHT_PX)

    def set_state(self, state: TraceState, pictures: Pictures) -> None:
        """Show a trace; `pictures` are of the overview alone."""
        self._state = state
        self._pictures = pictures
        state.listen(self._changed)
        self.ask()

    def recolour(self) -> None:
        """Paint in the colours of the theme that is shown."""
        self.refresh()

    def ask(self) -> None:
        """Ask for the picture of the whole trace."""
        if self._state is not None and self._pictures is not None:
            pixels = max(int(self._area.width()), 2)
            self._pictures.want(self._state.view.fitted(), pixels)
        self.refresh()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Ask for a picture of the new width."""
        super().resizeEvent(event)
        self.ask()

    def refresh(self) -> None:
        """Show the picture that came."""
        self._backdrop = None
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        """Paint the strip: only the frame and the markers change with the view."""
        painter = ThemedPainter(self)
        if self._backdrop is None:
            self._backdrop = self._painted_backdrop()
        painter.drawPixmap(0, 0, self._backdrop)
        state = self._state
        if state is None:
            return
        area = self._area
        whole = state.view.fitted()
        for mark in state.markers.marks:
            chosen = mark.number == state.markers.selected
            painter.setPen(line_pen(painter.theme.marker, 2.0 if chosen else 1.0))
            for _, _, at_s in mark.lines:
                x = round(area.left() + whole.fraction(at_s) * area.width())
                painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))
        self._paint_view(painter, state, area)

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Begin to move the view, to widen it, or to make another one."""
        state = self._state
        if state is None or event.button() != Qt.MouseButton.LeftButton:
            return
        x = event.position().x()
        left, right = self._x(state.view.start_s), self._x(state.view.stop_s)
        at_s = self._time(x)
        self._from_s = at_s
        if abs(x - left) <= _EDGE_PX and not state.view.is_whole:
            self._grip = "start"
        elif abs(x - right) <= _EDGE_PX and not state.view.is_whole:
            self._grip = "stop"
        elif left < x < right and not state.view.is_whole:
            self._grip = "view"
        else:
            self._grip = "new"

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Move, widen or make the view."""
        state = self._state
        if state is None or not self._grip:
            return
        at_s = self._time(event.position().x())
        view = state.view
        if self._grip == "view":
            state.set_view(view.panned(at_s - self._from_s))
            self._from_s = at_s
        elif self._grip == "start" and at_s < view.stop_s:
            state.set_view(view.on(at_s, view.stop_s, 0.0))
        elif self._grip == "stop" and at_s > view.start_s:
            state.set_view(view.on(view.start_s, at_s, 0.0))
        elif self._grip == "new" and at_s != self._from_s:
            state.set_view(view.on(self._from_s, at_s, 0.0))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """End a drag; a click moves the view there."""
        state = self._state
        if state is not None and self._grip == "new":
            at_s = self._time(event.position().x())
            if at_s == self._from_s:
                state.set_view(state.view.centred(at_s))
        self._grip = ""

    @property
    def _area(self) -> QRectF:
        wide = max(self.width() - LEFT_PX - RIGHT_PX, 2.0)
        return QRectF(LEFT_PX, 3.0, wide, self.height() - 7.0)

    def _painted_backdrop(self) -> QPixmap:
        ratio = self.devicePixelRatioF()
        backdrop = QPixmap(round(self.width() * ratio), round(self.height() * ratio))
        backdrop.setDevicePixelRatio(ratio)
        painter = ThemedPainter(backdrop)
        painter.fillRect(self.rect(), QColor(painter.theme.window))
        painter.setFont(self.font())
        area = self._area
        painter.fillRect(area, QColor(painter.theme.base))
        state = self._state
        if state is not None:
            whole = state.view.fitted()
            self._bands.paint(painter, state.subject.bands, whole, area)
            paint_gaps(
                painter,
                state.subject.reduced_s,
                whole,
                area,
                are_means=True,
            )
            paint_gaps(painter, state.subject.gaps_s, whole, area)
            self._paint_signal(painter, whole, area)
        painter.end()
        return backdrop

    def _paint_signal(
        self, painter: ThemedPainter, whole: Viewport, area: QRectF
    ) -> None:
        now = None if self._pictures is None else self._pictures.now
        if now is None:
            return
        columns = now.columns
        name, band = "power", columns.power
        if band is None:
            name, band = "current", columns.current
        if band is None:
            return
        shape = Envelope.of(columns, band)
        y_range = Scale().range_of(band.least, band.most)
        colour = getattr(painter.theme, name)
        fill = faint(colour, 0.6)
        line = QColor(colour)
        paint_envelope(painter, area, shape, whole, y_range, fill=fill, line=line)
        box = QRectF(0.0, area.top(), LEFT_PX - 6, area.height())
        painter.text(box, RIGHT, f"{name},\nwhole trace", painter.theme.muted)

    def _paint_view(
        self, painter: ThemedPainter, state: TraceState, area: QRectF
    ) -> None:
        left = self._x(state.view.start_s)
        right = max(self._x(state.view.stop_s), left + 2.0)
        for start, stop in ((area.left(), left), (right, area.right())):
            box = QRectF(start, area.top(), stop - start, area.height())
            painter.shade(box, painter.theme.window, 0.62)
        painter.setPen(line_pen(painter.theme.accent, 2.0))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(QRectF(left, area.top(), right - left, area.height()))

    def _x(self, at_s: float) -> float:
        area = self._area
        duration_s = 1.0 if self._state is None else self._state.view.duration_s
        return area.left() + at_s / duration_s * area.width()

    def _time(self, x: float) -> float:
        duration_s = 0.0 if self._state is None else self._state.view.duration_s
        part = (x - self._area.left()) / self._area.width()
        return min(max(part, 0.0), 1.0) * duration_s

    def _changed(self, topic: Topic) -> None:
        if topic in ("view", "markers"):
            self.update()
