# SPDX-License-Identifier: Apache-2.0
"""The stacked picture: current, voltage, power and SYNC over one time axis, with bands,
gaps and markers. All is painted in one go, from the last picture that came.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui.picture import ticks
from gui.picture.bands_item import BandsItem, paint_gaps
from gui.picture.envelope_item import Envelope
from gui.picture.lane_painter import (
    LineEdges,
    SignalLane,
    paint_line,
    paint_signal,
    paint_sync,
)
from gui.picture.lanes import (
    PlotLanes,
    laid_out,
    paint_frame,
    paint_time_axis,
    time_ticks_for,
)
from gui.picture.painting import line_pen
from gui.picture.text_lane import paint_texts
from gui.trace.picture.lane_numbers import (
    HEAD_PX,
    AskNumbers,
    level_text,
    paint_head,
    texts,
)
from gui.trace.picture.level_item import paint_levels
from gui.trace.picture.markers_item import paint_markers, paint_selection
from gui.trace.picture.utc_ticks import of_utc
from gui.trace.shown.background import Pictures
from gui.trace.shown.state import SIGNALS, UART, UNITS, Topic, TraceState
from gui.widgets.controls import delayed, named
from gui.widgets.painter import ThemedPainter, faint
from gui.widgets.text import CENTRE
from rig.api.traces.columns import Band, Columns

Array = NDArray[np.float64]

#: So long a new view waits for its picture before the old one is shown in its place.
_PATIENCE_MS = 40


class PlotStack(QWidget):
    """The picture of a trace; the mouse on it is in
    gui/trace/picture/stack_mouse.py."""

    def __init__(self) -> None:
        super().__init__()
        named(self, "trace-plots", "Current, voltage, power and SYNC over time")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.state: TraceState | None = None
        self._pictures: Pictures | None = None
        self._bands = BandsItem()
        #: Who has the numbers that stand above the lanes; and the axes as they were
        #: painted.
        self.ask_numbers: AskNumbers | None = None
        self.y_ranges: dict[str, tuple[float, float]] = {}
        self._late = delayed(self, _PATIENCE_MS, self.update)
        #: Seconds that painting took, of the newest frame; and how many there were.
        self.paint_s = 0.0
        self.frames = 0

    def sizeHint(self) -> QSize:  # noqa: N802
        """Return a size that shows all lanes."""
        return QSize(1000, 600)

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        """Return the least size with readable lanes."""
        return QSize(420, 260)

    def set_state(self, state: TraceState, pictures: Pictures) -> None:
        """Show a trace."""
        self.state = state
        self._pictures = pictures
        state.listen(self._changed)
        self.want()

    def refresh(self) -> None:
        """Show the picture that came."""
        self._late.stop()
        self.update()
        if self._pictures is not None and self.state is not None and self.isVisible():
            # A wider one than the view, once the zoom rests.
            self._pictures.want(self.state.view, self.pixels)

    @property
    def waiting(self) -> bool:
        """Whether a view is not painted yet because its picture is not there."""
        return self._late.isActive()

    @property
    def pixels(self) -> int:
        """Width of the lanes in columns."""
        return max(int(self.lanes.time.width()), 2)

    @property
    def shown(self) -> tuple[str, ...]:
        """The signals that have a lane."""
        if self.state is None or self.state.subject.trace.has_current:
            return SIGNALS
        return ("power",)

    @property
    def lanes(self) -> PlotLanes:
        """Where the lanes lie."""
        state = self.state
        if state is None:
            return laid_out(self.size(), self.shown, has_sync=False, has_phases=False)
        has_heads = state.numbered or bool(state.levels)
        return laid_out(
            self.size(),
            self.shown,
            has_sync=state.subject.has_sync,
            has_phases=len(state.subject.bands) > 0,
            lines=tuple(state.shown_lines),
            has_texts=state.shown_uart is not None,
            head_px=HEAD_PX if has_heads else 0.0,
        )

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Ask for a picture of the new width."""
        super().resizeEvent(event)
        self.want()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        """Paint all lanes."""
        began_s = perf_counter()
        self._late.stop()
        painter = ThemedPainter(self)
        painter.fillRect(self.rect(), QColor(painter.theme.base))
        state = self.state
        if state is not None:
            self._paint(painter, state)
        painter.end()
        self.frames += 1
        self.paint_s = perf_counter() - began_s

    # Painting.

    def _paint(self, painter: ThemedPainter, state: TraceState) -> None:
        lanes = self.lanes
        view = state.view
        subject = state.subject
        painter.fillRect(lanes.markers, faint(painter.theme.raised, 0.6))
        means_s, gaps_s = subject.reduced_s, subject.gaps_s
        for area in lanes.areas:
            self._bands.paint(painter, subject.bands, view, area)
            paint_gaps(painter, means_s, view, area, are_means=True)
            paint_gaps(painter, gaps_s, view, area)
        self._bands.paint_strip(painter, subject.bands, view, lanes.phases)
        # Before the curves, so that the selection hides none of them.
        self._paint_highlights(painter, state, lanes)
        paint_selection(painter, state.markers, view, lanes)
        time = self._time_ticks(state, lanes)
        paint_time_axis(painter, lanes, time, view)
        columns = None
        if self._pictures is not None and self._pictures.now is not None:
            columns = self._pictures.now.columns
        for name, area in lanes.signals.items():
            self._paint_signal(painter, state, name, area, columns)
        if lanes.sync is not None:
            self._paint_sync(painter, state, lanes.sync)
        for name, area in lanes.lines.items():
            edges = state.shown_lines[name]
            paint_line(painter, area, edges, view, name=name)
        if lanes.texts is not None and state.shown_uart is not None:
            texts_shown = state.shown_uart.timed
            paint_texts(painter, lanes.texts, texts_shown, view, title=UART)
        paint_markers(painter, state.markers, view, lanes)
        if state.cursor_s is not None:
            x = lanes.time.left() + view.fraction(state.cursor_s) * lanes.time.width()
            painter.setPen(line_pen(faint(painter.theme.text, 0.45)))
            painter.drawLine(
                QPointF(x, lanes.phases.top()), QPointF(x, lanes.time.top())
            )

    def _time_ticks(self, state: TraceState, lanes: PlotLanes) -> ticks.Ticks:
        view = state.view
        room = time_ticks_for(lanes.time)
        began_ns = state.subject.trace.started_ns if state.utc else None
        if began_ns is None:
            return ticks.of_time(view.start_s, view.stop_s, room)
        return of_utc(view.start_s, view.stop_s, room, began_ns)

    def _paint_head(
        self, painter: ThemedPainter, state: TraceState, name: str, area: QRectF
    ) -> None:
        """Paint what stands above a lane: levels, and numbers of the selection or of
        the view."""
        parts = [level_text(name, state.levels[name])] if name in state.levels else []
        if state.numbered and self.ask_numbers is not None:
            parts += texts(name, self.ask_numbers())
        paint_head(painter, area, parts)

    def _paint_signal(
        self,
        painter: ThemedPainter,
        state: TraceState,
        name: str,
        area: QRectF,
        columns: Columns | None,
    ) -> None:
        scale = state.scales[name]
        band: Band | None = None if columns is None else getattr(columns, name)
        if columns is None or band is None:
            text = f"{name}: reading the trace ..."
            painter.text(area, CENTRE, text, painter.theme.muted)
            paint_frame(painter, area)
            return
        part = Envelope.of(columns, band).inside(state.view)
        y_range = self.y_ranges[name] = scale.range_of(part.least, part.most)
        values = [scale.drawn(row) for row in (part.least, part.mean, part.most)]
        drawn = Envelope(part.start_s, part.stop_s, *values)
        lane = SignalLane(
            title=name.capitalize(),
            unit=UNITS[name],
            colour=getattr(painter.theme, name),
            envelope=drawn,
            y_range=y_range,
            logarithmic=scale.logarithmic,
        )
        paint_signal(painter, area, lane, state.view)
        if name in state.levels:
            levels = state.levels[name]
            paint_levels(painter, area, levels, y_range, scale=scale)
        self._paint_head(painter, state, name, area)

    def _paint_sync(
        self, painter: ThemedPainter, state: TraceState, area: QRectF
    ) -> None:
        edges = state.edges
        if edges is None:
            text = "SYNC: reading the edges ..."
            painter.text(area, CENTRE, text, painter.theme.muted)
            return
        seen = LineEdges(edges.seen_s, edges.falls)
        paint_sync(painter, area, seen, state.view)

    def _paint_highlights(
        self, painter: ThemedPainter, state: TraceState, lanes: PlotLanes
    ) -> None:
        whole = lanes.whole
        top = lanes.phases.bottom()
        for stretch, strength in ((state.chosen, 0.10), (state.hovered, 0.18)):
            if stretch is None:
                continue
            left = max(state.view.fraction(stretch.start_s), 0.0)
            right = min(state.view.fraction(stretch.stop_s), 1.0)
            if right <= 0 or left >= 1:
                continue
            wide = max((right - left) * whole.width(), 2.0)
            start = whole.left() + left * whole.width()
            box = QRectF(start, top, wide, lanes.time.top() - top)
            painter.shade(box, painter.theme.accent, strength)

    # Changes.

    def _changed(self, topic: Topic) -> None:
        if topic == "view":
            self.want()
        else:
            self.update()

    def want(self) -> None:
        """Show the view: at once where the picture serves, else when the next one is
        there."""
        if self.state is None or self._pictures is None:
            return
        if self._pictures.want(self.state.view, self.pixels):
            self.update()
        elif not self._late.isActive():
            self._late.start()
