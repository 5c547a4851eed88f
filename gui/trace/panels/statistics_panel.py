# SPDX-License-Identifier: Apache-2.0
"""The statistics of the visible span and of the selection, always in view, and always
exact."""

from __future__ import annotations

from functools import partial
from itertools import product

from PySide6.QtCore import Signal
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QToolButton,
    QWidget,
)

from gui.trace.panels import readout
from gui.trace.picture.lane_numbers import LaneNumbers
from gui.trace.shown.background import Numbers
from gui.trace.shown.markers import Stretch
from gui.trace.shown.state import Topic, TraceState
from gui.widgets.controls import delayed, named
from gui.widgets.layouts import LOW, SHRINKING, in_column, in_row
from gui.widgets.notice import Severity, error_text, set_severity
from gui.widgets.text import LEFT, RIGHT, PlainLabel, plain, shortened, tip
from gui.worker import BackgroundWorker
from rig.api.traces.statistics import TraceStatistics

#: A view that moves is not summed up until it rests.
_REST_MS = 120
_PENDING = "..."
_ROWS = ("current", "voltage", "power")
#: A box with all numbers of a signal in a line needs so much.
_WIDE_PX = 560
#: Shares of the width of columns: numbers of a signal, or signals where there is less
#: room.
_WIDE_SHARES = (1,) * len(readout.HEADS)
_NARROW_SHARES = (*(1 for _ in _ROWS), *(0 for _ in readout.HEADS[len(_ROWS) :]))
_TIPS = {
    "±": "95 % interval of the mean: 1.96 standard uncertainties by the instrument's"
    " limits; - where they are not known",
    "span": "with its 95 % interval by the instrument's clock, and by the edges at both"
    " ends where there are some",
}


