# SPDX-License-Identifier: Apache-2.0
"""The table of windows: a row zooms to its window, and highlights it while the mouse is
over it."""

from __future__ import annotations

import math

from PySide6.QtWidgets import QWidget

from gui.trace.panels.rows import PanelTable
from gui.trace.shown.markers import Stretch
from gui.trace.shown.state import TraceState
from gui.widgets.layouts import in_column
from gui.widgets.table import TableColumn
from gui.widgets.text import PlainLabel
from gui.widgets.values import digits
from rig.api.traces.spans import TrialSpan
from rig.stats.summary import half_width
from rig.units import quantity

_STANDARD = "1.96 standard uncertainties, as in samples.jsonl"


def _number(value: float | None) -> float:
    return -math.inf if value is None else value


def _flags(span: TrialSpan) -> str:
    """Return the flags of a window; that it is a warm-up stands in place of its
    energy."""
    return ", ".join(flag for flag in span.flags if flag != "warm-up")


def _latency(span: TrialSpan) -> float:
    return span.stop_s - span.start_s if span.latency_s is None else span.latency_s


def _energy(span: TrialSpan) -> str:
    """Return the energy of a window, or why it has none."""
    if span.energy_j is None and span.warm_up:
        return "warm-up"
    return quantity(span.energy_j, "J", half_width(span.energy_u_j))


def _power(span: TrialSpan) -> str:
    """Return the mean power of a window with its 95 % interval."""
    mean_w = _mean_w(span)
    if mean_w is None:
        return ""
    if span.energy_u_j is None:
        return digits(mean_w, "W", 4, zeros=True)
    return quantity(mean_w, "W", half_width(span.energy_u_j / _latency(span)))


def _time_u(span: TrialSpan) -> str:
    """Return the half-width of the interval of a time, "-" where it is not known."""
    return quantity(half_width(span.latency_u_s), "s", digits=2)


def _mean_w(span: TrialSpan) -> float | None:
    wide_s = _latency(span)
    return None if span.energy_j is None or not wide_s else span.energy_j / wide_s


COLUMNS = (
    TableColumn(
        "step",
        lambda span: "" if span.step is None else str(span.step),
        lambda s: s.step or 0,
    ),
    TableColumn(
        "phase", lambda span: span.phase, tip="of one run, where a phase was repeated"
    ),
    TableColumn(
        "time",
        lambda span: digits(_latency(span), "s", 4, zeros=True),
        _latency,
        right=True,
        tip=(
            "its 95 % interval is in the column ± time where there is room; that of a"
            " selected window stands below at span"
        ),
    ),
    TableColumn(
        "energy",
        _energy,
        lambda span: _number(span.energy_j),
        right=True,
        tip=(
            f"with its 95 % interval: {_STANDARD}; warm-up queries do not count, so"
            " none is computed for them"
        ),
    ),
    TableColumn("flags", _flags, tip="wrong: the answer was not the label"),
    TableColumn(
        "power",
        _power,
        lambda span: _number(_mean_w(span)),
        right=True,
        tip=(
            "mean over the window, energy by time: its relative uncertainty is that of"
            " the energy"
        ),
        spare=True,
    ),
    TableColumn(
        "± time",
        _time_u,
        lambda span: _number(span.latency_u_s),
        right=True,
        tip=f"half of the time's 95 % interval: {_STANDARD}",
        spare=True,
    ),
    TableColumn(
        "start",
        lambda span: f"{span.start_s:.4f} s",
        lambda span: span.start_s,
        right=True,
        spare=True,
    ),
)


class WindowTable(QWidget):
    """The windows of a trial."""

    def __init__(self) -> None:
        super().__init__()
        self.table = PanelTable(COLUMNS, "window-table", "Windows of the trial")
        self._none = PlainLabel(
            "This trace has no windows: it is of no session.", wrap=True
        )
        in_column([self._none, (self.table, 1)], self)
        self.table.chosen.connect(self._chosen)
        self.table.hovered.connect(self._hovered)
        self._state: TraceState | None = None

    def set_state(self, state: TraceState) -> None:
        """Show the windows of a trace."""
        self._state = None
        spans = state.subject.spans
        self.table.set_labels(state.subject.labels)
        self.table.set_rows(spans)
        self.table.setVisible(bool(spans))
        self._none.setVisible(not spans)
        self._state = state

    def step(self, forward: bool) -> None:
        """Go to the next row, or the one before."""
        index = self.table.currentIndex()
        row = index.row() + (1 if forward else -1) if index.isValid() else 0
        if 0 <= row < self.table.model().rowCount():
            self.table.selectRow(row)

    def _chosen(self, span: TrialSpan) -> None:
        if self._state is not None:
            self._state.choose(stretch_of(span))
            self._state.set_view(self._state.view.on(span.start_s, span.stop_s, 0.15))

    def _hovered(self, span: TrialSpan | None) -> None:
        if self._state is not None:
            self._state.hover(None if span is None else stretch_of(span))


def stretch_of(span: TrialSpan) -> Stretch:
    """Return a window as a stretch with a name."""
    step = "" if span.step is None else f", step {span.step}"
    return Stretch(span.start_s, span.stop_s, f"{span.phase}{step}")
