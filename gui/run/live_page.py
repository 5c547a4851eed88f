# SPDX-License-Identifier: Apache-2.0
"""What happens, while it does: the live picture and its numbers, the trials, the
console."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QFontDatabase
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from gui.picture.band_layout import IDLE_COLOUR
from gui.picture.legend import Legend
from gui.run import run_text
from gui.run.console_log import ConsoleLog, Filter
from gui.run.flight import Flight
from gui.run.live_view import LiveControls, LiveView
from gui.run.record import RunSnapshot
from gui.run.tiles import Tiles
from gui.widgets.controls import combo_box, named, offer, shortcut
from gui.widgets.layouts import in_column, in_row, split
from gui.widgets.line_field import LineField
from gui.widgets.table import DataTable, TableColumn
from gui.widgets.text import PlainLabel
from rig.files.plain_text import one_line
from rig.report import palette

_HEIGHTS = (430, 290)
#: The values of five trials are seen whole at 1400 px.
_WIDTHS = (220, 660, 370)
#: The state of a trial is seen also where the window is small.
_TRIALS_PX = 180
#: Power of the trial's own device clock and counts are results; these are not shown of
#: each trial.
_TRIAL_COLUMNS = (
    TableColumn(
        "trial", lambda row: f"{row.number}", lambda row: row.number, right=True
    ),
    TableColumn("state", run_text.trial_state),
    TableColumn(
        "took",
        run_text.trial_time,
        lambda row: row.took_s or 0.0,
        right=True,
        spare=True,
    ),
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
        "farthest trial",
        run_text.metric_farthest,
        right=True,
        tip="distance from the mean of the trials, which may be 5 % at most",
    ),
    TableColumn(
        "trials",
        run_text.metric_values,
        tip=("in the unit of the mean; the screen Trials has the uncertainty of each"),
        right=True,
        spare=True,
    ),
)
#: So many lines are shown; the log keeps more, for the filter.
_LINES_SHOWN = 1000
_DIRECTIONS = {"": "tx and rx", "tx": "tx: to the device", "rx": "rx: from the device"}


class ConsoleView(QWidget):
    """The newest lines of a log that pass the filter; `refresh` adds new ones."""

    def __init__(self) -> None:
        super().__init__()
        self._log: ConsoleLog | None = None
        self._number = 0
        self.direction = combo_box(
            "console-direction", "Direction", action=self.render_all
        )
        offer(
            self.direction,
            [(text, direction) for direction, text in _DIRECTIONS.items()],
        )
        self.search = LineField(
            "console-filter", "Filter of the console", "filter (Ctrl+L)"
        )
        self.search.setClearButtonEnabled(True)
        self.search.textChanged.connect(self.render_all)
        shortcut(self, "Ctrl+L", self.search.setFocus)
        self.lines = named(QPlainTextEdit(), "console-lines", "Console")
        self.lines.setReadOnly(True)
        self.lines.setUndoRedoEnabled(False)
        self.lines.setMaximumBlockCount(_LINES_SHOWN)
        self.lines.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.lines.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.lines.setPlaceholderText(
            "what passes the line to the device is shown here; a virtual device has no"
            " line"
        )
        self._count = PlainLabel()
        head = in_row([self.direction, (self.search, 1), self._count])
        in_column([head, (self.lines, 1)], self)

    def set_log(self, log: ConsoleLog | None) -> None:
        """Show another log."""
        self._log = log
        self.render_all()

    @property
    def filter(self) -> Filter:
        """Which lines are shown."""
        return Filter(self.direction.currentData() or "", self.search.text())

    def render_all(self) -> None:
        """Show all lines that pass the filter."""
        self.lines.clear()
        self._number = 0
        self.refresh()

    def refresh(self) -> None:
        """Add the new lines in one insertion."""
        if self._log is None:
            return
        count = self._log.count
        if count == self._number:
            return
        new = self._log.since(self._number, self.filter)
        self._number = count
        self._count.setText(f"{count} lines")
        if not new:
            return
        bar = self.lines.verticalScrollBar()
        at_end = bar.value() >= bar.maximum() - 2
        self.lines.appendPlainText(
            "\n".join(one_line(line.shown()) for line in new[-_LINES_SHOWN:])
        )
        if at_end:
            bar.setValue(bar.maximum())


class LivePage(QWidget):
    """The page of a flight."""

    def __init__(self) -> None:
        super().__init__()
        self._flight: Flight | None = None
        self.view = LiveView()
        self.legend = Legend()
        self.tiles = Tiles()
        self.trials = DataTable(_TRIAL_COLUMNS, "run-trials")
        self.trials.setMinimumWidth(_TRIALS_PX)
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
