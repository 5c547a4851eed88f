# SPDX-License-Identifier: Apache-2.0
"""The live picture: power with its envelope, SYNC, and the phases, painted at once.

It is painted by itself, not by a plot's items: a frame costs a tenth of what those cost, and a live
picture is drawn thirty times a second beside the recording.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QLineF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QImage, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui.run.frame import (
    Frame,
    Pixels,
    empty_frame,
    phase_row,
    raster,
    sync_raster,
    wide_phases,
)
from gui.run.phases import UNKNOWN
from gui.run.scale import Ceiling, tick_texts, ticks
from gui.theme import Theme
from rig.units import quantity

_LEFT_PX = 64
_RIGHT_PX = 12
_TOP_PX = 28
_HEAD_PX = 20
_LANE_PX = 26
_GAP_PX = 8
_AXIS_PX = 20
_LABEL_PX = 46
#: A phase of so many pixels is named.
_NAMED_PX = 34
_TICKS_Y = 5
_TICKS_X = 8
#: What is older is said in the colour of a warning.
_OLD_S = 1.0


class LiveView(QWidget):
    """The newest seconds of one rail."""

    def __init__(self, theme: Theme, parent: QWidget | None = None, *, phased: bool = True) -> None:
        super().__init__(parent)
        self._lanes = 2 if phased else 1
        self.setObjectName("live-view")
        phases = " and phases" if phased else ""
        self.setAccessibleName(f"Live power, SYNC{phases}")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(360, 180)
        self.frames_painted = 0
        self._theme = theme
        self._ceiling = Ceiling()
        self._frame = empty_frame(1, 1.0)
        self._phases: dict[str, str] = {}
        self._silence = "no samples yet: Start, and the newest seconds of power are shown here"

    @property
    def columns(self) -> int:
        """Return how many columns of pixels of the display the curve has."""
        return max(int(self._width * self.devicePixelRatioF()), 1)

    @property
    def frame(self) -> Frame:
        """Return what is shown."""
        return self._frame

    def set_theme(self, theme: Theme) -> None:
        """Take other colours."""
        self._theme = theme
        self.update()

    def set_phases(self, names: Sequence[str]) -> None:
        """Give each phase a colour: idle and SYNC have their own."""
        colours = self._theme.phases
        self._phases = {name: colours[place % len(colours)] for place, name in enumerate(names)}

    def set_silence(self, text: str) -> None:
        """Say why there is nothing to see, while that is so."""
        self._silence = text
        self.update()

    def show_frame(self, frame: Frame) -> None:
        """Show a frame."""
        self._frame = frame
        self.update()

    def reset(self) -> None:
        """Forget what was shown; the axis begins anew."""
        self._ceiling = Ceiling()
        self.show_frame(empty_frame(1, 1.0))

    def sizeHint(self) -> QSize:  # noqa: N802
        """Return a size in which the axes have room."""
        return QSize(900, 340)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        """Paint the frame."""
        painter = QPainter(self)
        theme = self._theme
        painter.fillRect(self.rect(), QColor(theme.base))
        self.frames_painted += 1
        frame = self._frame
        plot = self._plot_rectangle()
        if frame.empty:
            painter.setPen(QColor(theme.muted))
            painter.drawText(
                self.rect(), Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap, self._silence
            )
            return
        top = self._ceiling.fit(frame.highest_w)
        bottom = min(frame.lowest_w, 0.0)
        self._paint_axes(painter, plot, bottom, top)
        self._paint_curve(painter, plot, bottom, top)
        self._paint_sync(painter)
        if self._lanes > 1:
            self._paint_phases(painter)
        self._paint_head(painter)

    @property
    def _width(self) -> int:
        return max(self.width() - _LEFT_PX - _RIGHT_PX, 1)

    def _plot_rectangle(self) -> QRectF:
        height = self.height() - _TOP_PX - self._lanes * (_LANE_PX + _GAP_PX) - _AXIS_PX
        return QRectF(_LEFT_PX, _TOP_PX, self._width, max(height, 10))

    def _lane(self, number: int) -> QRectF:
        top = self._plot_rectangle().bottom() + _AXIS_PX + number * (_LANE_PX + _GAP_PX) + 4
        return QRectF(_LEFT_PX, top, self._width, _LANE_PX)

    def _x(self, at_s: float) -> float:
        frame = self._frame
        span_s = frame.stop_s - frame.start_s
        return _LEFT_PX + (at_s - frame.start_s) / (span_s if span_s > 0 else 1.0) * self._width

    def _paint_axes(self, painter: QPainter, plot: QRectF, bottom: float, top: float) -> None:
        theme = self._theme
        grid = QPen(QColor(theme.border))
        grid.setStyle(Qt.PenStyle.DotLine)
        metrics = QFontMetrics(self.font())
        values = ticks(bottom, top, _TICKS_Y)
        texts, unit = tick_texts(values, "W")
        for value, text in zip(values, texts, strict=True):
            y = plot.bottom() - (value - bottom) / (top - bottom) * plot.height()
            painter.setPen(grid)
            painter.drawLine(QLineF(plot.left(), y, plot.right(), y))
            painter.setPen(QColor(theme.muted))
            box = QRectF(0, y - metrics.height() / 2, _LEFT_PX - 6, metrics.height())
            painter.drawText(box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, text)
        painter.setPen(QColor(theme.power))
        painter.drawText(QRectF(4, 0, 200, _HEAD_PX), Qt.AlignmentFlag.AlignVCenter, f"P / {unit}")
        painter.setPen(QColor(theme.muted))
        # Seconds before the newest sample: times that run past nobody can read.
        span_s = self._frame.stop_s - self._frame.start_s
        for ago_s in ticks(-span_s, 0.0, _TICKS_X):
            x = self._x(self._frame.stop_s + ago_s)
            if x > plot.right() - 4:
                continue
            at_edge = x < plot.left() + _LABEL_PX / 2
            left = x + 2 if at_edge else x - _LABEL_PX / 2
            where = Qt.AlignmentFlag.AlignLeft if at_edge else Qt.AlignmentFlag.AlignHCenter
            box = QRectF(left, plot.bottom() + 2, _LABEL_PX, _AXIS_PX - 4)
            painter.drawText(box, where, f"{ago_s:g} s")
        painter.setPen(QColor(theme.border))
        painter.drawRect(plot)

    def _paint_curve(self, painter: QPainter, plot: QRectF, bottom: float, top: float) -> None:
        colour = QColor(self._theme.power)
        envelope = _premultiplied(colour, 0.35)
        height = max(int(plot.height() * self.devicePixelRatioF()), 1)
        pixels = raster(self._frame, bottom, top, height, (envelope, _premultiplied(colour, 1.0)))
        painter.drawImage(plot, _image(pixels))

    def _paint_sync(self, painter: QPainter) -> None:
        lane = self._lane(0)
        self._paint_lane_name(painter, lane, "SYNC")
        colour = _premultiplied(QColor(self._theme.sync), 1.0)
        pixels = sync_raster(self._frame, self.columns, int(lane.height()), colour)
        painter.drawImage(lane, _image(pixels))

    def _paint_phases(self, painter: QPainter) -> None:
        lane = self._lane(1)
        self._paint_lane_name(painter, lane, "phase")
        theme = self._theme
        colours = [self._colour(name) for name in self._frame.strip.names]
        row = phase_row(self._frame, self.columns, colours)
        painter.drawImage(lane, _image(row[None, :]))
        painter.setPen(QColor(theme.text))
        for name, left, right in wide_phases(self._frame, self._width, _NAMED_PX):
            box = QRectF(lane.left() + left, lane.top(), right - left, lane.height())
            text = painter.fontMetrics().elidedText(
                name, Qt.TextElideMode.ElideRight, int(box.width()) - 4
            )
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)

    def _colour(self, name: str) -> int:
        """Return the colour of a phase; none where nothing is measured."""
        if not name:
            return 0
        known = self._phases.get(name)
        if known is None:
            return _premultiplied(QColor(self._theme.gap), 0.25 if name == UNKNOWN else 0.6)
        return _premultiplied(QColor(known), 0.6)

    def _paint_lane_name(self, painter: QPainter, lane: QRectF, name: str) -> None:
        painter.fillRect(lane, QColor(self._theme.window))
        painter.setPen(QColor(self._theme.muted))
        box = QRectF(0, lane.top(), _LEFT_PX - 6, lane.height())
        painter.drawText(box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, name)

    def _paint_legend(self, painter: QPainter) -> None:
        x = float(_LEFT_PX)
        for name, colour in self._phases.items():
            box = QRectF(x, 5, 10, 10)
            fill = QColor(colour)
            fill.setAlphaF(0.6)
            painter.fillRect(box, fill)
            width = painter.fontMetrics().horizontalAdvance(name)
            painter.setPen(QColor(self._theme.muted))
            text = QRectF(x + 14, 0, width + 2, _HEAD_PX)
            painter.drawText(text, Qt.AlignmentFlag.AlignVCenter, name)
            x += width + 30

    def _paint_head(self, painter: QPainter) -> None:
        self._paint_legend(painter)
        frame = self._frame
        age_s = frame.age_s
        if age_s is None:
            return
        old = age_s > _OLD_S
        painter.setPen(QColor(self._theme.warn if old else self._theme.muted))
        latest = "" if frame.latest_w is None else f"{quantity(frame.latest_w, 'W')}   "
        age = (
            f"newest sample {age_s:.1f} s old" if old else f"newest sample {age_s * 1e3:.0f} ms old"
        )
        box = QRectF(_LEFT_PX, 0, self._width, _HEAD_PX)
        painter.drawText(
            box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, latest + age
        )


def _image(pixels: Pixels) -> QImage:
    """Return pixels as an image, which lives no longer than they."""
    rows, width = pixels.shape
    return QImage(
        np.ascontiguousarray(pixels).data,
        width,
        rows,
        4 * width,
        QImage.Format.Format_ARGB32_Premultiplied,
    )


def _premultiplied(colour: QColor, alpha: float) -> int:
    red, green, blue = (
        round(part * alpha) for part in (colour.red(), colour.green(), colour.blue())
    )
    return round(255 * alpha) << 24 | red << 16 | green << 8 | blue
