# SPDX-License-Identifier: Apache-2.0
"""One edge of SYNC from near: samples around it, where a marker on it stands, and how
well that is known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtGui import QShowEvent

from gui.theme import shown
from gui.trace.shown.state import UNITS, Topic, TraceState
from gui.trace.views.panel import TraceView, offer_signals, step_buttons
from gui.trace.views.plain_plot import PlainPlot
from gui.widgets.controls import combo_box
from gui.widgets.layouts import in_row
from gui.widgets.notice import Severity
from gui.widgets.text import plain
from gui.worker import BackgroundWorker
from rig.api.traces.edges import Edge
from rig.api.traces.trace import SessionTrace
from rig.units import quantity

Array = NDArray[np.float64]

#: So many samples on each side of the edge, and at least so many uncertainties.
_SAMPLES = 16
_SPREADS = 6


@dataclass(frozen=True, slots=True)
class EdgePicture:
    """The samples around an edge: borders in seconds after it, values; `u_s` is the
    standard uncertainty of where it is.
    """

    edge: Edge
    u_s: float
    signal: str
    borders_s: Array
    values: Array


def picture(trace: SessionTrace, edge: Edge, signal: str) -> EdgePicture:
    """Return the picture of an edge; raises DataError where its samples cannot be
    read."""
    u_s = trace.edge_uncertainty_s(edge.at_s)
    around_s = max(_SAMPLES / trace.sample_hz, _SPREADS * u_s)
    start_s = max(edge.at_s - around_s, 0.0)
    stop_s = min(edge.at_s + around_s, trace.duration_s)
    values = getattr(trace, signal)(start_s, stop_s)
    middles = trace.times(start_s, stop_s)
    half_s = 0.5 / trace.sample_hz
    borders_s = np.concatenate([middles - half_s, middles[-1:] + half_s]) - edge.at_s
    return EdgePicture(edge, u_s, signal, borders_s, values)


class EdgeView(TraceView):
    """The edge nearest to the selected marker's line, or to the chosen window's
    start."""

    def __init__(self, worker: BackgroundWorker) -> None:
        super().__init__("trace-edge", worker)
        self._edge: Edge | None = None
        self.signal = combo_box("edge-signal", "Signal", action=self._ask)
        self.plot = PlainPlot("edge-plot", "Samples around an edge")
        self.text = plain("edge-text", wrap=True, selectable=True)
        row = in_row([*step_buttons("edge", "edge", self.step), self.signal])
        self._lay_out(row, self.plot, self.text)

    def set_state(self, state: TraceState) -> None:
        """Take the edges of a trace."""
        self._take(state)
        self._edge = None
        self.shown = None
        self.plot.clear()
        offer_signals(self.signal, state)
        self._follow()

    def step(self, forward: bool) -> None:
        """Go to the next edge, or the one before."""
        if self._state is None:
            return
        at_s = 0.0 if self._edge is None else self._edge.at_s
        edge = self._state.edge_beside(at_s, forward)
        if edge is not None:
            self._edge = edge
            self._ask()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        """Read the edge that was followed while the view was hidden."""
        super().showEvent(event)
        self._follow()

    def _changed(self, topic: Topic) -> None:
        if topic in ("markers", "chosen", "edges") and self.isVisible():
            self._follow()

    def _follow(self) -> None:
        """Show the edge at the line at hand."""
        state = self._state
        if state is None or not self.isVisible():
            return
        edges = state.edges
        if edges is None and state.subject.has_sync:
            return
        if edges is None or not len(edges):
            self.notice.show_text(
                "this trace has no edges of SYNC", Severity.INFORMATION
            )
            return
        self.notice.clear()
        mark = state.markers.chosen
        if mark is not None:
            at_s = mark.a_s if mark.b_s is None else mark.b_s
        elif state.chosen is not None:
            at_s = state.chosen.start_s
        else:
            at_s = state.view.at(0.5) if self._edge is None else self._edge.at_s
        edge = edges.nearest(at_s)
        if edge is not None and edge != self._edge:
            self._edge = edge
            self._ask()

    def _ask(self) -> None:
        state, edge = self._state, self._edge
        if state is None or edge is None:
            return
        trace, signal = state.subject.trace, self.signal.currentText()
        self._task.start(
            lambda stopped: picture(trace, edge, signal),
            self._show,
            self.notice.show_error,
        )

    def _show(self, picture: EdgePicture) -> None:
        self.shown = picture
        edge, theme = picture.edge, shown()
        self.plot.clear()
        self.plot.label(
            "time after the edge", "s", picture.signal, UNITS[picture.signal]
        )
        self.plot.band(-2 * picture.u_s, 2 * picture.u_s, theme.marker, 0.15)
        self.plot.band(-picture.u_s, picture.u_s, theme.marker, 0.30)
        self.plot.steps(
            picture.borders_s, picture.values, getattr(theme, picture.signal)
        )
        self.plot.line(edge.seen_s - edge.at_s, theme.sync, "as seen", dashed=True)
        self.plot.line(0.0, theme.marker, "marker" if edge.is_window_end else "edge")
        self.plot.fit()
        what = "falling" if edge.falls else "rising"
        text = (
            f"{what} edge at {edge.at_s:.9f} s, known to {quantity(picture.u_s, 's')}"
            " (standard uncertainty; the bands are one and two of them)."
        )
        if edge.is_window_end:
            off = quantity(edge.seen_s - edge.at_s, "s")
            text += (
                "\nA window ends here: at the mark by the time base. As SYNC was"
                f" sampled, the edge was seen {off} after it, known to"
                f" {quantity(edge.u_s, 's')}."
            )
        self.text.setText(text)
