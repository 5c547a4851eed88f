# SPDX-License-Identifier: Apache-2.0
"""Phase bands and gaps, each painted as one item: sixteen thousand windows cost what
twenty do."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFontMetricsF, QImage, QPaintEngine

from gui.picture.band_layout import (
    IDLE_COLOUR,
    UNKNOWN_COLOUR,
    WARM_UP_COLOUR,
    BandSpans,
    laid_out,
)
from gui.picture.painting import draw_rectangles
from gui.picture.viewport import Viewport
from gui.theme import shown
from gui.widgets.painter import ThemedPainter, faint
from gui.widgets.text import CENTRE

Array = NDArray[np.float64]

_SHARE = 0.16
_LOUD = 0.85
#: More bands are painted as a row of pixels, but in files of vectors.
_FEW = 150
_VECTORS = (QPaintEngine.Type.SVG, QPaintEngine.Type.Pdf)
#: A phase of so many pixels may be named.
_NAMED_PX = 30.0


def band_colour(colour: int, loud: bool = False) -> QColor:
    """Return the fill of a band of a phase, an idle time, a warm-up query, or one not
    known yet."""
    theme = shown()
    share = _LOUD if loud else _SHARE
    if colour in (WARM_UP_COLOUR, UNKNOWN_COLOUR):
        return faint(theme.muted, share * 0.5)
    if colour == IDLE_COLOUR:
        return faint(theme.muted, share)
    return faint(theme.phases[colour % len(theme.phases)], share)


class BandsItem:
    """The bands of one view, laid out once for all lanes that show them."""

    def __init__(self) -> None:
        self._of: tuple[BandSpans, float, float, int] | None = None
        self._shown: list[tuple[int, Array, Array]] = []
        self._rows: dict[tuple[str, bool], QImage] = {}
        self.count = 0

    def paint(
        self,
        painter: ThemedPainter,
        spans: BandSpans,
        view: Viewport,
        area: QRectF,
        loud: bool = False,
    ) -> None:
        """Paint the bands of a view; `count` is how many rectangles that took."""
        if not len(spans):
            self.count = 0
            return
        layout_key = spans, view.start_s, view.stop_s, int(area.width())
        of = self._of
        if of is None or layout_key[1:] != of[1:] or spans is not of[0]:
            self._of = layout_key
            self._lay_out(spans, view, int(area.width()))
        if self.count > _FEW and painter.paintEngine().type() not in _VECTORS:
            painter.drawImage(area, self._row(int(area.width()), loud))
            return
        painter.setPen(Qt.PenStyle.NoPen)
        for colour, left, right in self._shown:
            painter.setBrush(band_colour(colour, loud))
            low = area.left() + left * area.width()
            high = area.left() + right * area.width()
            draw_rectangles(painter, low, high, area.top(), area.bottom())

    def paint_strip(
        self,
        painter: ThemedPainter,
        spans: BandSpans,
        view: Viewport,
        area: QRectF,
    ) -> None:
        """Paint the strip of phases, with the names of those that have the room."""
        if not area.height():
            return
        inner = area.adjusted(0, 2, 0, -1)
        self.paint(painter, spans, view, inner, loud=True)
        if not spans.names or self.count > area.width() / _NAMED_PX:
            return
        first = int(np.searchsorted(spans.reached_s, view.start_s, side="right"))
        last = int(np.searchsorted(spans.start_s, view.stop_s, side="left"))
        metrics = QFontMetricsF(painter.font())
        for place in range(first, last):
            left = max(view.fraction(float(spans.start_s[place])), 0.0) * area.width()
            stop_s = float(spans.stop_s[place])
            if place + 1 < len(spans):
                # What lies in a stream has names of its own.
                stop_s = min(stop_s, float(spans.start_s[place + 1]))
            right = min(view.fraction(stop_s), 1.0) * area.width()
            text = spans.names[place]
            if metrics.horizontalAdvance(text) + 8 > right - left:
                continue
            fill = band_colour(int(spans.colour[place]), loud=True)
            dark = fill.lightnessF() > 0.5
            box = QRectF(area.left() + left, area.top(), right - left, area.height())
            painter.text(box, CENTRE, text, "#101216" if dark else "#ffffff")

    def _row(self, pixels: int, loud: bool) -> QImage:
        """Return bands as an image one pixel high, at the same cost for any number of
        them.
        """
        row_key = shown().name, loud
        if row_key not in self._rows:
            row = np.zeros(pixels, dtype=np.uint32)
            for colour, left, right in self._shown:
                first = np.clip(np.floor(left * pixels), 0, pixels - 1).astype(np.int64)
                last = np.clip(np.ceil(right * pixels), first + 1, pixels).astype(
                    np.int64
                )
                # Where bands begin and end, summed up: the pixels that they cover.
                covered = np.zeros(pixels + 1, dtype=np.int64)
                np.add.at(covered, first, 1)
                np.add.at(covered, last, -1)
                row[np.cumsum(covered[:-1]) > 0] = band_colour(colour, loud).rgba()
            image = QImage(
                row.tobytes(), pixels, 1, 4 * pixels, QImage.Format.Format_ARGB32
            )
            self._rows[row_key] = image.copy()
        return self._rows[row_key]

    def _lay_out(self, spans: BandSpans, view: Viewport, pixels: int) -> None:
        shown = laid_out(spans, view.start_s, view.stop_s, pixels)
        self.count = len(shown)
        self._rows.clear()
        left = (shown.left_s - view.start_s) / view.span_s
        right = (shown.right_s - view.start_s) / view.span_s
        self._shown = []
        for colour in np.unique(shown.colour):
            of_colour = shown.colour == colour
            self._shown.append((int(colour), left[of_colour], right[of_colour]))


def paint_gaps(
    painter: ThemedPainter,
    gaps_s: Array,
    view: Viewport,
    area: QRectF,
    are_means: bool = False,
) -> int:
    """Paint where samples are lost, hatched, or where `are_means` stand in their place,
    dotted; return how many rectangles that took.
    """
    if not len(gaps_s):
        return 0
    touching = (gaps_s[:, 1] > view.start_s) & (gaps_s[:, 0] < view.stop_s)
    if not touching.any():
        return 0
    one_colour = np.zeros(int(touching.sum()), dtype=np.int64)
    gaps = BandSpans.of(gaps_s[touching, 0], gaps_s[touching, 1], one_colour)
    shown = laid_out(gaps, view.start_s, view.stop_s, int(area.width()))
    wide_px = area.width() / view.span_s
    left = area.left() + (shown.left_s - view.start_s) * wide_px
    right = area.left() + (shown.right_s - view.start_s) * wide_px
    painter.setPen(Qt.PenStyle.NoPen)
    if are_means:
        painter.setBrush(
            QBrush(QColor(painter.theme.muted), Qt.BrushStyle.Dense7Pattern)
        )
        draw_rectangles(painter, left, right, area.top(), area.bottom())
        return len(shown)
    painter.setBrush(faint(painter.theme.gap, 0.5))
    draw_rectangles(painter, left, right, area.top(), area.bottom())
    painter.setBrush(QBrush(QColor(painter.theme.bad), Qt.BrushStyle.BDiagPattern))
    draw_rectangles(painter, left, right, area.top(), area.bottom())
    return len(shown)
