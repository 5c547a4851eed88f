# SPDX-License-Identifier: Apache-2.0
"""Lanes of the picture: where each lies in the widget, its axis and its grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter

from gui.picture.painting import line_pen, mixed
from gui.picture.ticks import Ticks
from gui.theme import Theme

#: Widths and heights in pixels.
LEFT_PX = 84.0
RIGHT_PX = 10.0
MARKERS_PX = 20.0
PHASES_PX = 18.0
SYNC_PX = 44.0
AXIS_PX = 22.0
SPACE_PX = 6.0
#: A tick every so many pixels at most: the texts have room beside or above each other.
_TICK_PX = 15.0
_TIME_TICK_PX = 62.0
_SYMBOLS = {"Current": "I", "Voltage": "U", "Power": "P"}


@dataclass(frozen=True, slots=True)
class Lanes:
    """The areas of the picture: strips of markers and phases, a lane a signal, SYNC,
    time axis."""

    markers: QRectF
    phases: QRectF
    signals: dict[str, QRectF]
    sync: QRectF | None
    time: QRectF

    @property
    def whole(self) -> QRectF:
        """Return the area of all lanes, from the markers' strip to the time axis."""
        return QRectF(
            self.markers.left(),
            self.markers.top(),
            self.markers.width(),
            self.time.top() - self.markers.top(),
        )


def laid_out(
    width: float,
    height: float,
    signals: Sequence[str],
    has_sync: bool,
    has_phases: bool,
    head_px: float = 0.0,
) -> Lanes:
    """Return where the lanes lie in a widget; the signals share what the strips leave,
    and have a free strip of `head_px` above each, where one is asked for.
    """
    wide = max(width - LEFT_PX - RIGHT_PX, 1.0)
    y = 0.0
    markers = QRectF(LEFT_PX, y, wide, MARKERS_PX)
    y += MARKERS_PX
    phases = QRectF(LEFT_PX, y, wide, PHASES_PX if has_phases else 0.0)
    y += phases.height()
    above = head_px or SPACE_PX
    bottom = height - AXIS_PX
    below = SYNC_PX + SPACE_PX if has_sync else 0.0
    count = max(len(signals), 1)
    tall = max((bottom - below - y) / count - above, 1.0)
    areas = {}
    for name in signals:
        y += above
        areas[name] = QRectF(LEFT_PX, y, wide, tall)
        y += tall
    sync = QRectF(LEFT_PX, y + SPACE_PX, wide, SYNC_PX) if has_sync else None
    return Lanes(markers, phases, areas, sync, QRectF(LEFT_PX, bottom, wide, AXIS_PX))


def ticks_for(area: QRectF) -> int:
    """Return for how many ticks an area has room beside it."""
    return int(area.height() / _TICK_PX)


def time_ticks_for(area: QRectF) -> int:
    """Return for how many ticks of time an area has room below it."""
    return int(area.width() / _TIME_TICK_PX)


def paint_y_axis(
    painter: QPainter,
    area: QRectF,
    ticks: Ticks,
    y_range: tuple[float, float],
    title: str,
    colour: str,
    theme: Theme,
) -> None:
    """Paint the grid of a lane, the texts of its axis, its title and unit."""
    low, high = y_range
    metrics = QFontMetricsF(painter.font())
    grid = mixed(theme.border, theme.base, 0.55)
    tall = metrics.height()
    for place, text in zip(ticks.places, ticks.texts, strict=True):
        y = round(area.bottom() - (place - low) / (high - low) * area.height())
        if not area.top() - 1 <= y <= area.bottom() + 1:
            continue
        painter.setPen(line_pen(grid))
        painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
        painter.setPen(QColor(theme.muted))
        top = min(max(y - tall / 2, area.top() - 2), area.bottom() - tall + 2)
        painter.drawText(
            QRectF(18.0, top, area.left() - 24.0, tall),
            Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter,
            text,
        )
    painter.setPen(QColor(colour))
    unit = f"{title} ({ticks.unit})" if ticks.unit else title
    if metrics.horizontalAdvance(unit) > area.height():
        # A lane that is too low for its title has the symbol of the signal, upright.
        symbol = _SYMBOLS.get(title.partition(",")[0], "")
        box = QRectF(2.0, area.center().y() - tall / 2, LEFT_PX / 2, tall)
        aligned = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(box, aligned, f"{symbol} {ticks.unit}")
        return
    painter.save()
    painter.translate(3.0, area.bottom())
    painter.rotate(-90.0)
    painter.drawText(
        QRectF(0.0, 0.0, area.height(), tall + 2), Qt.AlignmentFlag.AlignCenter, unit
    )
    painter.restore()


def paint_frame(painter: QPainter, area: QRectF, theme: Theme) -> None:
    """Paint the border of a lane."""
    painter.setPen(line_pen(theme.border))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRect(area)


def paint_time_axis(
    painter: QPainter,
    lanes: Lanes,
    ticks: Ticks,
    start_s: float,
    span_s: float,
    theme: Theme,
) -> None:
    """Paint the texts of the time axis, and its lines through all lanes."""
    area = lanes.time
    metrics = QFontMetricsF(painter.font())
    grid = mixed(theme.border, theme.base, 0.55)
    areas = [*lanes.signals.values(), *([lanes.sync] if lanes.sync is not None else [])]
    if ticks.base:
        painter.setPen(QColor(theme.text))
        painter.drawText(
            QRectF(0.0, area.top(), LEFT_PX + 60, area.height()),
            Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter,
            f" {ticks.base}",
        )
    for place, text in zip(ticks.places, ticks.texts, strict=True):
        x = round(area.left() + (place - start_s) / span_s * area.width())
        if not area.left() - 1 <= x <= area.right() + 1:
            continue
        painter.setPen(line_pen(grid))
        for lane in areas:
            painter.drawLine(QPointF(x, lane.top()), QPointF(x, lane.bottom()))
        shown = f"{text} {ticks.unit}" if place == ticks.places[-1] else text
        wide = metrics.horizontalAdvance(shown) + 4
        left = min(max(x - wide / 2, 0.0), area.right() + RIGHT_PX - wide)
        if ticks.base and left < metrics.horizontalAdvance(f" {ticks.base} "):
            continue
        painter.setPen(QColor(theme.muted))
        painter.drawText(
            QRectF(left, area.top() + 2, wide, area.height() - 4),
            Qt.AlignmentFlag.AlignCenter,
            shown,
        )
