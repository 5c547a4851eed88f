# SPDX-License-Identifier: Apache-2.0
"""Lanes with what is in them: a signal with its axis, and SYNC with its levels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter

from gui.picture import sync_shape
from gui.picture.envelope_item import Envelope, paint_envelope
from gui.picture.lanes import paint_frame, paint_y_axis
from gui.picture.painting import draw_lines, line_pen, mixed
from gui.picture.ticks import Ticks
from gui.picture.viewport import Viewport
from gui.theme import Theme

Array = NDArray[np.float64]


def paint_signal(
    painter: QPainter,
    area: QRectF,
    envelope: Envelope,
    view: Viewport,
    y_range: tuple[float, float],
    axis: Ticks,
    title: str,
    colour: str,
    theme: Theme,
) -> None:
    """Paint the lane of a signal: its grid and axis, least to most of each column, and
    its mean."""
    paint_y_axis(painter, area, axis, y_range, title, colour, theme)
    fill = mixed(colour, theme.base, 0.55)
    paint_envelope(painter, envelope, view, area, y_range, fill, QColor(colour))
    paint_frame(painter, area, theme)


def paint_sync(
    painter: QPainter,
    area: QRectF,
    edges_s: Array,
    falls: NDArray[np.bool_],
    view: Viewport,
    theme: Theme,
) -> None:
    """Paint the lane of SYNC from its edges; `falls` says which of them are falls."""
    x1, y1, x2, y2 = sync_shape.segments(
        edges_s, falls, view.start_s, view.stop_s, int(area.width())
    )
    inner = area.adjusted(0.0, 7.0, 0.0, -7.0)
    painter.setClipRect(area)
    painter.setPen(line_pen(theme.sync))
    draw_lines(
        painter,
        area.left() + x1 * area.width(),
        inner.bottom() - y1 * inner.height(),
        area.left() + x2 * area.width(),
        inner.bottom() - y2 * inner.height(),
    )
    painter.setClipping(False)
    painter.setPen(QColor(theme.muted))
    for level, y in (("high", inner.top()), ("low", inner.bottom())):
        place = QRectF(18.0, y - 8, area.left() - 24.0, 16)
        aligned = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(place, aligned, level)
    painter.setPen(QColor(theme.sync))
    painter.save()
    painter.translate(3.0, area.bottom())
    painter.rotate(-90.0)
    tall = QFontMetricsF(painter.font()).height() + 2
    painter.drawText(
        QRectF(0.0, 0.0, area.height(), tall), Qt.AlignmentFlag.AlignCenter, "SYNC"
    )
    painter.restore()
    paint_frame(painter, area, theme)
