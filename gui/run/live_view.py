# SPDX-License-Identifier: Apache-2.0
"""The live picture: power, SYNC and the phases of the newest seconds, painted as a
trace is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui.picture import ticks
from gui.picture.band_layout import IDLE_COLOUR, UNKNOWN_COLOUR, BandSpans
from gui.picture.bands_item import BandsItem
from gui.picture.envelope_item import Envelope
from gui.picture.lane_painter import LineEdges, SignalLane, paint_signal, paint_sync
from gui.picture.lanes import PlotLanes, laid_out, paint_time_axis, time_ticks_for
from gui.picture.viewport import Viewport
from gui.run.frame import LiveFrame, empty_frame
from gui.run.phases import UNKNOWN, Strip
from gui.run.scale import Ceiling
from gui.widgets.controls import combo_box, offer, push_button
from gui.widgets.layouts import in_row
from gui.widgets.painter import ThemedPainter
from gui.widgets.text import CENTRE, RIGHT, PlainLabel
from rig.report import palette
from rig.units import quantity

_POWER = "power"
_SPANS_S = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
_SPAN_S = 5.0
#: Names of stretches without a phase of the task.
_OTHERS = {UNKNOWN: UNKNOWN_COLOUR, "SYNC": UNKNOWN_COLOUR, "idle": IDLE_COLOUR}
#: The age of older samples has the colour of a warning.
_OLD_S = 1.0


class LiveView(QWidget):
    """The newest seconds of one rail."""

    def __init__(self, *, phased: bool = True) -> None:
        super().__init__()
        self._phased = phased
        self.setObjectName("live-view")
        phases = " and phases" if phased else ""
        self.setAccessibleName(f"Live power, SYNC{phases}")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(360, 200)
        self.frames_painted = 0
        self._ceiling = Ceiling()
        self.frame = empty_frame(1, 1.0)
        self._bands = BandsItem()
        self._phases: tuple[str, ...] = ()
        self._silence = (
            "no samples yet: Start, and the newest seconds of power are shown here"
        )

    @property
    def columns(self) -> int:
        """Number of columns of the curve."""
        return max(int(self._lanes.time.width()), 1)

    def set_phases(self, names: Sequence[str]) -> None:
        """Take the names of the task's phases, which have their colours by their
        order."""
        self._phases = tuple(names)

    def set_silence(self, text: str) -> None:
        """Take the text for a view without samples."""
        self._silence = text
        self.update()

    def show_frame(self, frame: LiveFrame) -> None:
        """Show a frame."""
        self.frame = frame
        self.update()

    def reset(self) -> None:
        """Show no samples; the axis begins again."""
        self._ceiling = Ceiling()
        self.show_frame(empty_frame(1, 1.0))

    def sizeHint(self) -> QSize:  # noqa: N802
        """Return a size with room for the axes."""
        return QSize(900, 340)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        """Paint the frame."""
        with ThemedPainter(self) as painter:
            painter.fillRect(self.rect(), QColor(painter.theme.base))
            self.frames_painted += 1
            if self.frame.empty:
                painter.setPen(QColor(painter.theme.muted))
                words = CENTRE | Qt.TextFlag.TextWordWrap
                painter.drawText(self.rect(), words, self._silence)
            else:
                self._paint(painter, self.frame)

    @property
    def _lanes(self) -> PlotLanes:
        return laid_out(self.size(), (_POWER,), has_sync=True, has_phases=self._phased)

    def _paint(self, painter: ThemedPainter, frame: LiveFrame) -> None:
        lanes = self._lanes
        power, sync = lanes.signals[_POWER], lanes.sync
        assert sync is not None
        view = Viewport(frame.start_s, frame.stop_s, frame.stop_s)
        if self._phased:
            spans = bands(frame.strip, frame.stop_s, self._phases)
            for area in (power, sync):
                self._bands.paint(painter, spans, view, area)
            self._bands.paint_strip(painter, spans, view, lanes.phases)
        # Times of the trace would run along the axis: it has seconds before the newest
        # sample.
        ago = Viewport(-view.span_s, 0.0, view.duration_s)
        time = ticks.of_time(ago.start_s, ago.stop_s, time_ticks_for(lanes.time))
        paint_time_axis(painter, lanes, time, ago)
        borders_s = np.linspace(frame.start_s, frame.stop_s, len(frame.mean_w) + 1)
        shape = Envelope(
            borders_s[:-1], borders_s[1:], frame.least_w, frame.mean_w, frame.most_w
        )
        y_range = (min(frame.lowest_w, 0.0), self._ceiling.fit(frame.highest_w))
        lane = SignalLane(
            title="Power",
            unit="W",
            colour=painter.theme.power,
            envelope=shape,
            y_range=y_range,
        )
        paint_signal(painter, power, lane, view)
        edges = LineEdges.of(frame.falls_s, frame.rises_s)
        paint_sync(painter, sync, edges, view)
        self._paint_head(painter, lanes.markers)

    def _paint_head(self, painter: ThemedPainter, area: QRectF) -> None:
        frame = self.frame
        age_s = frame.age_s
        if age_s is None:
            return
        old = age_s > _OLD_S
        painter.setPen(QColor(painter.theme.warn if old else painter.theme.muted))
        latest = "" if frame.latest_w is None else f"{quantity(frame.latest_w, 'W')}   "
        age = (
            f"newest sample {age_s:.1f} s old"
            if old
            else f"newest sample {age_s * 1e3:.0f} ms old"
        )
        painter.drawText(area, RIGHT, latest + age)


def bands(strip: Strip, stop_s: float, phases: Sequence[str]) -> BandSpans:
    """Return the phases of a strip up to a time as they are painted; `phases` are those
    of the task.
    """
    colours = []
    for name in strip.names:
        is_other = name in _OTHERS
        colours.append(_OTHERS[name] if is_other else palette.place(name, phases))
    numbers = np.array(colours)
    shown = np.flatnonzero([bool(strip.names[place]) for place in strip.places])
    ends_s = np.append(strip.starts_s[1:], stop_s)
    places = strip.places[shown]
    names = [strip.names[place] for place in places]
    return BandSpans.of(strip.starts_s[shown], ends_s[shown], numbers[places], names)


class LiveControls(QWidget):
    """The choice of the seconds that a live view shows, and the button that holds
    it.
    """

    def __init__(self, screen: str) -> None:
        super().__init__()
        self._span = combo_box(f"{screen}-span", "Seconds that are shown")
        offer(self._span, [(f"{span_s:g} s", span_s) for span_s in _SPANS_S], _SPAN_S)
        self.hold = push_button(
            f"{screen}-hold",
            "Hold",
            accessible="Hold the picture",
            tip="keep the picture still; the recording goes on (Space)",
        )
        self.hold.setCheckable(True)
        in_row([PlainLabel("last"), self._span, self.hold], self)

    @property
    def span_s(self) -> float:
        """The chosen number of seconds."""
        return float(self._span.currentData())
