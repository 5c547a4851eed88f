# SPDX-License-Identifier: Apache-2.0
"""What happens, while it does: the live picture and its numbers, the trials, the
console."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QWidget,
)

from gui.picture.band_layout import IDLE_COLOUR
from gui.picture.legend import Legend
from gui.run import run_text
from gui.run.console_view import ConsoleView
from gui.run.flight import Flight
from gui.run.live_view import LiveControls, LiveView
from gui.run.record import RunSnapshot
from gui.run.tiles import Tiles
from gui.widgets.controls import combo_box, offer, shortcut
from gui.widgets.layouts import in_column, in_row, split
from gui.widgets.table import DataTable, TableColumn
from rig.report import palette

_HEIGHTS = (430, 290)
_WIDTHS = (310, 570, 370)
#: Power of the trial's own device clock and counts are results; these are not shown of
#: each trial.
_TRIAL_COLUMNS = (
    TableColumn(
        "trial", lambda row: f"{row.number}", lambda row: row.number, right=True
    ),
    TableColumn("took", run_text.trial_time, lambda row: row.took_s or 0.0, right=True),
    TableColumn("state", run_text.trial_state),
)
_METRIC_COLUMNS = (
    TableColumn("metric", lambda row: row.name),
    TableColumn(
        "so far, 95 %",
        run_text.metric_mean,
        lambda row: row.value,
        right=True,
        tip=(
            "of the trials so far, with the interval for the same samples measured"
            " again: what results.json would state if these were all"
        ),
    ),
    TableColumn(
        "range", run_text.metric_spread, right=True, tip="highest less lowest trial"
    ),
    TableColumn("trials", run_text.metric_values, tip="in the unit of the mean"),
)


class LivePage(QWidget):
    """The page of a flight."""

    def __init__(self) -> None:
        super().__init__()
        self._flight: Flight | None = None
        self.view = LiveView()
        self.legend = Legend()
        self.tiles = Tiles()
        self.trials = DataTable(_TRIAL_COLUMNS, "run-trials")
        self.metrics = DataTable(_METRIC_COLUMNS, "run-metrics")
        self.console = ConsoleView()
        self.rail = combo_box("run-rail", "Rail")
        self.controls = LiveControls("run")
        hold = shortcut(self.view, "Space", self.controls.hold.toggle)
        hold.setContext(Qt.ShortcutContext.WidgetShortcut)
        self.view.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._shown_trials: tuple[object, ...] = ()
        controls = in_row([self.rail, self.controls, 12, (self.legend, 1)])
        self.rail.hide()
        left = in_column([controls, (self.view, 1)])
        top = QWidget()
        in_row([(left, 1), self.tiles], top)
        bottom = split([self.trials, self.metrics, self.console], _WIDTHS)
        both = split([top, bottom], _HEIGHTS, down=True, shares=(1,))
        in_column([both], self)

    def set_flight(self, flight: Flight) -> None:
        """Show another flight from its beginning."""
        self._flight = flight
        self._shown_trials = ()
        self.controls.hold.setChecked(False)
        self.rail.clear()
        self.trials.set_rows([])
        self.metrics.set_rows([])
        self.view.reset()
        self.view.set_silence(
            "the bench is being opened: power is shown once a trial records it"
        )
        self.console.set_log(flight.console)

    def refresh_curve(self) -> None:
        """Show the newest samples; without new ones no painting is done."""
        flight = self._flight
        if flight is None or self.controls.hold.isChecked():
            return
        rails = flight.recent.rails
        if len(rails) != self.rail.count():
            self._name_rails(rails)
        rail = self.rail.currentData()
        if rail is None:
            return
        frame = flight.frame(rail, self.controls.span_s, self.view.columns)
        if frame is not None:
            phases = flight.record.phases
            self.view.set_phases(phases)
            self.legend.set_phases(
                {palette.place(name, phases): name for name in phases}
                | {IDLE_COLOUR: "idle"}
            )
            self.view.show_frame(frame)

    def refresh_rest(self, snapshot: RunSnapshot) -> None:
        """Show numbers, trials and console."""
        flight = self._flight
        lost = 0 if flight is None else flight.lost
        self.tiles.show_snapshot(snapshot, lost)
        self.console.refresh()
        if snapshot.trials != self._shown_trials:
            self._shown_trials = snapshot.trials
            for table in (self.trials, self.metrics):
                table.set_labels(snapshot.labels)
            self.trials.set_rows(snapshot.trials)
            self.metrics.set_rows(snapshot.metrics)
        if not snapshot.stage.busy and self.view.frame.empty:
            self.view.set_silence("no samples were recorded")

    def _name_rails(self, rails: tuple[str, ...]) -> None:
        rows = [(rail or "supply", rail) for rail in rails]
        offer(self.rail, rows, self.rail.currentData())
        self.rail.setVisible(len(rails) > 1)
