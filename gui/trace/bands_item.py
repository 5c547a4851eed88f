# SPDX-License-Identifier: Apache-2.0
"""Phase bands and gaps, each painted as one item: sixteen thousand windows cost what twenty do."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QPainter

from gui.theme import Theme
from gui.trace.band_layout import BandSpans, laid_out
from gui.trace.engine import IDLE_COLOUR, WARM_UP_COLOUR
from gui.trace.painting import draw_rectangles, mixed
from gui.trace.viewport import Viewport

_SHARE = 0.16
_LOUD = 0.85


def band_colour(colour: int, theme: Theme, loud: bool = False) -> QColor:
    """Return the fill of a band of a phase, an idle time, or a warm-up query."""
    share = _LOUD if loud else _SHARE
    if colour == WARM_UP_COLOUR:
        return mixed(theme.muted, theme.base, share * 0.5)
    if colour == IDLE_COLOUR:
        return mixed(theme.muted, theme.base, share)
    return mixed(theme.phases[colour % len(theme.phases)], theme.base, share)


def paint_bands(
    painter: QPainter,
    spans: BandSpans,
    view: Viewport,
    area: QRectF,
    theme: Theme,
    loud: bool = False,
) -> int:
    """Paint the bands of a view; return how many rectangles that took."""
    shown = laid_out(spans, view.start_s, view.stop_s, int(area.width()))
    if not len(shown):
        return 0
    wide_px = area.width() / view.span_s
    left = area.left() + (shown.left_s - view.start_s) * wide_px
    right = area.left() + (shown.right_s - view.start_s) * wide_px
    painter.setPen(Qt.PenStyle.NoPen)
    for colour in np.unique(shown.colour):
        chosen = shown.colour == colour
        painter.setBrush(band_colour(int(colour), theme, loud))
        draw_rectangles(painter, left[chosen], right[chosen], area.top(), area.bottom())
    return len(shown)


def paint_gaps(
    painter: QPainter,
    gaps_s: NDArray[np.float64],
    view: Viewport,
    area: QRectF,
    theme: Theme,
) -> int:
    """Paint where samples are lost, hatched; return how many rectangles that took."""
    if not len(gaps_s):
        return 0
    touching = (gaps_s[:, 1] > view.start_s) & (gaps_s[:, 0] < view.stop_s)
    if not touching.any():
        return 0
    gaps = BandSpans.of(
        gaps_s[touching, 0], gaps_s[touching, 1], np.zeros(int(touching.sum()), dtype=np.int64)
    )
    shown = laid_out(gaps, view.start_s, view.stop_s, int(area.width()))
    wide_px = area.width() / view.span_s
    left = area.left() + (shown.left_s - view.start_s) * wide_px
    right = area.left() + (shown.right_s - view.start_s) * wide_px
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(mixed(theme.gap, theme.base, 0.5))
    draw_rectangles(painter, left, right, area.top(), area.bottom())
    painter.setBrush(QBrush(QColor(theme.bad), Qt.BrushStyle.BDiagPattern))
    draw_rectangles(painter, left, right, area.top(), area.bottom())
    return len(shown)
