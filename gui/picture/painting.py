# SPDX-License-Identifier: Apache-2.0
"""Painting of many lines at once from numpy arrays: a thin layer over what pyqtgraph
has."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pyqtgraph import functions
from pyqtgraph.Qt import internals
from PySide6.QtCore import QLineF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

Array = NDArray[np.float64]


def line_pen(colour: QColor | str, width: float = 1.0) -> QPen:
    """Return a pen for lines without caps, that is quick for a width of 1."""
    pen = QPen(QColor(colour))
    pen.setWidthF(width)
    pen.setCosmetic(True)
    if width > 1:
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
    return pen


def draw_lines(painter: QPainter, x1: Array, y1: Array, x2: Array, y2: Array) -> None:
    """Draw line segments, in pixels."""
    if not len(x1):
        return
    lines = internals.PrimitiveArray(QLineF, 4)
    lines.resize(len(x1))
    table = lines.ndarray()
    table[:, 0] = x1
    table[:, 1] = y1
    table[:, 2] = x2
    table[:, 3] = y2
    painter.drawLines(*lines.drawargs())


def draw_rectangles(
    painter: QPainter, left: Array, right: Array, top: float, bottom: float
) -> None:
    """Fill rectangles of one height with the brush at hand, in pixels; each is at least
    one wide.

    A pen of no outline has to be set.
    """
    if not len(left):
        return
    rectangles = internals.PrimitiveArray(QRectF, 4)
    rectangles.resize(len(left))
    table = rectangles.ndarray()
    table[:, 0] = left
    table[:, 1] = top
    table[:, 2] = np.maximum(right - left, 1.0)
    table[:, 3] = bottom - top
    painter.drawRects(*rectangles.drawargs())


def draw_polyline(painter: QPainter, x: Array, y: Array) -> None:
    """Draw a line through points, in pixels; where one is NaN the line is
    interrupted."""
    known = np.isfinite(y)
    if bool(known.all()):
        if len(x) > 1:
            painter.drawPolyline(functions.arrayToQPolygonF(x, y))
        return
    changes = np.diff(known.astype(np.int8), prepend=0, append=0)
    borders = np.flatnonzero(changes).reshape(-1, 2)
    for first, last in borders:
        if last - first > 1:
            painter.drawPolyline(
                functions.arrayToQPolygonF(x[first:last], y[first:last])
            )
