# SPDX-License-Identifier: Apache-2.0
"""The markers: a list, and the selected one with exact entry of its times, its label,
and what can be done with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QSignalBlocker
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QFormLayout,
    QGridLayout,
    QLineEdit,
    QPushButton,
    QWidget,
)

from gui.trace.panels.rows import PanelTable
from gui.trace.shown.markers import Part, TraceMarker
from gui.trace.shown.state import Topic, TraceState, mark_text
from gui.widgets import values
from gui.widgets.controls import push_button
from gui.widgets.layouts import TAB, in_column
from gui.widgets.line_field import LineField
from gui.widgets.notice import Notice, Severity
from gui.widgets.table import TableColumn
from gui.widgets.text import PlainLabel
from rig.units import quantity


def _time(value: float | None) -> str:
    return "" if value is None else f"{value:.9f} s"


COLUMNS = (
    TableColumn("#", lambda mark: str(mark.number), lambda mark: mark.number),
    TableColumn("label", lambda mark: mark.label),
    TableColumn(
        "first", lambda mark: _time(mark.a_s), lambda mark: mark.a_s, right=True
    ),
    TableColumn(
        "second", lambda mark: _time(mark.b_s), lambda mark: mark.b_s or 0.0, right=True
    ),
    TableColumn(
        "dt",
        lambda mark: "" if mark.dt_s is None else quantity(abs(mark.dt_s), "s"),
        lambda mark: mark.dt_s or 0.0,
        right=True,
    ),
)


class MarkerPanel(QWidget):
    """The markers and the selected one; `more` are buttons of the screen: name, text,
    action."""

    def __init__(
        self,
        more: Sequence[tuple[str, str, Callable[[], None]]] = (),
    ) -> None:
        super().__init__()
        self._state: TraceState | None = None
        self.table = PanelTable(COLUMNS, "marker-table", "Markers")
        self.notice = Notice()
        self.label = self._field("marker-label", "Label of the marker", self._set_label)
        self.a = self._field(
            "marker-a", "Time of the first line", lambda: self._set_time("a")
        )
        self.b = self._field(
            "marker-b", "Time of the second line", lambda: self._set_time("b")
        )
        self.dt = self._field(
            "marker-dt", "Time from the first to the second line", self._set_dt
        )
        self.rate = PlainLabel()
        self.hint = PlainLabel(
            "S puts a marker at the mouse, D a dual one around the chosen window or the"
            " middle of the view; Shift-drag selects. Lines snap to edges of SYNC; Alt"
            " places freely.",
            wrap=True,
        )
        rows = (
            ("zoom", "Zoom to", self.zoom),
            ("copy", "Copy as text", self.copy),
            ("delete", "Delete", self.delete),
            ("previous", "◂ Previous edge", lambda: self.to_edge(False)),
            ("next", "Next edge ▸", lambda: self.to_edge(True)),
            ("clear", "Delete all", self.clear),
            *more,
        )
        self._buttons = {}
        for name, text, action in rows:
            self._buttons[name] = self._button(f"marker-{name}", text, action)
        self._lay_out()
        self.table.chosen.connect(self._row_chosen)

    def set_state(self, state: TraceState) -> None:
        """Show the markers of a trace."""
        self._state = state
        state.listen(self._changed)
        self._show()

    def zoom(self) -> None:
        """Zoom to the selected marker."""
        mark = self._mark
        if self._state is not None and mark is not None:
            self._state.set_view(self._state.view.on(*mark.span, margin=0.1))

    def copy(self) -> None:
        """Copy the selected marker, or all, as text."""
        if self._state is None:
            return
        marks = [self._mark] if self._mark is not None else self._state.markers.marks
        labels = self._state.subject.labels
        lines = [", ".join(labels)] if labels else []
        lines += [mark_text(mark) for mark in marks if mark is not None]
        text = "\n".join(lines)
        QGuiApplication.clipboard().setText(text)

    def delete(self) -> None:
        """Delete the selected marker."""
        if self._state is not None and self._mark is not None:
            self._state.remove(self._mark.number)

    def clear(self) -> None:
        """Delete all markers."""
        if self._state is not None:
            self._state.clear()

    def to_edge(self, forward: bool) -> None:
        """Move the line at hand of the selected marker to the next edge, or the one
        before: the second line of a dual marker.
        """
        state, mark = self._state, self._mark
        if state is None or mark is None:
            return
        part: Part = "a" if mark.b_s is None else "b"
        edge = state.edge_beside(mark.a_s if mark.b_s is None else mark.b_s, forward)
        if edge is None:
            where = "after" if forward else "before"
            self.notice.show_text(
                f"there is no edge of SYNC {where} this line", Severity.INFORMATION
            )
            return
        self.notice.clear()
        state.move(mark.number, part, edge.at_s)

    @property
    def _mark(self) -> TraceMarker | None:
        return None if self._state is None else self._state.markers.chosen

    def _changed(self, topic: Topic) -> None:
        if topic == "markers":
            self._show()

    def _show(self) -> None:
        if self._state is None:
            return
        markers = self._state.markers
        with QSignalBlocker(self.table):
            self.table.set_rows(markers.marks)
            if markers.chosen is not None:
                self.table.choose(markers.chosen)
        mark = markers.chosen
        for field in (self.label, self.a, self.b, self.dt):
            field.setEnabled(mark is not None)
        self.label.setText("" if mark is None else mark.label)
        self.a.setText("" if mark is None else values.exact(mark.a_s, "s"))
        is_dual = mark is not None and mark.b_s is not None
        self.b.setEnabled(is_dual)
        self.dt.setEnabled(is_dual)
        rate = ""
        if mark is not None and mark.b_s is not None and mark.dt_s is not None:
            self.b.setText(values.exact(mark.b_s, "s"))
            self.dt.setText(values.exact(mark.dt_s, "s"))
            rate = quantity(1 / abs(mark.dt_s), "Hz") if mark.dt_s else "-"
        else:
            self.b.clear()
            self.dt.clear()
        self.rate.setText(rate)
        for name in ("zoom", "delete", "previous", "next"):
            self._buttons[name].setEnabled(mark is not None)
        for name in ("copy", "clear"):
            self._buttons[name].setEnabled(bool(markers.marks))

    def _row_chosen(self, mark: TraceMarker) -> None:
        if self._state is not None:
            self._state.select(mark.number)

    def _set_label(self) -> None:
        mark = self._mark
        if (
            self._state is not None
            and mark is not None
            and self.label.text() != mark.label
        ):
            self._state.set_label(mark.number, self.label.text())

    def _set_time(self, part: Part) -> None:
        field = self.a if part == "a" else self.b
        mark = self._mark
        if self._state is None or mark is None:
            return
        before_s = mark.a_s if part == "a" else mark.b_s
        value = self._value(field, before_s)
        if value is not None:
            self._state.move(mark.number, part, value)

    def _set_dt(self) -> None:
        mark = self._mark
        if self._state is None or mark is None:
            return
        value = self._value(self.dt, mark.dt_s)
        if value is not None:
            self._state.set_dt(mark.number, value)

    def _value(self, field: QLineEdit, before: float | None) -> float | None:
        """Return the typed time; None where it is unchanged or no time."""
        if before is None or field.text() == values.exact(before, "s"):
            return None
        try:
            value = values.parse(field.text(), "s")
        except ValueError as error:
            self.notice.show_text(
                f"{error}\ntry: a time in seconds, as 0.5, 18 ms or 1.2e-3",
                Severity.ERROR,
            )
            return None
        self.notice.clear()
        return value

    def _field(self, name: str, accessible: str, done: Callable[[], None]) -> QLineEdit:
        field = LineField(name, accessible)
        field.editingFinished.connect(done)
        return field

    def _button(self, name: str, text: str, action: Callable[[], None]) -> QPushButton:
        return push_button(name, text, action, accessible=text.strip("◂▸ "))

    def _lay_out(self) -> None:
        form = QFormLayout()
        form.addRow("Label", self.label)
        form.addRow("First", self.a)
        form.addRow("Second", self.b)
        form.addRow("dt", self.dt)
        form.addRow("1/dt", self.rate)
        grid = QGridLayout()
        for number, button in enumerate(self._buttons.values()):
            grid.addWidget(button, number // 3, number % 3)
        in_column(
            [self.hint, (self.table, 1), form, self.notice, grid],
            self,
            margins=TAB,
        )
