# SPDX-License-Identifier: Apache-2.0
"""The trials of a session over each other in one sample, aligned on its edge, and what
differs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QSignalBlocker
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QComboBox

from gui.theme import shown
from gui.trace.panels.rows import PanelTable
from gui.trace.shown.state import Topic, TraceState
from gui.trace.views.panel import TraceView, step_buttons
from gui.trace.views.plain_plot import PlainPlot
from gui.widgets.controls import combo_box
from gui.widgets.layouts import STRETCH, TAB, in_column, in_row
from gui.widgets.notice import Severity
from gui.widgets.table import TableColumn
from gui.widgets.text import PlainLabel, plain
from gui.worker import BackgroundWorker
from rig.api.trials.overlay import Occasion, Overlay, overlay
from rig.units import quantity

#: Kinds of steps that trials are made for.
_COUNTED = ("sample", "stream")
COLUMNS = (
    TableColumn("trial", lambda one: str(one.trial), lambda one: one.trial),
    TableColumn("step", lambda one: str(one.step), lambda one: one.step),
    TableColumn(
        "time",
        lambda one: quantity(one.length_s, "s"),
        lambda one: one.length_s,
        right=True,
    ),
    TableColumn(
        "off the median",
        lambda one: quantity(one.distance_w, "W"),
        lambda one: one.distance_w,
        right=True,
        tip="root mean square of the power less the median of all trials",
    ),
)

#: The title of the lower plot's axis needs so much beside the texts of its time axis.
_LEAST_PX = 150


class OverlayView(TraceView):
    """Power of each trial over the time since the sample's edge; below, each less the
    mean of the others.
    """

    def __init__(self, worker: BackgroundWorker) -> None:
        super().__init__("trace-overlay", worker)
        self._stale = True
        #: The samples of the trial that is shown, in the order of time.
        self.occasion = combo_box(
            "overlay-occasion", "Sample of the overlay", action=self._ask
        )
        self.occasion.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self.occasion.setMinimumContentsLength(22)
        self.previous, self.next = step_buttons("overlay", "sample", self._beside)
        self.power = PlainPlot("overlay-power", "Power of each trial")
        self.difference = PlainPlot(
            "overlay-difference", "Differences between the trials"
        )
        self.table = PanelTable(COLUMNS, "overlay-table")
        self._remark = plain("overlay-remark", wrap=True)
        self._arrange()

    def set_state(self, state: TraceState) -> None:
        """Take the session of a trace; the sample is that of the chosen window. Another
        trial of it is shown in the same sample as the one before.
        """
        before = self._state
        same = before is not None and before.subject.path == state.subject.path
        wanted = self.wanted
        self._take(state)
        self._stale = True
        if not same:
            self.shown = None
            self.power.clear()
            self.difference.clear()
        self._offer(state.subject.occasions, wanted if same else None)
        if self.isVisible():
            self._ask()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        """Compute the overlay that was requested while the view was hidden."""
        super().showEvent(event)
        # The time axis of the plot below is that of both.
        self.power.label("", "s", "power", "W")
        self.difference.label("time since the edge", "s", "difference", "W")
        self.difference.link_x(self.power)
        if self._stale:
            self._ask()

    def _changed(self, topic: Topic) -> None:
        state = self._state
        if topic != "chosen" or state is None or state.chosen is None:
            return
        start_s, stop_s = state.chosen.start_s, state.chosen.stop_s
        segment = state.subject.choice.segment
        around = []
        for number, occasion in enumerate(state.subject.occasions):
            is_around = occasion.start_s <= start_s and stop_s <= occasion.stop_s
            if is_around and occasion.segment == segment:
                around.append((occasion.stop_s - occasion.start_s, number))
        if around and min(around)[1] != self.occasion.currentIndex():
            self._stale = True
            self.occasion.blockSignals(not self.isVisible())
            self.occasion.setCurrentIndex(min(around)[1])
            self.occasion.blockSignals(False)

    @property
    def wanted(self) -> Occasion | None:
        """The sample that the overlay shows."""
        number = self.occasion.currentIndex()
        offered = () if self._state is None else self._state.subject.occasions
        return offered[number] if 0 <= number < len(offered) else None

    def _offer(self, occasions: Sequence[Occasion], wanted: Occasion | None) -> None:
        """Offer the samples of a trial; the one at hand is `wanted`, or the first that
        counts."""
        identity = None if wanted is None else wanted.identity
        kinds = [occasion.kind in _COUNTED for occasion in occasions]
        first = kinds.index(True) if True in kinds else 0
        same = [
            number
            for number, occasion in enumerate(occasions)
            if occasion.identity == identity
        ]
        with QSignalBlocker(self.occasion):
            self.occasion.clear()
            self.occasion.addItems([str(occasion) for occasion in occasions])
            self.occasion.setCurrentIndex(same[0] if same else first)

    def _beside(self, forward: bool) -> None:
        """Go to the next one of the kind at hand, or the one before."""
        now = self.wanted
        if self._state is None or now is None:
            return
        offered = self._state.subject.occasions
        by = 1 if forward else -1
        number = self.occasion.currentIndex() + by
        while 0 <= number < len(offered) and offered[number].kind != now.kind:
            number += by
        if 0 <= number < len(offered):
            self.occasion.setCurrentIndex(number)

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
        wanted = self.wanted
        if wanted is None:
            self.notice.show_text(
                "this trial has no windows to lay over those of others",
                Severity.INFORMATION,
            )
            return
        kind, sample, repetition = wanted.identity
        trials, rail = state.subject.choice.trials, state.subject.rail
        self._remark.setText("...")
        laid_over = partial(
            overlay, session, trials, sample, repetition, rail=rail, kind=kind
        )
        self._task.start(
            lambda stopped: laid_over(stopped=stopped), self._show, self._failed
        )

    def _failed(self, error: BaseException) -> None:
        self._remark.clear()
        self.notice.show_error(error)

    def _show(self, overlay: Overlay) -> None:
        self.shown = overlay
        self.notice.clear()
        colours = shown().phases
        for plot in (self.power, self.difference):
            plot.clear()
        for laid in overlay.trials:
            colour_of_trial = colours[(laid.trial - 1) % len(colours)]
            colour = shown().bad if laid.trial == overlay.odd else colour_of_trial
            width = 2.0 if laid.trial == overlay.odd else 1.0
            name = f"trial {laid.trial}" + (
                ", the odd one" if laid.trial == overlay.odd else ""
            )
            self.power.curve(overlay.middle_s, laid.power_w, colour, name, width)
            self.difference.curve(
                overlay.middle_s, laid.difference_w, colour, width=width
            )
        for plot in (self.power, self.difference):
            plot.line(0.0, shown().marker, dashed=True)
            plot.fit()
        self.table.set_rows(overlay.trials)
        self._remark.setText(overlay.remark or "no trial stands out in this sample")

    def _arrange(self) -> None:
        row = in_row(
            [PlainLabel("In"), self.occasion, self.previous, self.next, STRETCH]
        )
        self.difference.setMinimumHeight(_LEAST_PX)
        in_column(
            [
                row,
                self.notice,
                (self.power, 3),
                (self.difference, 2),
                self._remark,
                (self.table, 2),
            ],
            self,
            margins=TAB,
        )
