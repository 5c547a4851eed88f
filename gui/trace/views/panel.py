# SPDX-License-Identifier: Apache-2.0
"""Views beside the picture: a part of the trace is computed in the background, and
drawn below a row of controls.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QPushButton, QWidget

from gui.theme import Recoloured
from gui.trace.shown.background import BackgroundTask
from gui.trace.shown.state import SIGNALS, Topic, TraceState
from gui.widgets.controls import offer, push_button
from gui.widgets.layouts import TAB, in_column
from gui.widgets.notice import Notice
from gui.worker import BackgroundWorker


class TraceView(QWidget, Recoloured):
    """A view of a part of a trace; `shown` is the last result."""

    def __init__(self, name: str, worker: BackgroundWorker) -> None:
        super().__init__()
        self.setObjectName(name)
        self._task: BackgroundTask[Any] = BackgroundTask(worker, name)
        self._state: TraceState | None = None
        self.shown: Any = None
        self.notice = Notice()

    @property
    def waiting(self) -> bool:
        """Whether something is being computed."""
        return self._task.pending

    def stop(self) -> None:
        """Cancel the computation."""
        self._task.cancel()

    def recolour(self) -> None:
        """Draw in the colours of the theme that is shown."""
        if self.shown is not None:
            self._show(self.shown)

    def _take(self, state: TraceState) -> None:
        """Take a trace, and give up computing another one."""
        self._task.cancel()
        self._state = state
        state.listen(self._changed)

    def _changed(self, topic: Topic) -> None:
        """Called when the state changes."""

    def _show(self, part: Any) -> None:
        """Draw the result."""

    def _lay_out(self, row: QHBoxLayout, plot: QWidget, text: QLabel) -> None:
        """Put a row of controls above a plot, and a text below it."""
        row.addStretch(1)
        in_column([row, self.notice, (plot, 1), text], self, margins=TAB)


def step_buttons(
    prefix: str, what: str, step: Callable[[bool], None]
) -> tuple[QPushButton, QPushButton]:
    """Return buttons that step back and forward."""
    previous, following = f"Previous {what}", f"Next {what}"
    back = push_button(
        f"{prefix}-previous",
        "◂",
        partial(step, False),
        accessible=previous,
        tip=previous,
    )
    forward = push_button(
        f"{prefix}-next", "▸", partial(step, True), accessible=following, tip=following
    )
    return back, forward


def offer_signals(choice: QComboBox, state: TraceState) -> None:
    """Offer the signals that a trace has; power is chosen."""
    names = SIGNALS if state.subject.trace.has_current else ("power",)
    offer(choice, [(name, name) for name in names], "power")
