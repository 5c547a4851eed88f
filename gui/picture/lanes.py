# SPDX-License-Identifier: Apache-2.0
"""Lanes of the picture: where each lies in the widget, its axis and its grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF

from gui.picture.painting import line_pen
from gui.picture.ticks import Ticks
from gui.picture.viewport import Viewport
from gui.widgets.painter import ThemedPainter, faint
from gui.widgets.text import CENTRE, LEFT, RIGHT

#: Widths and heights in pixels; those of a digital line and of a line of texts shrink
#: where the signals would have too little.
LEFT_PX = 84.0
RIGHT_PX = 10.0
MARKERS_PX = 20.0
PHASES_PX = 18.0
SYNC_PX = 40.0
LINE_PX = 20.0
LEAST_LINE_PX = 12.0
SIGNAL_PX = 40.0
AXIS_PX = 22.0
SPACE_PX = 6.0
#: A tick every so many pixels at most: the texts have room beside or above each other.
_TICK_PX = 15.0
_TIME_TICK_PX = 62.0
_SYMBOLS = {"Current": "I", "Voltage": "U", "Power": "P"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotLanes:
    """The areas of the picture: strips of markers and phases, a lane a signal, SYNC,
    a lane a digital line, one of texts, and the time axis."""

    markers: QRectF
    phases: QRectF
    signals: dict[str, QRectF]
    sync: QRectF | None
    lines: dict[str, QRectF]
    texts: QRectF | None
    time: QRectF

    @property
    def whole(self) -> QRectF:
        """The area of all lanes, from the markers' strip to the time axis."""
        return QRectF(self.markers.topLeft(), self.time.topRight())

    @property
    def areas(self) -> list[QRectF]:
        """The area of each lane, from top to bottom."""
        optional = (self.sync, *self.lines.values(), self.texts)
        shown = [area for area in optional if area is not None]
        return [*self.signals.values(), *shown]


def laid_out(
    size: QSize,
    signals: Sequence[str],
    *,
    has_sync: bool,
    has_phases: bool,
    lines: Sequence[str] = (),
    has_texts: bool = False,
    head_px: float = 0.0,
) -> PlotLanes:
    """Place the lanes in a widget: the signals share the room beside the strips, each
    below a free strip of `head_px`.
    """
    wide = max(size.width() - LEFT_PX - RIGHT_PX, 1.0)
    phases_px = PHASES_PX if has_phases else 0.0
    above_px = head_px or SPACE_PX
    bottom = size.height() - AXIS_PX
    sync_px = SYNC_PX + SPACE_PX if has_sync else 0.0
    count = max(len(signals), 1)
    rows = len(lines) + has_texts
    free_px = bottom - MARKERS_PX - phases_px - sync_px
    spare_px = free_px - count * (above_px + SIGNAL_PX)
    row_px = min(max(spare_px / max(rows, 1), LEAST_LINE_PX), LINE_PX)
    tall = max((free_px - rows * row_px) / count - above_px, 1.0)

    y = MARKERS_PX + phases_px
    areas = {}
    for name in signals:
        areas[name] = QRectF(LEFT_PX, y + above_px, wide, tall)
        y += above_px + tall
    sync = QRectF(LEFT_PX, y + SPACE_PX, wide, SYNC_PX) if has_sync else None
    y += sync_px
    digital = {}
    for name in lines:
        digital[name] = QRectF(LEFT_PX, y + 2, wide, row_px - 2)
        y += row_px
    return PlotLanes(
        markers=QRectF(LEFT_PX, 0.0, wide, MARKERS_PX),
        phases=QRectF(LEFT_PX, MARKERS_PX, wide, phases_px),
        signals=areas,
        sync=sync,
        lines=digital,
        texts=QRectF(LEFT_PX, y + 2, wide, row_px - 2) if has_texts else None,
        time=QRectF(LEFT_PX, bottom, wide, AXIS_PX),
    )


def ticks_for(area: QRectF) -> int:
    """Return for how many ticks an area has room beside it."""
    return int(area.height() / _TICK_PX)


def time_ticks_for(area: QRectF) -> int:
    """Return for how many ticks of time an area has room below it."""
    return int(area.width() / _TIME_TICK_PX)


