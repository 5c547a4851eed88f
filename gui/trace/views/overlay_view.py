# SPDX-License-Identifier: Apache-2.0
"""The trials of a session over each other in one step, aligned on its edge, and what differs."""

from __future__ import annotations

from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QSpinBox, QVBoxLayout, QWidget

from gui.theme import Theme
from gui.trace.panels.rows import Rows
from gui.trace.shown.engine import overlaid
from gui.trace.shown.pictures import Does
from gui.trace.shown.state import Topic, TraceState
from gui.trace.shown.task import Task
from gui.trace.views.plain_plot import PlainPlot
from gui.widgets.notice import Notice, Severity
from gui.widgets.table import Column
from gui.widgets.text import PlainLabel, plain
from rig.api.trials.overlay import Overlay
from rig.plain_text import visible
from rig.units import quantity

COLUMNS = (
    Column("trial", lambda one: str(one.trial), lambda one: one.trial),
    Column("step", lambda one: str(one.step), lambda one: one.step),
    Column("time", lambda one: quantity(one.length_s, "s"), lambda one: one.length_s, right=True),
    Column(
        "off the median",
        lambda one: quantity(one.distance_w, "W"),
        lambda one: one.distance_w,
        right=True,
        tip="root mean square of the power less the median of all trials",
    ),
)


class OverlayView(QWidget):
    """Power of each trial over the time since the step's edge; below, each less the mean of the
    others.
    """

    def __init__(self, theme: Theme, worker: Does) -> None:
        super().__init__()
        self.setObjectName("trace-overlay")
        self.theme = theme
        self._task: Task[Overlay] = Task(worker, "trace-overlay")
        self._state: TraceState | None = None
        self._stale = True
        self.shown: Overlay | None = None
        self.step = QSpinBox()
        self.step.setObjectName("overlay-step")
        self.step.setAccessibleName("Step of the overlay")
        self.step.setRange(0, 10_000_000)
        self.step.setKeyboardTracking(False)
        self.previous = self._button("overlay-previous", "◂", "Previous step with windows", -1)
        self.next = self._button("overlay-next", "▸", "Next step with windows", 1)
        self.power = PlainPlot("overlay-power", "Power of each trial", theme)
        self.difference = PlainPlot("overlay-difference", "Differences between the trials", theme)
        self.table = Rows(COLUMNS, "overlay-table")
        self.notice = Notice()
        self._remark = plain("overlay-remark", wrap=True)
        self._lay_out()
        self.step.valueChanged.connect(lambda _: self._ask())

    @property
    def waiting(self) -> bool:
        """Return whether an overlay is being computed."""
        return self._task.pending

    def set_state(self, state: TraceState) -> None:
        """Take the session of a trace; the step is that of the chosen window."""
        same = self._state is not None and self._state.subject.path == state.subject.path
        self._task.cancel()
        self._state = state
        state.listen(self._changed)
        if not same:
            self.shown = None
            self.power.clear()
            self.difference.clear()
            steps = self._steps()
            self.step.blockSignals(True)
            self.step.setValue(steps[0] if steps else 0)
            self.step.blockSignals(False)
            self._stale = True
        if self.isVisible():
            self._ask()

    def set_theme(self, theme: Theme) -> None:
        """Paint in the colours of a theme."""
        self.theme = theme
        for plot in (self.power, self.difference):
            plot.set_theme(theme)
        if self.shown is not None:
            self._show(self.shown)

    def stop(self) -> None:
        """Give up what is being computed."""
        self._task.cancel()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        """Compute what was asked for while the view was hidden."""
        super().showEvent(event)
        self.power.label("time since the edge", "s", "power", "W")
        self.difference.label("time since the edge", "s", "less the others", "W")
        self.difference.link_x(self.power)
        if self._stale:
            self._ask()

    def _changed(self, topic: Topic) -> None:
        state = self._state
        if topic != "chosen" or state is None or state.chosen is None:
            return
        spans = [
            span
            for span in state.subject.spans_at(state.chosen.start_s)
            if span.step is not None and span.start_s == state.chosen.start_s
        ]
        if spans and spans[0].step is not None and spans[0].step != self.step.value():
            self._stale = True
            self.step.blockSignals(not self.isVisible())
            self.step.setValue(spans[0].step)
            self.step.blockSignals(False)

    def _steps(self) -> list[int]:
        if self._state is None:
            return []
        spans = self._state.subject.spans
        counted = {s.step for s in spans if s.step is not None and s.kind in ("sample", "stream")}
        return sorted(counted or {s.step for s in spans if s.step is not None})

    def _beside(self, by: int) -> None:
        steps = self._steps()
        later = [step for step in steps if step > self.step.value()]
        earlier = [step for step in steps if step < self.step.value()]
        if by > 0 and later:
            self.step.setValue(later[0])
        elif by < 0 and earlier:
            self.step.setValue(earlier[-1])

    def _ask(self) -> None:
        state = self._state
        if state is None:
            return
        session = state.subject.session
        if session is None:
            self.notice.show_text(
                "an overlay needs the trials of a session; this is a single trace",
                Severity.INFORMATION,
            )
            return
        self._stale = False
        trials, step, rail = state.subject.trials, self.step.value(), state.subject.rail
        self._remark.setText("...")
        self._task.start(
            lambda stopped: overlaid(session, trials, step, rail, stopped),
            self._show,
            self._failed,
        )

    def _failed(self, error: BaseException) -> None:
        self._remark.clear()
        self.notice.show_error(error)

    def _show(self, found: Overlay) -> None:
        self.shown = found
        self.notice.clear()
        colours = self.theme.phases
        for plot in (self.power, self.difference):
            plot.clear()
        self.power.legend()
        for place, one in enumerate(found.trials):
            colour = self.theme.bad if one.trial == found.odd else colours[place % len(colours)]
            width = 2.0 if one.trial == found.odd else 1.0
            name = f"trial {one.trial}" + (", the odd one" if one.trial == found.odd else "")
            self.power.curve(found.middle_s, one.power_w, colour, name, width)
            self.difference.curve(found.middle_s, one.difference_w, colour, width=width)
        for plot in (self.power, self.difference):
            plot.line(0.0, self.theme.marker, dashed=True)
            plot.fit()
        self.table.set_rows(found.trials)
        shown = {one.trial for one in found.trials}
        state = self._state
        missing = [] if state is None else [t for t in state.subject.trials if t not in shown]
        said = [found.remark or "no trial stands out in this step"]
        said += [f"trial {trial} has no windows" for trial in missing]
        self._remark.setText(visible("; ".join(said)))

    def _button(self, name: str, text: str, accessible: str, by: int) -> QPushButton:
        button = QPushButton(text)
        button.setObjectName(name)
        button.setAccessibleName(accessible)
        button.setToolTip(accessible)
        button.clicked.connect(lambda: self._beside(by))
        return button

    def _lay_out(self) -> None:
        row = QHBoxLayout()
        row.addWidget(PlainLabel("Step"))
        row.addWidget(self.step)
        row.addWidget(self.previous)
        row.addWidget(self.next)
        row.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 4, 0, 0)
        layout.addLayout(row)
        layout.addWidget(self.notice)
        layout.addWidget(self.power, 3)
        layout.addWidget(self.difference, 2)
        layout.addWidget(self._remark)
        layout.addWidget(self.table, 2)
