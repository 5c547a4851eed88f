# SPDX-License-Identifier: Apache-2.0
"""Markers as painted over all lanes: lines with flags, and between the lines of a dual
one a bar that says how far they are apart and moves both.
"""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QFontMetricsF

from gui.picture.lanes import PlotLanes
from gui.picture.painting import line_pen
from gui.picture.viewport import Viewport
from gui.trace.shown.markers import Markers, Part, TraceMarker
from gui.widgets.painter import ThemedPainter, faint
from gui.widgets.text import CENTRE
from rig.units import quantity

#: How near a line is grabbed, in pixels.
GRAB_PX = 6.0
_SHADE = 0.10


def paint_markers(
    painter: ThemedPainter, markers: Markers, view: Viewport, lanes: PlotLanes
) -> None:
    """Paint all markers that touch the view."""
    strip = lanes.markers
    painter.save()
    tall = lanes.time.bottom() - strip.top()
    painter.setClipRect(QRectF(strip.left(), 0.0, strip.width() + 1, tall))
    for mark in markers.marks:
        start_s, stop_s = mark.span
        if stop_s < view.start_s or start_s > view.stop_s:
            continue
        is_chosen = mark.number == markers.selected
        _paint(painter, mark, view, lanes, chosen=is_chosen)
    painter.restore()


def paint_selection(
    painter: ThemedPainter, markers: Markers, view: Viewport, lanes: PlotLanes
) -> None:
    """Shade what lies between the lines of the dual marker that is chosen."""
    mark = markers.chosen
    if mark is None or not mark.is_dual:
        return
    left, right = (min(max(view.fraction(at_s), 0.0), 1.0) for at_s in mark.span)
    area = lanes.whole
    top = lanes.phases.bottom()
    start = area.left() + left * area.width()
    wide = (right - left) * area.width()
    box = QRectF(start, top, wide, lanes.time.top() - top)
    painter.shade(box, painter.theme.marker, _SHADE)


def grabbed(
    markers: Markers, x: float, y: float, view: Viewport, lanes: PlotLanes
) -> tuple[TraceMarker, Part] | None:
    """Return the part of a marker at a place of the widget: a line, or in the strip the
    bar."""
    at_s = view.start_s + (x - lanes.time.left()) / lanes.time.width() * view.span_s
    reach_s = GRAB_PX / lanes.time.width() * view.span_s
    line = markers.near(at_s, reach_s)
    if line is not None:
        return line
    if lanes.markers.top() <= y <= lanes.markers.bottom():
        for mark in markers.marks:
            if mark.is_dual and mark.span[0] <= at_s <= mark.span[1]:
                return mark, "both"
    return None


def _paint(
    painter: ThemedPainter,
    mark: TraceMarker,
    view: Viewport,
    lanes: PlotLanes,
    *,
    chosen: bool,
) -> None:
    strip = lanes.markers
    theme = painter.theme
    colour = QColor(theme.marker) if chosen else faint(theme.marker, 0.45)
    pen = line_pen(colour, 2.0 if chosen else 1.0)

    def place(at_s: float) -> float:
        x = strip.left() + view.fraction(at_s) * strip.width()
        return min(max(x, strip.left() - 50.0), strip.right() + 50.0)

    if mark.b_s is not None:
        low, high = (place(at_s) for at_s in mark.span)
        bar = QRectF(low, strip.top() + 3, high - low, strip.height() - 6)
        painter.fillRect(bar, faint(theme.marker, 0.35 if chosen else 0.18))
        text = f"{mark.label}  {quantity(abs(mark.b_s - mark.a_s), 's')}".strip()
        seen = bar.intersected(strip)
        if QFontMetricsF(painter.font()).horizontalAdvance(text) + 60 < seen.width():
            painter.text(seen, CENTRE, text, theme.text)
    for part, name, at_s in mark.lines:
        x = place(at_s)
        if not strip.left() <= x <= strip.right() + 1:
            continue
        painter.setPen(pen)
        painter.drawLine(QPointF(x, strip.top()), QPointF(x, lanes.time.top()))
        text = name if mark.is_dual or not mark.label else f"{name} {mark.label}"
        wide = QFontMetricsF(painter.font()).horizontalAdvance(text) + 8
        left_side = part == "b" and at_s >= mark.a_s
        left = x - wide if left_side or x + wide > strip.right() else x
        flag = QRectF(left, strip.top() + 1, wide, strip.height() - 3)
        painter.fillRect(flag, colour)
        painter.text(flag, CENTRE, text, theme.base)
