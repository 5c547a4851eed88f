# SPDX-License-Identifier: Apache-2.0
"""A lane of texts at their times, each as far as the next one leaves it room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QFontMetricsF

from gui.picture.lanes import paint_frame, paint_row_title
from gui.picture.painting import draw_lines, line_pen
from gui.picture.viewport import Viewport
from gui.widgets.painter import ThemedPainter
from gui.widgets.text import LEFT

Array = NDArray[np.float64]

#: A text with less room is a stroke alone.
_TEXT_PX = 26.0
_INDENT_PX = 3.0


@dataclass(frozen=True, slots=True)
class TimedTexts:
    """Texts in the order of their times; `bad` are those to be painted as faults."""

    at_s: Array
    texts: Sequence[str]
    bad: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.at_s)

    def before(self, at_s: float) -> int | None:
        """Return the place of the last text at or before an instant; None before the
        first.
        """
        after = int(np.searchsorted(self.at_s, at_s, side="right"))
        return after - 1 if after else None


def paint_texts(
    painter: ThemedPainter,
    area: QRectF,
    timed: TimedTexts,
    view: Viewport,
    *,
    title: str,
) -> None:
    """Paint a stroke for each text of the view, one a pixel, and right of it the text,
    up to the next stroke.
    """
    paint_row_title(painter, area, title, painter.theme.sync)
    # The text that began before the view reaches into it.
    first = timed.before(view.start_s) or 0
    last = int(np.searchsorted(timed.at_s, view.stop_s, side="right"))
    part = slice(first, last)
    x = area.left() + (timed.at_s[part] - view.start_s) / view.span_s * area.width()
    painter.setClipRect(area)
    for bad, colour in ((False, painter.theme.muted), (True, painter.theme.bad)):
        strokes = np.unique(np.round(x[timed.bad[part] == bad]))
        top = np.full(len(strokes), area.top())
        painter.setPen(line_pen(colour))
        draw_lines(painter, strokes, top, strokes, top + area.height())
    ends = np.append(x[1:], area.right())
    metrics = QFontMetricsF(painter.font())
    lefts = np.maximum(x, area.left()) + _INDENT_PX
    for place in np.flatnonzero(ends - lefts >= _TEXT_PX):
        wide = ends[place] - lefts[place]
        box = QRectF(lefts[place], area.top(), wide, area.height())
        number = first + int(place)
        shown = metrics.elidedText(
            timed.texts[number], Qt.TextElideMode.ElideRight, box.width()
        )
        colour = painter.theme.bad if timed.bad[number] else painter.theme.text
        painter.text(box, LEFT, shown, colour)
    painter.setClipping(False)
    paint_frame(painter, area)