def paint_y_axis(
    painter: ThemedPainter,
    area: QRectF,
    ticks: Ticks,
    y_range: tuple[float, float],
    *,
    signal: str,
    remark: str,
    colour: str,
) -> None:
    """Paint the grid of a lane, the texts of its axis, its title and unit."""
    low, high = y_range
    metrics = QFontMetricsF(painter.font())
    grid = faint(painter.theme.border, 0.55)
    tall = metrics.height()
    for value, text in zip(ticks.places, ticks.texts, strict=True):
        y = round(area.bottom() - (value - low) / (high - low) * area.height())
        if not area.top() - 1 <= y <= area.bottom() + 1:
            continue
        painter.setPen(line_pen(grid))
        painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
        highest, lowest = area.top() - 2, area.bottom() - tall + 2
        top = min(max(y - tall / 2, highest), lowest)
        box = QRectF(18.0, top, area.left() - 24.0, tall)
        painter.text(box, RIGHT, text, painter.theme.muted)
    title = f"{signal}, {remark}" if remark else signal
    unit = f"{title} ({ticks.unit})" if ticks.unit else title
    # A title may reach half way into the space between two lanes.
    around = area.adjusted(0, -SPACE_PX / 2, 0, SPACE_PX / 2)
    if metrics.horizontalAdvance(unit) > around.height():
        # A lane that is too low for its title has the symbol of the signal, upright.
        symbol = _SYMBOLS.get(signal, "")
        box = QRectF(2.0, area.center().y() - tall / 2, LEFT_PX / 2, tall)
        painter.text(box, LEFT, f"{symbol} {ticks.unit}", colour)
        return
    paint_upright(painter, around, unit, colour)


def paint_upright(painter: ThemedPainter, area: QRectF, text: str, colour: str) -> None:
    """Paint the title of a lane from bottom to top, left of its axis."""
    tall = QFontMetricsF(painter.font()).height() + 2
    painter.save()
    painter.translate(3.0, area.bottom())
    painter.rotate(-90.0)
    painter.text(QRectF(0.0, 0.0, area.height(), tall), CENTRE, text, colour)
    painter.restore()


def paint_row_title(
    painter: ThemedPainter, area: QRectF, text: str, colour: str
) -> None:
    """Paint the name of a low lane left of it, with an ellipsis where it is long."""
    metrics = QFontMetricsF(painter.font())
    tall = metrics.height()
    box = QRectF(3.0, area.center().y() - tall / 2, area.left() - 9.0, tall)
    shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, box.width())
    painter.text(box, RIGHT, shown, colour)


def paint_frame(painter: ThemedPainter, area: QRectF) -> None:
    """Paint the border of a lane."""
    painter.setPen(line_pen(painter.theme.border))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRect(area)


def paint_time_axis(
    painter: ThemedPainter,
    lanes: PlotLanes,
    ticks: Ticks,
    view: Viewport,
) -> None:
    """Paint the texts of the time axis, and its lines through all lanes."""
    area = lanes.time
    metrics = QFontMetricsF(painter.font())
    grid = faint(painter.theme.border, 0.55)
    if ticks.base:
        box = QRectF(0.0, area.top(), LEFT_PX + 60, area.height())
        painter.text(box, LEFT, f" {ticks.base}", painter.theme.text)
    for at_s, text in zip(ticks.places, ticks.texts, strict=True):
        x = round(area.left() + view.fraction(at_s) * area.width())
        if not area.left() - 1 <= x <= area.right() + 1:
            continue
        painter.setPen(line_pen(grid))
        for lane in lanes.areas:
            painter.drawLine(QPointF(x, lane.top()), QPointF(x, lane.bottom()))
        shown = f"{text} {ticks.unit}" if at_s == ticks.places[-1] else text
        wide = metrics.horizontalAdvance(shown) + 4
        left = min(max(x - wide / 2, 0.0), area.right() + RIGHT_PX - wide)
        if ticks.base and left < metrics.horizontalAdvance(f" {ticks.base} "):
            continue
        box = QRectF(left, area.top() + 2, wide, area.height() - 4)
        painter.text(box, CENTRE, shown, painter.theme.muted)
