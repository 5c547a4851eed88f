# SPDX-License-Identifier: Apache-2.0
"""The y axis of each signal, linear or logarithmic, automatic or with exact ends; and
which lanes are shown."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtWidgets import (
    QCheckBox,
    QGridLayout,
    QLineEdit,
    QWidget,
)

from gui.trace.shown.scales import Scale
from gui.trace.shown.state import SIGNALS, UART, UNITS, Topic, TraceState
from gui.widgets import values
from gui.widgets.controls import check_box, push_button
from gui.widgets.layouts import STRETCH, TAB, in_column
from gui.widgets.line_field import LineField
from gui.widgets.notice import Notice, Severity
from gui.widgets.text import PlainLabel, tip
from rig.files.plain_text import visible

_DATED = "U: by the clock of the computer that recorded, when it began the file"
#: Boxes of lanes in a row, and letters of a name in one.
_LANE_COLUMNS = 4
_NAME = 8
_UNDATED = "this file does not say when its recording began"


class ScalePanel(QWidget):
    """A row a signal: log, least, most, automatic."""

    def __init__(self) -> None:
        super().__init__()
        self._state: TraceState | None = None
        self.logs: dict[str, QCheckBox] = {}
        self.lows: dict[str, QLineEdit] = {}
        self.highs: dict[str, QLineEdit] = {}
        self.notice = Notice()
        grid = QGridLayout()
        for column, head in enumerate(("", "log", "from", "to")):
            grid.addWidget(PlainLabel(head), 0, column)
        for row, signal in enumerate(SIGNALS, start=1):
            log = check_box(
                f"scale-{signal}-log",
                "",
                accessible=f"Logarithmic axis of the {signal}",
            )
            log.clicked.connect(partial(self._set_log, signal))
            self.logs[signal] = log
            self.lows[signal] = self._field(
                signal, "from", partial(self._set_ends, signal)
            )
            self.highs[signal] = self._field(
                signal, "to", partial(self._set_ends, signal)
            )
            auto = push_button(
                f"scale-{signal}-auto",
                "Auto",
                accessible=f"Automatic axis of the {signal}",
            )
            auto.clicked.connect(partial(self._set_auto, signal))
            numbered = enumerate(
                (PlainLabel(signal), log, self.lows[signal], self.highs[signal], auto)
            )
            for column, widget in numbered:
                grid.addWidget(widget, row, column)
        self.utc = check_box("scale-utc", "Times in &UTC")
        self.utc.clicked.connect(self._set_utc)
        self.numbered = check_box("scale-numbers", "&Numbers above each plot (I)")
        self.numbered.clicked.connect(self._set_numbered)
        self._lanes_title = PlainLabel("Lanes below SYNC:")
        self._lanes = QGridLayout()
        self._lanes.setColumnStretch(_LANE_COLUMNS, 1)
        self.lanes: dict[str, QCheckBox] = {}
        hint = PlainLabel(
            "Empty ends are automatic: what is visible, without zero where that would"
            " hide the ripple. Both ends given are exact, as 0 mA and 25 mA.",
            wrap=True,
        )
        boxes = [hint, self.utc, self.numbered, self._lanes_title]
        in_column([grid, *boxes, self._lanes, self.notice, STRETCH], self, margins=TAB)

    def set_state(self, state: TraceState) -> None:
        """Take the scales of a trace."""
        self._state = state
        state.listen(self._changed)
        self._name_lanes([*state.subject.lines, UART])
        self._show()
        self._show_lanes()

    def _changed(self, topic: Topic) -> None:
        if topic in ("scale", "axis"):
            self._show()
        elif topic == "lanes":
            self._show_lanes()

    def _name_lanes(self, names: list[str]) -> None:
        """Make a box for each lane that a trace may have."""
        for box in self.lanes.values():
            self._lanes.removeWidget(box)
            box.deleteLater()
        self.lanes = {}
        for number, name in enumerate(names):
            shown = name if len(name) <= _NAME else f"{name[:_NAME]} …"
            box = check_box(f"lane-{name}", visible(shown).replace("&", "&&"))
            box.clicked.connect(partial(self._set_lane, name))
            self.lanes[name] = box
            row, column = divmod(number, _LANE_COLUMNS)
            self._lanes.addWidget(box, row, column)

    def _show_lanes(self) -> None:
        """Show which lanes there are, and why others are not."""
        state = self._state
        if state is None:
            return
        there = set(state.lines) if state.uart is None else {*state.lines, UART}
        for name, box in self.lanes.items():
            box.setChecked(name in there and name not in state.hidden)
            box.setEnabled(name in there)
            box.setToolTip(tip(_lane_tip(state, name)))
        self.lanes[UART].setVisible(state.subject.session is not None)
        has_any = bool(state.subject.lines) or state.subject.session is not None
        self._lanes_title.setVisible(has_any)

    def _set_lane(self, name: str) -> None:
        if self._state is not None:
            self._state.show_lane(name, self.lanes[name].isChecked())

    def _show(self) -> None:
        if self._state is None:
            return
        dated = self._state.subject.trace.started_ns is not None
        self.utc.setEnabled(dated)
        self.utc.setToolTip(_DATED if dated else _UNDATED)
        self.utc.setChecked(self._state.utc)
        self.numbered.setChecked(self._state.numbered)
        for signal, scale in self._state.scales.items():
            self.logs[signal].setChecked(scale.logarithmic)
            ends = scale.exact
            unit = UNITS[signal]
            self.lows[signal].setText(
                "" if ends is None else values.exact(ends[0], unit)
            )
            self.highs[signal].setText(
                "" if ends is None else values.exact(ends[1], unit)
            )

    def _set_utc(self, on: bool) -> None:
        if self._state is not None:
            self._state.set_utc(on)

    def _set_numbered(self, on: bool) -> None:
        if self._state is not None:
            self._state.set_numbered(on)

    def _set_log(self, signal: str) -> None:
        # Qt passes no argument of a signal to a partial function: the box is asked.
        if self._state is not None:
            exact = self._state.scales[signal].exact
            on = self.logs[signal].isChecked()
            self._state.set_scale(signal, Scale(on, exact))

    def _set_auto(self, signal: str) -> None:
        if self._state is not None:
            self.notice.clear()
            self._state.set_scale(signal, Scale(self._state.scales[signal].logarithmic))

    def _set_ends(self, signal: str) -> None:
        low = self.lows[signal].text().strip()
        high = self.highs[signal].text().strip()
        if self._state is None or not (low and high):
            return
        scale = self._state.scales[signal]
        try:
            ends = values.parse(low, UNITS[signal]), values.parse(high, UNITS[signal])
        except ValueError as error:
            self.notice.show_text(
                f"{error}\ntry: as 25 m{UNITS[signal]}", Severity.ERROR
            )
            return
        if not ends[0] < ends[1] or (scale.logarithmic and ends[1] <= 0):
            self.notice.show_text(
                f"an axis from {low} to {high}\ntry: the smaller end first",
                Severity.ERROR,
            )
            return
        self.notice.clear()
        if ends != scale.exact:
            self._state.set_scale(signal, Scale(scale.logarithmic, ends))

    def _field(self, signal: str, end: str, done: Callable[[], None]) -> QLineEdit:
        field = LineField(
            f"scale-{signal}-{end}", f"Axis of the {signal}: {end}", "auto"
        )
        field.editingFinished.connect(done)
        return field


def _lane_tip(state: TraceState, name: str) -> str:
    """Say what there is of a lane, or why it is not there."""
    if name == UART and state.uart is not None:
        count = len(state.uart.lines)
        rest = f"; {state.uart.unplaced} before the first and after the last step have"
        return f"{count} lines of uart.log{rest} no time in the trace"
    if name == UART:
        return "no lines of uart.log whose times can be tied to the trace"
    if name in state.line_faults:
        return state.line_faults[name]
    if name not in state.lines:
        return f"{name}: reading the edges ..."
    return f"{name}: {len(state.lines[name]) or 'no'} edges"
