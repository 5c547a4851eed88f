# SPDX-License-Identifier: Apache-2.0
"""What happens, while it does: the live picture and its numbers, the trials, the
console."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFontDatabase, QPaintEvent
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QLabel,
    QPlainTextEdit,
    QWidget,
)

from gui.picture.band_layout import IDLE_COLOUR
from gui.picture.legend import Legend
from gui.run import run_text
from gui.run.console_log import ConsoleLog, Filter
from gui.run.flight import Flight
from gui.run.live_view import LiveControls, LiveView
from gui.run.record import RunSnapshot, powers
from gui.widgets.controls import combo_box, named, offer, shortcut
from gui.widgets.layouts import STRETCH, in_column, in_row, split
from gui.widgets.line_field import LineField
from gui.widgets.painter import ThemedPainter
from gui.widgets.table import DataTable, TableColumn
from gui.widgets.text import PlainLabel, plain, set_state
from rig.files.plain_text import one_line
from rig.report import palette
from rig.units import quantity

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
    TableColumn(
        "trials", run_text.metric_values, tip="in the unit of the mean", spare=True
    ),
)
_WIDTH_PX = 260
_BAR_PX = 6
#: Colours of the theme: a bar for each of the mean powers.
_BAR_COLOURS = ("power", "gap", "accent")
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


class Tiles(QFrame):
    """Names and values; a value that cannot be known yet is a dash."""

    def __init__(self) -> None:
        super().__init__()
        self.setFixedWidth(_WIDTH_PX)
        self._values: dict[str, QLabel] = {}
        self._names: dict[str, QLabel] = {}
        self._bars = [_Bar(colour) for colour in _BAR_COLOURS]
        self._grid = QGridLayout()
        self._grid.setColumnStretch(1, 1)
        self._grid.setVerticalSpacing(4)
        self._row = 0
        self._add("supply", "supply")
        self._add("lost", "lost samples")
        self._head("power, mean of the trials")
        for row, bar in enumerate(self._bars):
            self._add(f"power-{row}", "-")
            self._grid.addWidget(bar, self._row, 0, 1, 2)
            self._row += 1
        self._head("this trial so far")
        for name in ("right", "latency", "retransmissions"):
            self._add(name, name)
        in_column([self._grid, STRETCH], self, margins=(10, 0, 4, 0))

    def value(self, name: str) -> str:
        """Return the text of a tile."""
        return self._values[name].text()

    def show_snapshot(self, snapshot: RunSnapshot, lost: int) -> None:
        """Show how things are."""
        supply, state = run_text.supply(snapshot)
        self._set("supply", supply, state)
        self._set("lost", f"{lost}", "bad" if lost else "")
        rows = powers(snapshot.metrics)
        highest = max((row.value for row in rows), default=0.0)
        for place, bar in enumerate(self._bars):
            row = rows[place] if place < len(rows) else None
            name = f"power-{place}"
            self._names[name].setText(
                "-" if row is None else row.name.removeprefix("power_")
            )
            self._set(name, "-" if row is None else quantity(row.value, row.unit))
            bar.set_share(row.value / highest if row and highest > 0 else 0.0)
        so_far = dict(run_text.so_far(snapshot))
        for name in ("right", "latency", "retransmissions"):
            self._set(name, so_far.get(name, "-"))

    def _set(self, name: str, text: str, state: str = "") -> None:
        label = self._values[name]
        if label.text() != text:
            label.setText(text)
        set_state(label, state)

    def _head(self, text: str) -> None:
        label = PlainLabel(text)
        set_state(label, "muted")
        self._grid.setRowMinimumHeight(self._row, 8)
        self._grid.addWidget(label, self._row + 1, 0, 1, 2)
        self._row += 2

    def _add(self, name: str, text: str) -> None:
        head = PlainLabel(text, role="muted")
        value = plain(f"run-{name}", "-", selectable=True)
        value.setAccessibleName(text)
        value.setAlignment(Qt.AlignmentFlag.AlignRight)
        self._values[name] = value
        self._names[name] = head
        self._grid.addWidget(head, self._row, 0)
        self._grid.addWidget(value, self._row, 1)
        self._row += 1


class _Bar(QWidget):
    """A bar from 0 to 1 in a colour of the theme."""

    def __init__(self, colour: str) -> None:
        super().__init__()
        self.setFixedHeight(_BAR_PX)
        self._share = 0.0
        self._colour = colour

    def set_share(self, share: float) -> None:
        if share != self._share:
            self._share = min(max(share, 0.0), 1.0)
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        painter = ThemedPainter(self)
        painter.fillRect(self.rect(), QColor(painter.theme.raised))
        bar = QRectF(0, 0, self.width() * self._share, self.height())
        painter.fillRect(bar, QColor(getattr(painter.theme, self._colour)))
        painter.end()


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
