# SPDX-License-Identifier: Apache-2.0
"""Lanes with their content: a signal with its axis, SYNC, a digital line."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor

from gui.picture import sync_shape, ticks
from gui.picture.envelope_item import Envelope, paint_envelope
from gui.picture.lanes import (
    paint_frame,
    paint_row_title,
    paint_upright,
    paint_y_axis,
    ticks_for,
)
from gui.picture.painting import draw_lines, line_pen
from gui.picture.viewport import Viewport
from gui.widgets.painter import ThemedPainter, faint
from gui.widgets.text import CENTRE, RIGHT

Array = NDArray[np.float64]

_SYNC_MARGIN_PX = 7.0
_LINE_MARGIN_PX = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalLane:
    """A signal as its lane shows it; on a logarithmic axis `envelope` and `y_range` are
    logarithms.
    """

    title: str
    unit: str
    colour: str
    envelope: Envelope
    y_range: tuple[float, float]
    logarithmic: bool = False


@dataclass(frozen=True, slots=True)
class LineEdges:
    """The edges of a digital line in order; `falls` says which of them are falls."""

    at_s: Array
    falls: NDArray[np.bool_]

    @classmethod
    def of(cls, falls_s: Array, rises_s: Array) -> LineEdges:
        """Join falling and rising edges."""
        at_s = np.concatenate([falls_s, rises_s])
        order = np.argsort(at_s, kind="stable")
        return cls(at_s[order], order < len(falls_s))

    def __len__(self) -> int:
        return len(self.at_s)


def paint_signal(
    painter: ThemedPainter, area: QRectF, lane: SignalLane, view: Viewport
) -> None:
    """Paint the lane of a signal: its grid and axis, least to most of each column, and
    its mean."""
    make = ticks.logarithmic if lane.logarithmic else ticks.linear
    axis = make(*lane.y_range, lane.unit, ticks_for(area))
    remark = "log" if lane.logarithmic else ""
    paint_y_axis(
        painter,
        area,
        axis,
        lane.y_range,
        signal=lane.title,
        remark=remark,
        colour=lane.colour,
    )
    fill = faint(lane.colour, 0.55)
    line = QColor(lane.colour)
    paint_envelope(
        painter, area, lane.envelope, view, lane.y_range, fill=fill, line=line
    )
    paint_frame(painter, area)


def paint_sync(
    painter: ThemedPainter, area: QRectF, edges: LineEdges, view: Viewport
) -> None:
    """Paint the lane of SYNC with its two levels."""
    inner = area.adjusted(0.0, _SYNC_MARGIN_PX, 0.0, -_SYNC_MARGIN_PX)
    _paint_levels(painter, inner, edges, view)
    for level, y in (("high", inner.top()), ("low", inner.bottom())):
        box = QRectF(18.0, y - 8, area.left() - 24.0, 16)
        painter.text(box, RIGHT, level, painter.theme.muted)
    paint_upright(painter, area, "SYNC", painter.theme.sync)
    paint_frame(painter, area)


def paint_line(
    painter: ThemedPainter,
    area: QRectF,
    edges: LineEdges,
    view: Viewport,
    *,
    name: str,
) -> None:
    """Paint the low lane of a digital line. A line without edges is at a level that is
    not known: its lane says so.
    """
    paint_row_title(painter, area, name, painter.theme.sync)
    if len(edges):
        inner = area.adjusted(0.0, _LINE_MARGIN_PX, 0.0, -_LINE_MARGIN_PX)
        _paint_levels(painter, inner, edges, view)
    else:
        painter.text(area, CENTRE, "no edges", painter.theme.muted)
    paint_frame(painter, area)


def _paint_levels(
    painter: ThemedPainter, inner: QRectF, edges: LineEdges, view: Viewport
) -> None:
    x1, y1, x2, y2 = sync_shape.segments(
        edges.at_s, edges.falls, view.start_s, view.stop_s, int(inner.width())
    )
    painter.setClipRect(inner.adjusted(0.0, -1.0, 0.0, 1.0))
    painter.setPen(line_pen(painter.theme.sync))
    begin_px = inner.left() + x1 * inner.width()
    end_px = inner.left() + x2 * inner.width()
    begin_level_px = inner.bottom() - y1 * inner.height()
    end_level_px = inner.bottom() - y2 * inner.height()
    draw_lines(painter, begin_px, begin_level_px, end_px, end_level_px)
    painter.setClipping(False)
