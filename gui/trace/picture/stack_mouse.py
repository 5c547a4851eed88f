# SPDX-License-Identifier: Apache-2.0
"""The mouse on the picture: the wheel zooms, a drag pans, moves a marker, or
selects."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QHelpEvent, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QToolTip

from gui.picture.lanes import PlotLanes
from gui.picture.viewport import ZOOM_STEP
from gui.trace.picture.level_item import first_levels, grabbed_level, level_at
from gui.trace.picture.markers_item import grabbed
from gui.trace.picture.plot_stack import PlotStack
from gui.trace.shown.markers import Part, Stretch
from gui.trace.shown.state import TraceState
from gui.widgets.text import tip
from rig.files.plain_text import visible

#: How near an edge a marker snaps to it, in pixels.
SNAP_PX = 14.0
_CLICK_PX = 4.0
_STROKE_PX = 2.0
_NOTCH = 120.0


@dataclass(slots=True)
class _Drag:
    """A drag at hand: of a marker's part, of the view (no number), or a new
    selection."""

    x: float
    at_s: float
    number: int | None = None
    part: Part = "a"
    moved: bool = False
    selects: bool = False
    #: A level that is moved: its signal, and its number.
    level: tuple[str, int] | None = None


class InteractiveStack(PlotStack):
    """The picture with mouse control. Alt places a marker freely, off the edges."""

    _drag: _Drag | None = None
    #: The signal that the mouse was over last.
    pointed = "power"

    def toggle_levels(self) -> None:
        """Put two levels on the lane under the mouse, or take them away."""
        state, name = self.state, self.pointed
        if state is None or name not in self.y_ranges:
            return
        if name in state.levels:
            state.set_levels(name, None)
        else:
            area = self.lanes.signals[name]
            state.set_levels(
                name, first_levels(area, self.y_ranges[name], state.scales[name])
            )

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802
        """Zoom at the mouse; with Shift, or sideways, pan."""
        state = self.state
        if state is None:
            return
        notches = event.angleDelta().y() / _NOTCH
        sideways = event.angleDelta().x() / _NOTCH
        if event.modifiers() & Qt.KeyboardModifier.ShiftModifier or (
            sideways and not notches
        ):
            state.set_view(
                state.view.panned(-(notches or sideways) * 0.1 * state.view.span_s)
            )
        elif notches:
            state.set_view(
                state.view.zoomed(
                    ZOOM_STEP**notches, self.time_at(event.position().x())
                )
            )
        event.accept()

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Begin a drag."""
        state = self.state
        self.setFocus(Qt.FocusReason.MouseFocusReason)
        if state is None or event.button() != Qt.MouseButton.LeftButton:
            return
        point = event.position()
        at_s = self.time_at(point.x())
        if (level := self._level_at(point)) is not None:
            self._drag = _Drag(point.x(), at_s, level=level)
            return
        marker = grabbed(state.markers, point.x(), point.y(), state.view, self.lanes)
        shift = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        if marker is not None:
            mark, part = marker
            state.select(mark.number)
            state.begin_drag()
            both: Part = "both" if shift and mark.is_dual else part
            self._drag = _Drag(point.x(), at_s - mark.a_s, mark.number, both)
        else:
            self._drag = _Drag(point.x(), at_s, selects=shift)
            if not shift:
                self.setCursor(Qt.CursorShape.ClosedHandCursor)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Pan, move a marker, or show the values under the mouse."""
        state = self.state
        if state is None:
            return
        x = event.position().x()
        drag = self._drag
        lanes = self.lanes
        if drag is not None and drag.level is not None:
            self._move_level(state, drag.level, event.position().y())
            return
        if drag is None:
            self.pointed = self._signal_at(event.position()) or self.pointed
            inside = lanes.whole.contains(event.position())
            if inside:
                marker = grabbed(
                    state.markers, x, event.position().y(), state.view, lanes
                )
            else:
                marker = None
            shape = Qt.CursorShape.CrossCursor
            if self._level_at(event.position()) is not None:
                shape = Qt.CursorShape.SizeVerCursor
            elif marker is not None:
                shape = Qt.CursorShape.SizeHorCursor
            self.setCursor(shape)
            state.set_cursor(self.time_at(x) if inside else None)
            return
        if not drag.moved and abs(x - drag.x) < _CLICK_PX:
            return
        drag.moved = True
        free = bool(event.modifiers() & Qt.KeyboardModifier.AltModifier)
        if drag.number is not None:
            self._move_marker(state, drag, x, free)
        elif drag.selects:
            self._select(state, drag, x, free)
        else:
            by_s = (drag.x - x) / lanes.time.width() * state.view.span_s
            drag.x = x
            state.set_view(state.view.panned(by_s))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """End a drag; a click beside all markers takes their selection back."""
        state = self.state
        drag = self._drag
        self._drag = None
        self.unsetCursor()
        if state is None or drag is None:
            return
        if drag.number is not None or drag.moved or drag.selects or drag.level:
            return
        line = self._uart_at(event.position())
        if line is not None and state.uart is not None:
            state.choose(state.uart.stretch(line))
        else:
            state.select(None)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Zoom to the window under the mouse."""
        state = self.state
        if state is None:
            return
        at_s = self.time_at(event.position().x())
        inside = [
            span
            for span in state.subject.spans_at(at_s)
            if span.start_s <= at_s < span.stop_s
        ]
        if inside:
            span = min(inside, key=lambda each: each.stop_s - each.start_s)
            state.choose(Stretch(span.start_s, span.stop_s, span.phase))
            state.set_view(state.view.on(span.start_s, span.stop_s))

    def event(self, event: QEvent) -> bool:
        """Show under the mouse a line of uart.log with its time, or the name of a
        digital line.
        """
        if not isinstance(event, QHelpEvent) or event.type() != QEvent.Type.ToolTip:
            return super().event(event)
        text = self._tip_at(QPointF(event.pos()))
        if text:
            QToolTip.showText(event.globalPos(), tip(text), self)
        else:
            QToolTip.hideText()
        return True

    def leaveEvent(self, event: QEvent) -> None:  # noqa: N802
        """Take the cursor away."""
        super().leaveEvent(event)
        if self.state is not None:
            self.state.set_cursor(None)

    def time_at(self, x: float) -> float:
        """Return the instant at a place of the widget."""
        if self.state is None:
            return 0.0
        area = self.lanes.time
        return self.state.view.at((x - area.left()) / area.width())

    def x_of(self, at_s: float) -> float:
        """Return the place of an instant in the widget."""
        lanes: PlotLanes = self.lanes
        if self.state is None:
            return lanes.time.left()
        return lanes.time.left() + self.state.view.fraction(at_s) * lanes.time.width()

    @property
    def reach_s(self) -> float:
        """How near an edge snaps, in seconds at the zoom at hand."""
        if self.state is None:
            return 0.0
        return SNAP_PX / self.lanes.time.width() * self.state.view.span_s

    def _signal_at(self, point: QPointF) -> str | None:
        areas = self.lanes.signals.items()
        return next((name for name, area in areas if area.contains(point)), None)

    def _uart_at(self, point: QPointF) -> int | None:
        """Return the number of the line of uart.log under the mouse."""
        state, area = self.state, self.lanes.texts
        if state is None or area is None or state.shown_uart is None:
            return None
        if not area.contains(point):
            return None
        # A stroke is hit a little before it too.
        return state.shown_uart.timed.before(self.time_at(point.x() + _STROKE_PX))

    def _tip_at(self, point: QPointF) -> str:
        """Return what stands under the mouse in the lanes below SYNC."""
        line = self._uart_at(point)
        if line is not None and self.state is not None and self.state.uart is not None:
            return self.state.uart.tip(line)
        for name, area in self.lanes.lines.items():
            if area.top() <= point.y() <= area.bottom():
                count = len(self.state.lines[name]) if self.state is not None else 0
                return f"{visible(name)}: {count} edges"
        return ""

    def _level_at(self, point: QPointF) -> tuple[str, int] | None:
        """Return the level under the mouse: its signal, and 0 or 1."""
        name = self._signal_at(point)
        state = self.state
        if (
            state is None
            or name is None
            or name not in state.levels
            or name not in self.y_ranges
        ):
            return None
        axis = self.lanes.signals[name], state.levels[name], self.y_ranges[name]
        which = grabbed_level(point.y(), *axis, state.scales[name])
        return None if which is None else (name, which)

    def _move_level(self, state: TraceState, level: tuple[str, int], y: float) -> None:
        name, which = level
        to = level_at(
            y, self.lanes.signals[name], self.y_ranges[name], state.scales[name]
        )
        pair = list(state.levels[name])
        pair[which] = to
        state.set_levels(name, (pair[0], pair[1]))

    def _move_marker(
        self, state: TraceState, drag: _Drag, x: float, free: bool
    ) -> None:
        if drag.number is None:
            return
        if drag.part == "both":
            # The distance stays, so that one end alone can snap.
            to_s = self.time_at(x) - drag.at_s
            state.drag(drag.number, "both", state.snapped(to_s, self.reach_s, free))
        else:
            at_s = state.snapped(self.time_at(x), self.reach_s, free)
            state.drag(drag.number, drag.part, at_s)

    def _select(self, state: TraceState, drag: _Drag, x: float, free: bool) -> None:
        start_s = state.snapped(drag.at_s, self.reach_s, free)
        stop_s = state.snapped(self.time_at(x), self.reach_s, free)
        state.place_dual(start_s, stop_s)
        mark = state.markers.chosen
        if mark is not None:
            drag.number = mark.number
            drag.part = "b"
