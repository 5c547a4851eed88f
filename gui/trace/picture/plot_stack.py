# SPDX-License-Identifier: Apache-2.0
"""The stacked picture: current, voltage, power and SYNC over one time axis, with bands, gaps and
markers. All is painted in one go, from the last picture that came.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, QTimer
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui.theme import Theme
from gui.trace.picture import sync_shape, ticks
from gui.trace.picture.bands_item import BandsItem, band_colour, paint_gaps
from gui.trace.picture.envelope_item import Envelope, paint_envelope
from gui.trace.picture.lane_numbers import HEAD_PX, AskNumbers, level_text, paint_head, texts
from gui.trace.picture.lanes import (
    TIME_TICK_PX,
    Lanes,
    laid_out,
    paint_frame,
    paint_time_axis,
    paint_y_axis,
    ticks_for,
)
from gui.trace.picture.level_item import paint_levels
from gui.trace.picture.markers_item import paint_markers
from gui.trace.picture.painting import draw_lines, line_pen, mixed
from gui.trace.picture.utc_ticks import of_utc
from gui.trace.shown.pictures import Pictures
from gui.trace.shown.state import SIGNALS, UNITS, Topic, TraceState
from rig.api.traces.columns import Band, Columns

Array = NDArray[np.float64]

#: So long a new view waits for its picture before the old one is shown in its place.
_PATIENCE_MS = 40
_NAMED_PX = 30.0


class PlotStack(QWidget):
    """The picture of a trace; the mouse on it is in gui/trace/picture/stack_mouse.py."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("trace-plots")
        self.setAccessibleName("Current, voltage, power and SYNC over time")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.theme = theme
        self.state: TraceState | None = None
        self._pictures: Pictures | None = None
        self._bands = BandsItem()
        #: Who has the numbers that stand above the lanes; and the axes as they were painted.
        self.ask_numbers: AskNumbers | None = None
        self.y_ranges: dict[str, tuple[float, float]] = {}
        self._late = QTimer(self)
        self._late.setSingleShot(True)
        self._late.setInterval(_PATIENCE_MS)
        self._late.timeout.connect(self.update)
        #: Seconds that painting took, of the newest frame; and how many there were.
        self.paint_s = 0.0
        self.frames = 0

    def sizeHint(self) -> QSize:  # noqa: N802
        """Return a size that shows all lanes."""
        return QSize(1000, 600)

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        """Return the least size in which lanes are lanes."""
        return QSize(420, 260)

    def set_state(self, state: TraceState, pictures: Pictures) -> None:
        """Show a trace."""
        self.state = state
        self._pictures = pictures
        state.listen(self._changed)
        self.want()

    def set_theme(self, theme: Theme) -> None:
        """Paint in the colours of a theme."""
        self.theme = theme
        self.update()

    def refresh(self) -> None:
        """Show the picture that came."""
        self._late.stop()
        self.update()
        if self._pictures is not None and self.state is not None and self.isVisible():
            # A wider one than the view, once the zoom rests.
            self._pictures.want(self.state.view, self.pixels)

    @property
    def waiting(self) -> bool:
        """Return whether a view is not painted yet because its picture is not there."""
        return self._late.isActive()

    @property
    def painted_bands(self) -> int:
        """Return how many bands the newest frame has, of those that share a pixel one."""
        return self._bands.count

    @property
    def pixels(self) -> int:
        """Return how many columns the lanes are wide."""
        return max(int(self.lanes.time.width()), 2)

    @property
    def shown(self) -> tuple[str, ...]:
        """Return the signals that have a lane."""
        if self.state is None or self.state.subject.trace.has_current:
            return SIGNALS
        return ("power",)

    @property
    def lanes(self) -> Lanes:
        """Return where the lanes lie."""
        has_sync = self.state is not None and self.state.subject.has_sync
        has_phases = self.state is not None and len(self.state.subject.bands) > 0
        has_heads = self.state is not None and (self.state.numbered or bool(self.state.levels))
        head_px = HEAD_PX if has_heads else 0.0
        return laid_out(self.width(), self.height(), self.shown, has_sync, has_phases, head_px)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Ask for a picture of the new width."""
        super().resizeEvent(event)
        self.want()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        """Paint all lanes."""
        began_s = perf_counter()
        self._late.stop()
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(self.theme.base))
        state = self.state
        if state is not None:
            self._paint(painter, state)
        painter.end()
        self.frames += 1
        self.paint_s = perf_counter() - began_s

    # Painting.

    def _paint(self, painter: QPainter, state: TraceState) -> None:
        lanes = self.lanes
        view = state.view
        subject = state.subject
        painter.fillRect(lanes.markers, mixed(self.theme.raised, self.theme.base, 0.6))
        areas = [*lanes.signals.values(), *([lanes.sync] if lanes.sync is not None else [])]
        for area in areas:
            self._bands.paint(painter, subject.bands, view, area, self.theme)
            paint_gaps(painter, subject.reduced_s, view, area, self.theme, True)
            paint_gaps(painter, subject.gaps_s, view, area, self.theme)
        self._paint_phases(painter, state, lanes)
        self._paint_highlights(painter, state, lanes)
        paint_time_axis(
            painter, lanes, self._time_ticks(state, lanes), view.start_s, view.span_s, self.theme
        )
        columns = None
        if self._pictures is not None and self._pictures.now is not None:
            columns = self._pictures.now.columns
        for name, area in lanes.signals.items():
            self._paint_signal(painter, state, name, area, columns)
        if lanes.sync is not None:
            self._paint_sync(painter, state, lanes.sync)
        paint_markers(painter, state.markers, view, lanes, self.theme)
        if state.cursor_s is not None:
            x = lanes.time.left() + view.fraction(state.cursor_s) * lanes.time.width()
            painter.setPen(line_pen(mixed(self.theme.text, self.theme.base, 0.45)))
            painter.drawLine(QPointF(x, lanes.phases.top()), QPointF(x, lanes.time.top()))

    def _time_ticks(self, state: TraceState, lanes: Lanes) -> ticks.Ticks:
        view = state.view
        room = int(lanes.time.width() / TIME_TICK_PX)
        began_ns = state.subject.trace.started_ns if state.utc else None
        if began_ns is None:
            return ticks.of_time(view.start_s, view.stop_s, room)
        return of_utc(view.start_s, view.stop_s, room, began_ns)

    def _paint_head(self, painter: QPainter, state: TraceState, name: str, area: QRectF) -> None:
        """Paint what stands above a lane: levels, and numbers of the selection or of the view."""
        parts = [level_text(name, state.levels[name])] if name in state.levels else []
        if state.numbered and self.ask_numbers is not None:
            parts += texts(name, self.ask_numbers())
        paint_head(painter, area, parts, self.theme)

    def _paint_signal(
        self, painter: QPainter, state: TraceState, name: str, area: QRectF, columns: Columns | None
    ) -> None:
        colour = getattr(self.theme, name)
        scale = state.scales[name]
        band: Band | None = None if columns is None else getattr(columns, name)
        title = name.capitalize() + (", log" if scale.logarithmic else "")
        if columns is None or band is None:
            painter.setPen(QColor(self.theme.muted))
            painter.drawText(area, Qt.AlignmentFlag.AlignCenter, f"{name}: reading the trace ...")
            paint_frame(painter, area, self.theme)
            return
        whole = Envelope(columns.start_s, columns.stop_s, band.least, band.mean, band.most)
        part = whole.inside(state.view)
        y_range = self.y_ranges[name] = scale.range_of(part.least, part.most)
        make = ticks.logarithmic if scale.logarithmic else ticks.linear
        axis = make(*y_range, UNITS[name], ticks_for(area))
        paint_y_axis(painter, area, axis, y_range, title, colour, self.theme)
        drawn = Envelope(
            part.start_s,
            part.stop_s,
            scale.drawn(part.least),
            scale.drawn(part.mean),
            scale.drawn(part.most),
        )
        fill = mixed(colour, self.theme.base, 0.55)
        paint_envelope(painter, drawn, state.view, area, y_range, fill, QColor(colour))
        paint_frame(painter, area, self.theme)
        if name in state.levels:
            paint_levels(painter, area, state.levels[name], y_range, scale, self.theme)
        self._paint_head(painter, state, name, area)

    def _paint_sync(self, painter: QPainter, state: TraceState, area: QRectF) -> None:
        edges = state.edges
        if edges is None:
            painter.setPen(QColor(self.theme.muted))
            painter.drawText(area, Qt.AlignmentFlag.AlignCenter, "SYNC: reading the edges ...")
            return
        view = state.view
        x1, y1, x2, y2 = sync_shape.segments(
            edges.seen_s, edges.falls, view.start_s, view.stop_s, int(area.width())
        )
        inner = area.adjusted(0.0, 7.0, 0.0, -7.0)
        painter.setClipRect(area)
        painter.setPen(line_pen(self.theme.sync))
        draw_lines(
            painter,
            area.left() + x1 * area.width(),
            inner.bottom() - y1 * inner.height(),
            area.left() + x2 * area.width(),
            inner.bottom() - y2 * inner.height(),
        )
        painter.setClipping(False)
        painter.setPen(QColor(self.theme.muted))
        for level, y in (("high", inner.top()), ("low", inner.bottom())):
            place = QRectF(18.0, y - 8, area.left() - 24.0, 16)
            aligned = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(place, aligned, level)
        painter.setPen(QColor(self.theme.sync))
        painter.save()
        painter.translate(3.0, area.bottom())
        painter.rotate(-90.0)
        tall = QFontMetricsF(painter.font()).height() + 2
        painter.drawText(
            QRectF(0.0, 0.0, area.height(), tall), Qt.AlignmentFlag.AlignCenter, "SYNC"
        )
        painter.restore()
        paint_frame(painter, area, self.theme)

    def _paint_phases(self, painter: QPainter, state: TraceState, lanes: Lanes) -> None:
        """Paint the strip of phases, with the names of those that have the room."""
        area = lanes.phases
        if not area.height():
            return
        view = state.view
        inner = area.adjusted(0, 2, 0, -1)
        self._bands.paint(painter, state.subject.bands, view, inner, self.theme, loud=True)
        if self._bands.count > area.width() / _NAMED_PX:
            return
        bands = state.subject.bands
        names = state.subject.band_names
        first = int(np.searchsorted(bands.reached_s, view.start_s, side="right"))
        last = int(np.searchsorted(bands.start_s, view.stop_s, side="left"))
        metrics = QFontMetricsF(painter.font())
        for place in range(first, last):
            left = max(view.fraction(float(bands.start_s[place])), 0.0) * area.width()
            stop_s = float(bands.stop_s[place])
            if place + 1 < len(bands):
                # What lies in a stream has names of its own.
                stop_s = min(stop_s, float(bands.start_s[place + 1]))
            right = min(view.fraction(stop_s), 1.0) * area.width()
            text = names[place]
            if metrics.horizontalAdvance(text) + 8 > right - left:
                continue
            fill = band_colour(int(bands.colour[place]), self.theme, loud=True)
            dark = fill.lightnessF() > 0.5
            painter.setPen(QColor("#101216" if dark else "#ffffff"))
            painter.drawText(
                QRectF(area.left() + left, area.top(), right - left, area.height()),
                Qt.AlignmentFlag.AlignCenter,
                text,
            )

    def _paint_highlights(self, painter: QPainter, state: TraceState, lanes: Lanes) -> None:
        whole = lanes.whole
        top = lanes.phases.top()
        for stretch, strength in ((state.chosen, 0.16), (state.hovered, 0.26)):
            if stretch is None:
                continue
            left = max(state.view.fraction(stretch.start_s), 0.0)
            right = min(state.view.fraction(stretch.stop_s), 1.0)
            if right <= 0 or left >= 1:
                continue
            wide = max((right - left) * whole.width(), 2.0)
            fill = QColor(self.theme.accent)
            fill.setAlphaF(strength)
            painter.fillRect(
                QRectF(whole.left() + left * whole.width(), top, wide, lanes.time.top() - top), fill
            )

    # Changes.

    def _changed(self, topic: Topic) -> None:
        if topic == "view":
            self.want()
        else:
            self.update()

    def want(self) -> None:
        """Show the view: at once where the picture serves, else when the next one is there."""
        if self.state is None or self._pictures is None:
            return
        if self._pictures.want(self.state.view, self.pixels):
            self.update()
        elif not self._late.isActive():
            self._late.start()
