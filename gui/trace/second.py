# SPDX-License-Identifier: Apache-2.0
"""A second trace below the first: another trial, or any other trace, over the same
times or its own. Times of both are from their own starts.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtWidgets import QWidget

from gui.trace.panels.statistics_panel import StatisticsPanel
from gui.trace.picture.stack_mouse import InteractiveStack
from gui.trace.shown.background import Pictures
from gui.trace.shown.state import Topic, TraceState
from gui.trace.shown.subject import Subject, open_subject
from gui.widgets.controls import check_box, combo_box, named, offer
from gui.widgets.labels import Labels
from gui.widgets.layouts import in_column, in_row
from gui.widgets.notice import Notice
from gui.widgets.path_field import PathField
from gui.worker import BackgroundWorker


class SecondTrace(QWidget):
    """The second trace with the line that chooses it; hidden until it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("trace-second")
        self.state: TraceState | None = None
        self._first: TraceState | None = None
        self._follows = False
        self._worker = BackgroundWorker(self, "rig-trace-second")
        self._numbers = BackgroundWorker(self, "rig-trace-second-numbers")
        self._pictures: Pictures | None = None
        self._closing = False
        self._due = False
        self._statistics = StatisticsPanel()
        self._statistics.setParent(self)
        self._statistics.hide()
        self.notice = Notice()
        self.labels = Labels()
        self.path = PathField("second-path", "Second trace", "a trace, or a session")
        self.path.setMinimumWidth(60)
        self.path.given.connect(lambda path: self.choose(path))
        self.trial = combo_box(
            "second-trial", "Trial of the second trace", action=self._choose
        )
        self.linked = check_box(
            "second-linked",
            "Linked",
            lambda: self._follow(self._first, self.state),
            accessible="Both traces show the same times from their starts",
        )
        self.linked.setChecked(True)
        self.stack = named(
            InteractiveStack(), "second-plots", "The second trace over time"
        )
        self.stack.ask_numbers = self._statistics.for_lanes
        self._statistics.changed.connect(self.stack.update)
        self._lay_out()
        self.hide()

    def set_first(self, state: TraceState) -> None:
        """Take the trace that this one is beside."""
        self._first = state
        state.listen(lambda topic: self._moved(topic, state))
        self._follow(state, self.state)

    def toggle(self) -> None:
        """Show the last second trace, or another trial of the first trace's session; or
        hide it.
        """
        if not self.isHidden():
            self.hide()
            return
        self.show()
        if self.state is None and self._first is not None:
            subject = self._first.subject
            others = [
                trial for trial in subject.choice.trials if trial != subject.trial
            ]
            self.choose(subject.path, others[0] if others else None, subject.rail)

    def choose(
        self, path: Path, trial: int | None = None, rail: str | None = None
    ) -> None:
        """Open a trace in the background and show it."""
        self.notice.clear()
        self._due = True
        self._worker.do(
            lambda: open_subject(path, trial, rail),
            self._take,
            self._failed,
            key="second-open",
        )

    @property
    def waiting(self) -> bool:
        """Whether picture or numbers are not there yet."""
        pending = self._pictures is not None and self._pictures.pending
        busy = self._due or self._worker.busy or self._numbers.busy
        return pending or busy or self.stack.waiting or self._statistics.waiting

    def stop(self) -> None:
        """End the threads."""
        self._closing = True
        self._statistics.stop()
        self._worker.close_down()
        self._numbers.close_down()

    def _take(self, subject: Subject) -> None:
        state = self.state = TraceState(subject)
        self._pictures = Pictures(
            self._worker,
            subject.trace,
            self.stack.refresh,
            self.notice.show_error,
            "second",
        )
        self.path.setText(str(subject.path))
        self.labels.set_labels(subject.labels)
        trials = [(f"trial {trial}", trial) for trial in subject.choice.trials]
        offer(self.trial, trials, subject.trial)
        self.trial.setVisible(len(subject.choice.trials) > 1)
        self.stack.set_state(state, self._pictures)
        self._statistics.set_state(state, self._numbers)
        state.listen(lambda topic: self._moved(topic, state))
        if self._first is not None:
            self._moved("axis", self._first)
        self._follow(self._first, state)
        self._worker.do(
            partial(self._prepared, subject),
            lambda _: self._show_rest(subject),
            self._failed,
            key="second-rest",
        )

    def _failed(self, error: BaseException) -> None:
        self._due = False
        self.notice.show_error(error)

    def _prepared(self, subject: Subject) -> None:
        """Read the whole trace once."""
        if subject.has_sync:
            subject.trace.edges()
        subject.trace.prepare(stopped=lambda: self._closing)

    def _show_rest(self, subject: Subject) -> None:
        self._due = False
        if self.state is not None and self.state.subject is subject:
            if subject.has_sync:
                self.state.set_edges(subject.trace.edges())
            self.stack.want()

    def _choose(self) -> None:
        if self.state is not None:
            subject = self.state.subject
            self.choose(subject.path, self.trial.currentData(), subject.rail)

    def _moved(self, topic: Topic, state: TraceState) -> None:
        if state is self._first:
            if topic == "view":
                self._follow(state, self.state)
            elif topic == "axis" and self.state is not None:
                self.state.set_utc(state.utc)
                self.state.set_numbered(state.numbered)
        elif state is self.state and topic == "view":
            self._follow(state, self._first)

    def _follow(self, leader: TraceState | None, follower: TraceState | None) -> None:
        """Show the view of one trace in the other, as far as that reaches."""
        together = (
            leader is not None and follower is not None and self.linked.isChecked()
        )
        if self._follows or self.isHidden() or not together:
            return
        assert leader is not None and follower is not None
        self._follows = True
        try:
            view = leader.view
            follower.set_view(follower.view.on(view.start_s, view.stop_s, 0.0))
        finally:
            self._follows = False

    def _lay_out(self) -> None:
        row = in_row(
            [self.labels, (self.path, 1), self.trial, self.linked], margins=(6, 0, 6, 0)
        )
        in_column([row, self.notice, (self.stack, 1)], self, spacing=2)
