# SPDX-License-Identifier: Apache-2.0
"""Histogram and spectrum of the selection, or of the view without a selection."""

from __future__ import annotations

import numpy as np
from PySide6.QtGui import QShowEvent

from gui.theme import shown
from gui.trace.shown.state import SIGNALS, UNITS, Topic, TraceState
from gui.trace.views.panel import TraceView, offer_signals
from gui.trace.views.plain_plot import PlainPlot
from gui.widgets.controls import check_box, combo_box, delayed
from gui.widgets.layouts import in_row
from gui.widgets.text import plain
from gui.worker import BackgroundWorker
from rig.api.traces.distributions import Histogram, Spectrum
from rig.trace.levels import Stopped
from rig.units import quantity

_REST_MS = 200
_BINS = 200
_KINDS = ("Histogram", "Spectrum")


class DistributionView(TraceView):
    """One of both at a time, exact: from every sample of the stretch."""

    def __init__(self, worker: BackgroundWorker) -> None:
        super().__init__("trace-distribution", worker)
        self.kind = combo_box(
            "distribution-kind", "Histogram or spectrum", _KINDS, self._ask
        )
        self.signal = combo_box("distribution-signal", "Signal", SIGNALS, self._ask)
        self.logarithmic = check_box(
            "distribution-log", "log y", self.recolour, accessible="Logarithmic y axis"
        )
        self.plot = PlainPlot("distribution-plot", "Histogram or spectrum")
        self.text = plain("distribution-text", wrap=True)
        self._rest = delayed(self, _REST_MS, self._ask)
        row = in_row([self.kind, self.signal, self.logarithmic])
        self._lay_out(row, self.plot, self.text)

    @property
    def waiting(self) -> bool:
        """Whether something is being computed."""
        return super().waiting or self._rest.isActive()

    def set_state(self, state: TraceState) -> None:
        """Take a trace."""
        self._take(state)
        offer_signals(self.signal, state)
        self._ask()

    def stop(self) -> None:
        """Cancel the computation."""
        self._rest.stop()
        super().stop()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        """Compute what changed while the view was hidden."""
        super().showEvent(event)
        self._ask()

    def _changed(self, topic: Topic) -> None:
        if topic in ("view", "markers", "chosen") and self.isVisible():
            self._rest.start()

    def _ask(self) -> None:
        state = self._state
        if state is None or not self.isVisible():
            return
        chosen = state.selection
        start_s = state.view.start_s if chosen is None else chosen.start_s
        stop_s = state.view.stop_s if chosen is None else chosen.stop_s
        trace, signal = state.subject.trace, self.signal.currentText()
        spectral = self.kind.currentText() == "Spectrum"
        self.text.setText("...")
        self.notice.clear()

        def work(stopped: Stopped) -> Histogram | Spectrum:
            if spectral:
                return trace.spectrum(start_s, stop_s, signal, stopped=stopped)
            return trace.histogram(start_s, stop_s, signal, _BINS, stopped=stopped)

        self._task.start(work, self._show, self._failed)

    def _failed(self, error: BaseException) -> None:
        self.shown = None
        self.plot.clear()
        self.text.clear()
        self.notice.show_error(error)

    def _show(self, distribution: Histogram | Spectrum) -> None:
        self.shown = distribution
        self.plot.clear()
        colour = getattr(shown(), distribution.signal)
        log_y = self.logarithmic.isChecked()
        if isinstance(distribution, Spectrum):
            # The first value is that of the mean, which was taken away.
            frequency_hz, root = (
                distribution.frequency_hz[1:],
                distribution.amplitude[1:],
            )
            self.plot.logarithmic(True, log_y)
            self.plot.label("frequency", "Hz", f"{distribution.signal} density", "")
            known = root > 0
            self.plot.curve(frequency_hz[known], root[known], colour)
            unit = UNITS[distribution.signal]
            peak = int(np.argmax(root)) if len(root) else 0
            text = (
                f"{unit}/√Hz, mean of {distribution.segments} segments of "
                f"{quantity(distribution.segment_s, 's')} (Welch, half overlapping)"
            )
            if len(root):
                text += f"; highest at {quantity(float(frequency_hz[peak]), 'Hz')}"
            if distribution.left_out:
                text += f"; {distribution.left_out} segments with lost samples left out"
        else:
            seconds = distribution.seconds
            self.plot.logarithmic(False, log_y)
            self.plot.label(distribution.signal, distribution.unit, "time", "s")
            floor = None
            if log_y:
                known = seconds > 0
                least = float(seconds[known].min()) / 2 if known.any() else 1e-9
                seconds = np.maximum(seconds, least)
            else:
                floor = 0.0
            self.plot.steps(distribution.borders, seconds, colour, floor)
            counts = f"{distribution.count} samples, {distribution.lost} lost"
            text = f"{counts}, {len(seconds)} bins"
        self.plot.fit()
        self.text.setText(text)
