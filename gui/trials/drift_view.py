# SPDX-License-Identifier: Apache-2.0
"""A metric's trials in order of time: values, their uncertainty, band, claim, both
intervals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyqtgraph
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QWidget

from gui.theme import Recoloured, shown
from gui.trials import words
from gui.widgets import plots
from gui.widgets.controls import named
from gui.widgets.layouts import in_column
from gui.widgets.text import no_markup
from rig.api.trials.drift import percent
from rig.api.trials.replication import MetricTrials, TrialDot

_EDGE = 0.6
#: An open end of a band, in the unit of the axis.
_FAR = 1e12
_MEANING = (
    "Line: the mean; dashed: the claim. Green: 5 % to both sides of the claim, or of"
    " the mean. Blue: 95 % intervals, dark for the same samples, dotted for other"
    " samples. Bars: two standard uncertainties of a trial. A double click on a trial"
    " shows its trace."
)


class DriftView(QWidget, Recoloured):
    """The trials of one metric; `trial_chosen` is emitted with the number of a trial
    that is clicked twice.
    """

    trial_chosen = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("trials-drift")
        self._metric: MetricTrials | None = None
        self.plot = named(
            plots.new_plot(), "trials-drift-plot", "Trials in order of time"
        )
        # Before there is a label: it would keep the prefix of that moment's range.
        self.plot.getAxis("left").enableAutoSIPrefix(False)
        self.plot.setToolTip(_MEANING)
        self.plot.setMouseEnabled(x=False, y=False)
        self.plot.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.plot.scene().sigMouseClicked.connect(self._clicked)
        in_column([self.plot], self)
        self.recolour()

    def recolour(self) -> None:
        """Draw in the colours of the theme that is shown."""
        theme = shown()
        plots.configure()
        self.plot.setBackground(theme.base)
        for side in ("left", "bottom"):
            axis = self.plot.getAxis(side)
            axis.setPen(theme.muted)
            axis.setTextPen(theme.text)
        self.set_metric(self._metric)

    def set_metric(self, metric: MetricTrials | None) -> None:
        """Show a metric."""
        self._metric = metric
        self.plot.clear()
        if metric is None:
            return
        factor, unit = words.shown_unit(metric)
        bottom = self.plot.getAxis("bottom")
        numbered = enumerate(metric.dots)
        bottom.setTicks([[(number + 1, str(dot.trial)) for number, dot in numbered]])
        bottom.setLabel("trial, in order of time")
        left = self.plot.getAxis("left")
        left.setLabel(no_markup(f"{metric.name} ({unit})" if unit else metric.name))
        low, high = self._ends(metric)
        last = len(metric.dots) + _EDGE
        self.plot.setXRange(1 - _EDGE, last, padding=0)
        self.plot.setYRange(low * factor, high * factor, padding=0)
        self._band(metric.band, factor, shown().ok, 45)
        other, same = metric.metric.other_samples, metric.metric.same_samples
        if other.known:
            self._band((other.low, other.high), factor, shown().accent, 22, edges=True)
        if same.known:
            self._band((same.low, same.high), factor, shown().accent, 55)
        self._line(metric.mean * factor, shown().text, Qt.PenStyle.SolidLine)
        if metric.claimed is not None:
            self._line(metric.claimed * factor, shown().marker, Qt.PenStyle.DashLine)
        if metric.drift is not None and metric.drift.found:
            self._slope(metric, factor)
        self._dots(metric, factor)

    def _ends(self, metric: MetricTrials) -> tuple[float, float]:
        """Return the ends of the axis: the dots, the claim and, where it is near, the
        band."""
        values = [dot.value for dot in metric.dots if math.isfinite(dot.value)]
        shown = [*values, *filter(math.isfinite, metric.band)]
        for dot in metric.dots:
            spread = 2 * (dot.standard_uncertainty or 0.0)
            if math.isfinite(dot.value):
                shown += [dot.value - spread, dot.value + spread]
        if not shown:
            return -1.0, 1.0
        room = 0.08 * (max(shown) - min(shown)) or abs(shown[0]) * 0.1 or 1.0
        return min(shown) - room, max(shown) + room

    def _band(
        self,
        ends: tuple[float, float],
        factor: float,
        colour: str,
        alpha: int,
        edges: bool = False,
    ) -> None:
        low, high = (max(-_FAR, min(_FAR, end * factor)) for end in ends)
        shade = QColor(colour)
        shade.setAlpha(alpha)
        pen = pyqtgraph.mkPen(None)
        if edges:
            pen = pyqtgraph.mkPen(colour, width=1, style=Qt.PenStyle.DotLine)
        region = pyqtgraph.LinearRegionItem(
            (low, high), "horizontal", movable=False, brush=shade, pen=pen
        )
        region.setZValue(-20)
        self.plot.addItem(region, ignoreBounds=True)

    def _line(self, at: float, colour: str, style: Qt.PenStyle) -> None:
        if math.isfinite(at):
            pen = pyqtgraph.mkPen(colour, width=1, style=style)
            self.plot.addItem(pyqtgraph.InfiniteLine(at, 0, pen), ignoreBounds=True)

    def _slope(self, metric: MetricTrials, factor: float) -> None:
        drift = metric.drift
        assert drift is not None
        trials = [dot.trial for dot in metric.dots]
        line = drift.line
        ends = [line.at_zero + line.slope * trial for trial in (trials[0], trials[-1])]
        pen = pyqtgraph.mkPen(shown().warn, width=2, style=Qt.PenStyle.DashLine)
        self.plot.plot([1, len(trials)], [end * factor for end in ends], pen=pen)

    def _dots(self, metric: MetricTrials, factor: float) -> None:
        places = np.arange(1, len(metric.dots) + 1, dtype=np.float64)
        values = np.array([dot.value for dot in metric.dots]) * factor
        u = np.array([dot.standard_uncertainty or 0.0 for dot in metric.dots])
        spread = 2 * u * factor
        bars = pyqtgraph.ErrorBarItem(
            x=places,
            y=values,
            top=spread,
            bottom=spread,
            beam=0.1,
            pen=pyqtgraph.mkPen(shown().muted, width=1.5),
        )
        self.plot.addItem(bars, ignoreBounds=True)
        spots = []
        for x, value, dot in zip(places, values, metric.dots, strict=True):
            if math.isfinite(value):
                colour = self._colour(metric, dot)
                pen = pyqtgraph.mkPen(colour, width=1.5)
                brush = colour if dot.valid else None
                spot = {"pos": (x, value), "size": 11, "brush": brush, "pen": pen}
                spots.append(spot)
        self.plot.addItem(pyqtgraph.ScatterPlotItem(spots), ignoreBounds=True)
        for x, value, dot in zip(places, values, metric.dots, strict=True):
            if words.is_odd(metric, dot) and math.isfinite(value):
                assert metric.odd is not None
                anchor = (1.05 if x > 2 else -0.05, 0.5)
                text = pyqtgraph.TextItem(
                    f" the odd one: {percent(metric.odd.deviation)}",
                    color=shown().bad,
                    anchor=anchor,
                )
                text.setPos(x, value)
                self.plot.addItem(text, ignoreBounds=True)

    def _colour(self, metric: MetricTrials, dot: TrialDot) -> str:
        is_bad = words.is_odd(metric, dot) or dot.beyond
        return shown().bad if is_bad else shown().text

    def _clicked(self, event: Any) -> None:
        if self._metric is None or not event.double():
            return
        at = self.plot.plotItem.vb.mapSceneToView(event.scenePos())
        number = round(at.x()) - 1
        if 0 <= number < len(self._metric.dots):
            self.trial_chosen.emit(self._metric.dots[number].trial)
