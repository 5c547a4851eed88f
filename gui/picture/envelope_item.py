# SPDX-License-Identifier: Apache-2.0
"""The envelope of a signal as one painted item: a vertical line from least to most in
each column, with the mean over it. Polygons of a noisy signal cost seventy times as
much.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor

from gui.picture.painting import draw_lines, draw_polyline, line_pen
from gui.picture.viewport import Viewport
from gui.widgets.painter import ThemedPainter
from rig.api.traces.columns import Band, Columns

Array = NDArray[np.float64]

#: So wide samples are shown as dots on a line.
_DOTS_PX = 6.0


@dataclass(frozen=True, slots=True)
class Envelope:
    """The columns of a signal as its axis has them, on a logarithmic one logarithms."""

    start_s: Array
    stop_s: Array
    least: Array
    mean: Array
    most: Array

    @classmethod
    def of(cls, columns: Columns, band: Band) -> Envelope:
        """Return the columns of one signal of a trace."""
        return cls(columns.start_s, columns.stop_s, band.least, band.mean, band.most)

    def inside(self, view: Viewport) -> Envelope:
        """Return the columns that touch a view, and one beside each end."""
        first = max(
            int(np.searchsorted(self.stop_s, view.start_s, side="right")) - 1, 0
        )
        last = int(np.searchsorted(self.start_s, view.stop_s, side="left")) + 1
        part = slice(first, last)
        columns = (self.start_s, self.stop_s, self.least, self.mean, self.most)
        return Envelope(*[column[part] for column in columns])


def paint_envelope(
    painter: ThemedPainter,
    area: QRectF,
    envelope: Envelope,
    view: Viewport,
    y_range: tuple[float, float],
    *,
    fill: QColor,
    line: QColor,
) -> None:
    """Paint the columns of a view into an area of the widget."""
    if len(envelope.start_s) == 0:
        return
    low, high = y_range
    wide_px = area.width() / view.span_s
    left = area.left() + (envelope.start_s - view.start_s) * wide_px
    right = area.left() + (envelope.stop_s - view.start_s) * wide_px
    tall_px = area.height() / (high - low)
    # A picture in a file of vectors has no clipping.
    left = np.clip(left, area.left(), area.right())
    right = np.clip(right, area.left(), area.right())

    def y_of(values: Array) -> Array:
        return np.clip((high - values) * tall_px, 0.0, area.height()) + area.top()

    top = y_of(envelope.most)
    bottom = y_of(envelope.least)
    mean = y_of(envelope.mean)
    middle = (left + right) / 2
    column_px = float(np.median(right - left))
    painter.setClipRect(area)
    if column_px >= _DOTS_PX and np.array_equal(
        envelope.least, envelope.most, equal_nan=True
    ):
        _paint_samples(painter, left, right, mean, line)
    else:
        painted = _Painted(middle, top, bottom, mean)
        _paint_columns(painter, painted, column_px, fill, line)
    painter.setClipping(False)


@dataclass(frozen=True, slots=True)
class _Painted:
    """Columns in pixels of the widget."""

    x: Array
    top: Array
    bottom: Array
    mean: Array


def _paint_columns(
    painter: ThemedPainter,
    columns: _Painted,
    column_px: float,
    fill: QColor,
    line: QColor,
) -> None:
    x, top, bottom = columns.x, columns.top, columns.bottom
    # A line joins a column with the one before, or a step would be a hole.
    upper = top.copy()
    lower = bottom.copy()
    upper[1:] = np.fmin(top[1:], bottom[:-1])
    lower[1:] = np.fmax(bottom[1:], top[:-1])
    known = np.isfinite(top) & np.isfinite(bottom)
    painter.setPen(line_pen(fill, max(1.0, np.ceil(column_px))))
    # A line of no length is not painted.
    flat = np.where(lower - upper < 1.0, upper + 1.0, lower)
    draw_lines(painter, x[known], upper[known], x[known], flat[known])
    painter.setPen(line_pen(line))
    draw_polyline(painter, x, columns.mean)


def _paint_samples(
    painter: ThemedPainter, left: Array, right: Array, mean: Array, line: QColor
) -> None:
    """Paint each sample as its mean over its time."""
    painter.setPen(line_pen(line, 1.5))
    known = np.isfinite(mean)
    draw_lines(painter, left[known], mean[known], right[known], mean[known])
    both = known[1:] & known[:-1]
    painter.setPen(line_pen(line))
    borders = left[1:][both]
    draw_lines(painter, borders, mean[:-1][both], borders, mean[1:][both])
