# SPDX-License-Identifier: Apache-2.0
"""What views beside the picture have in common: their layout, and the choice of a
signal."""

from __future__ import annotations

from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QWidget

from gui.trace.shown.state import SIGNALS, TraceState
from gui.widgets.layouts import TAB, in_column
from gui.widgets.notice import Notice


def lay_out(
    view: QWidget, row: QHBoxLayout, notice: Notice, plot: QWidget, text: QLabel
) -> None:
    """Put a row of controls above a plot, and a text below it."""
    row.addStretch(1)
    in_column([row, notice, (plot, 1), text], view, margins=TAB)


def offer_signals(choice: QComboBox, state: TraceState) -> None:
    """Offer the signals that a trace has; power is chosen."""
    choice.blockSignals(True)
    choice.clear()
    choice.addItems(SIGNALS if state.subject.trace.has_current else ("power",))
    choice.setCurrentText("power")
    choice.blockSignals(False)