class StatisticsPanel(QWidget):
    """Two boxes: the visible span, and the selection; `changed` is emitted with every
    number."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setSizePolicy(LOW)
        self.visible_box = StatisticsBox("visible", "Visible span")
        self.selection_box = StatisticsBox("selection", "Selection")
        both = [(self.visible_box, 1), (self.selection_box, 1)]
        in_row(both, self, margins=(6, 0, 6, 4))
        self._rest = delayed(self, _REST_MS, self._ask_visible)
        self._state: TraceState | None = None

    def set_state(self, state: TraceState, worker: BackgroundWorker) -> None:
        """Show a trace."""
        self.stop()
        self._state = state
        for box in (self.visible_box, self.selection_box):
            key, changed = f"trace-{box.objectName()}", partial(self._show, box)
            box.numbers = Numbers(worker, state.subject.trace, key, changed)
        state.listen(self._changed)
        self._ask_visible()
        self._ask_selection()

    def set_rest_ms(self, rest_ms: int) -> None:
        """Sum a view up once it has rested for so long."""
        self._rest.setInterval(rest_ms)

    @property
    def view(self) -> TraceStatistics | None:
        """The numbers of the visible span; None while they are computed."""
        return None if self.waiting else self.visible_box.now

    @property
    def selection(self) -> TraceStatistics | None:
        """The numbers of the selection; None while they are computed, or without
        one."""
        return self.selection_box.now

    def for_lanes(self) -> LaneNumbers:
        """Return the numbers that stand above the lanes: of the selection, else of the
        view."""
        if self._state is not None and self._state.selection is not None:
            return LaneNumbers("selection", self.selection)
        return LaneNumbers("view", self.view)

    @property
    def waiting(self) -> bool:
        """Whether numbers are being computed, or the view still moves."""
        pending = self.visible_box.pending or self.selection_box.pending
        return self._rest.isActive() or pending

    def stop(self) -> None:
        """Cancel the computation."""
        for box in (self.visible_box, self.selection_box):
            if box.numbers is not None:
                box.numbers.cancel()

    def _changed(self, topic: Topic) -> None:
        if topic == "view":
            self.visible_box.show_pending()
            self._rest.start()
        elif topic in ("markers", "chosen"):
            self._ask_selection()

    def _ask_visible(self) -> None:
        if self._state is not None and self.visible_box.numbers is not None:
            view = self._state.view
            self.visible_box.numbers.want((view.start_s, view.stop_s))

    def _ask_selection(self) -> None:
        if self._state is None or self.selection_box.numbers is None:
            return
        selection = self._state.selection
        self.selection_box.set_stretch(selection)
        self.selection_box.numbers.want(
            None if selection is None else (selection.start_s, selection.stop_s)
        )
        if self.selection_box.now is not None:
            self._show(self.selection_box)

    def _show(self, box: StatisticsBox) -> None:
        if box is self.selection_box or not self._rest.isActive():
            box.show_numbers()
            self.changed.emit()


class StatisticsBox(QFrame):
    """The numbers of one stretch; `energy` and the others are labels of their own."""

    def __init__(self, name: str, title: str) -> None:
        super().__init__()
        named(self, f"statistics-{name}", f"Statistics: {title.lower()}")
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self._title = title
        self._stretch: Stretch | None = None
        self.numbers: Numbers | None = None
        self._head = shortened(f"{name}-title", title, role="strong")
        self.remark = shortened(f"{name}-remark")
        self.remark.hide()
        for label in (self._head, self.remark):
            label.setSizePolicy(SHRINKING)
        self._copy = named(
            QToolButton(), f"{name}-copy", f"Copy the statistics: {title.lower()}"
        )
        self._copy.setText("Copy")
        self._copy.setToolTip("Copy all numbers with all digits, to paste into a table")
        self._copy.clicked.connect(self.copy)
        self._names: dict[str, PlainLabel] = {}
        self._grid = QGridLayout()
        self._narrow: bool | None = None
        self.headline = {"energy": _label(f"{name}-energy", role="strong")}
        for key in ("charge", "span", "samples", "lost"):
            self.headline[key] = _label(f"{name}-{key}")
        cells = product(_ROWS, readout.HEADS)
        self.cells = {
            (row, head): _label(f"{name}-{row}-{head}", right=True)
            for row, head in cells
        }
        self._lay_out()

    @property
    def now(self) -> TraceStatistics | None:
        """The numbers; None while they are computed."""
        return None if self.numbers is None else self.numbers.now

    @property
    def pending(self) -> bool:
        """Whether numbers are being computed."""
        return self.numbers is not None and self.numbers.pending

    def copy(self) -> None:
        """Copy the numbers as text."""
        if self.now is not None:
            name = self._stretch.name if self._stretch is not None else self._title
            QGuiApplication.clipboard().setText(readout.copied(self.now, name))

    def set_stretch(self, stretch: Stretch | None) -> None:
        """Show the name of the stretch."""
        self._stretch = stretch
        what = "none (Shift-drag, D, or a window)" if stretch is None else stretch.name
        self._head.setText(f"{self._title}: {what}")

    def show_pending(self) -> None:
        """Say that numbers are being computed."""
        self._fill(_PENDING)

    def show_numbers(self) -> None:
        """Show the numbers, or why there are none."""
        numbers, statistics = self.numbers, self.now
        if numbers is None:
            return
        if statistics is None:
            self._fill(_PENDING if numbers.pending else "")
            text = "" if numbers.error is None else error_text(numbers.error)
            self._remark(text, Severity.ERROR)
            return
        self._fill("-")
        for key, text in readout.headline(statistics):
            self.headline[key].setText(text)
        for line in readout.lines(statistics):
            for head, text in zip(readout.HEADS, line.values, strict=True):
                self.cells[line.name, head].setText(text)
        at_edges = "ends at edges, as in results.json" if statistics.at_edges else ""
        self._remark(
            "; ".join(part for part in (at_edges, statistics.remark) if part), None
        )

    def _remark(self, text: str, severity: Severity | None) -> None:
        self.remark.setText(f"✗ error: {text}" if text and severity else text)
        self.remark.setVisible(bool(text))
        set_severity(self.remark, severity)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Put the signals side by side where there is no room for all numbers of
        one."""
        super().resizeEvent(event)
        self._arrange(narrow=self.width() < _WIDE_PX)

    def _arrange(self, *, narrow: bool) -> None:
        if narrow is self._narrow:
            return
        self._narrow = narrow
        for number, name in enumerate(_ROWS, start=1):
            self._grid.addWidget(self._names[name], *_turned(number, 0, narrow))
            self._names[name].setAlignment(RIGHT if narrow else LEFT)
            for column, head in enumerate(readout.HEADS, start=1):
                self._grid.addWidget(
                    self.cells[name, head], *_turned(number, column, narrow)
                )
        shares = _NARROW_SHARES if narrow else _WIDE_SHARES
        for column, head in enumerate(readout.HEADS, start=1):
            self._grid.addWidget(self._names[head], *_turned(0, column, narrow))
            self._names[head].setAlignment(LEFT if narrow else RIGHT)
            self._grid.setColumnStretch(column, shares[column - 1])

    def _fill(self, text: str) -> None:
        for label in (*self.headline.values(), *self.cells.values()):
            label.setText(text)

    def _lay_out(self) -> None:
        top = in_row([(self._head, 1), (self.remark, 1), self._copy])
        rows = QHBoxLayout(), QHBoxLayout()
        for key, label in self.headline.items():
            first = rows[key not in ("energy", "charge")]
            first.setSpacing(6)
            name = PlainLabel(key)
            name.setToolTip(tip(_TIPS.get(key, "")))
            name.setEnabled(False)
            first.addWidget(name)
            first.addWidget(label)
            first.addSpacing(8)
        for row in rows:
            row.addStretch(1)
        grid = self._grid
        grid.setHorizontalSpacing(10)
        grid.setVerticalSpacing(0)
        for head in (*_ROWS, *readout.HEADS):
            self._names[head] = PlainLabel(head)
            self._names[head].setToolTip(tip(_TIPS.get(head, "")))
            self._names[head].setEnabled(False)
        self._arrange(narrow=False)
        in_column([top, *rows, grid], self, margins=(8, 2, 8, 2), spacing=1)


def _turned(row: int, column: int, narrow: bool) -> tuple[int, int]:
    return (column, row) if narrow else (row, column)


def _label(name: str, *, right: bool = False, role: str = "") -> QLabel:
    label = plain(name, role=role, selectable=True)
    if right:
        # Numbers that grow by a digit must not widen the window.
        label.setSizePolicy(SHRINKING)
        label.setAlignment(RIGHT)
    return label
