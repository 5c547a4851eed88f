# SPDX-License-Identifier: Apache-2.0
"""Level markers: two horizontal lines on a lane, to be dragged."""

from __future__ import annotations

import math

from PySide6.QtCore import QPointF, QRectF

from gui.picture.painting import line_pen
from gui.trace.shown.scales import Scale
from gui.widgets.painter import ThemedPainter

#: How near a line is grabbed, in pixels.
GRAB_PX = 5.0
_PARTS = (0.3, 0.7)
Range = tuple[float, float]


def y_of(level: float, area: QRectF, y_range: Range, scale: Scale) -> float | None:
    """Return where a level lies in a lane; None where the axis has no place for it."""
    if scale.logarithmic and level <= 0:
        return None
    drawn = math.log10(level) if scale.logarithmic else level
    low, high = y_range
    return area.bottom() - (drawn - low) / (high - low) * area.height()


def level_at(y: float, area: QRectF, y_range: Range, scale: Scale) -> float:
    """Return the level at a place of a lane, inside of it."""
    low, high = y_range
    part = min(max((area.bottom() - y) / area.height(), 0.0), 1.0)
    drawn = low + part * (high - low)
    return float(10.0**drawn) if scale.logarithmic else drawn


def first_levels(area: QRectF, y_range: Range, scale: Scale) -> Range:
    """Return two levels in a lane that has none yet."""
    bottom, tall = area.bottom(), area.height()
    low, high = (
        level_at(bottom - part * tall, area, y_range, scale) for part in _PARTS
    )
    return low, high


def paint_levels(
    painter: ThemedPainter,
    area: QRectF,
    levels: Range,
    y_range: Range,
    *,
    scale: Scale,
) -> None:
    """Paint both lines, where they lie in the lane; at the edge of it where they do
    not."""
    painter.setPen(line_pen(painter.theme.marker, 2.0))
    for level in levels:
        y = y_of(level, area, y_range, scale)
        if y is not None and area.top() <= y <= area.bottom():
            painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))


def grabbed_level(
    y: float, area: QRectF, levels: Range, y_range: Range, scale: Scale
) -> int | None:
    """Return which of two lines is within reach."""
    places = [y_of(level, area, y_range, scale) for level in levels]
    near = [
        (abs(level_y - y), which)
        for which, level_y in enumerate(places)
        if level_y is not None
    ]
    distance, which = min(near, default=(math.inf, 0))
    return which if distance <= GRAB_PX else None
