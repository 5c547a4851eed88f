# SPDX-License-Identifier: Apache-2.0
"""Settings: the form beside the bench file's text, both in step."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from gui.bench.document import DocumentReading
from gui.bench.form_view import FormView
from gui.bench.text_view import TextView
from gui.widgets.controls import delayed, push_button
from gui.widgets.layouts import in_column, split
from gui.widgets.notice import Notice
from gui.widgets.text import plain
from rig.bench import plugins
from rig.bench.editing import BenchText
from rig.bench.forms import entered
from rig.errors import RigError

#: So long after the last key the text is read.
_QUIET_MS = 120


class SettingsPage(QWidget):
    """The page; `changed` is emitted when the text is another one and stays so for a
    moment."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("bench-settings")
        self._reading: DocumentReading | None = None
        self.form = FormView()
        self.text = TextView()
        self.notice = Notice()
        self._problem = push_button(
            "bench-problem",
            "",
            self._show_problem,
            accessible="Go to the line that is wrong",
            role="link",
        )
        self._said = plain("bench-problem-text", wrap=True)
        self._said.setProperty("severity", "error")
        self._quiet = delayed(self, _QUIET_MS, self.changed.emit)
        self.text.textChanged.connect(self._quiet.start)
        self.form.edited.connect(self._edited)
        self.form.reset.connect(lambda path: self._change(self._text.without(path)))
        self.form.kind_chosen.connect(
            lambda place, kind: self._attempt(lambda: self._text.with_kind(place, kind))
        )
        self.form.monitor_added.connect(
            lambda kind, rail: self._attempt(
                lambda: self._text.with_monitor(kind, rail)
            )
        )
        self.form.monitor_removed.connect(self._remove)
        self._lay_out()

    def load(self, text: str) -> None:
        """Show another file."""
        self.notice.clear()
        self.text.load_text(text)
        self._quiet.stop()

    def show_reading(self, reading: DocumentReading) -> None:
        """Show the form of a text, unless the text was changed meanwhile."""
        if reading.text != self.text.toPlainText():
            return
        self._reading = reading
        self.form.set_form(reading.form)
        problem = reading.problem
        self.text.mark_line(problem.line if problem is not None else None)
        self._said.setText(problem.sentence if problem is not None else "")
        self._said.setVisible(problem is not None)
        at_line = problem is not None and problem.line is not None
        self._problem.setVisible(at_line)
        if problem is not None and at_line:
            self._problem.setText(f"Go to line {problem.line}")

    def offer_kinds(self) -> None:
        """Offer the kinds of monitors that can be added."""
        self.form.set_monitor_kinds(
            [kind for kind in plugins.names("monitor") if kind != "none"]
        )

    @property
    def _text(self) -> BenchText:
        return BenchText(self.text.toPlainText())

    def _edited(self, path: str, typed: str) -> None:
        setting = (
            self._reading.form.field(path).setting
            if self._reading is not None
            else None
        )
        if setting is not None:
            self._attempt(lambda: entered(self._text, path, setting, typed))

    def _remove(self, place: str) -> None:
        rail = place.partition(".")[2]
        self._attempt(lambda: self._text.without_monitor(rail))

    def _attempt(self, edit: object) -> None:
        self.notice.clear()
        try:
            self._change(edit())  # type: ignore[operator]
        except RigError as error:
            self.notice.show_error(error)

    def _change(self, edited: BenchText) -> None:
        self.text.replace_text(edited.text)
        self._quiet.stop()
        self.changed.emit()

    def _show_problem(self) -> None:
        problem = self._reading.problem if self._reading is not None else None
        if problem is not None and problem.line is not None:
            self.text.show_line(problem.line)
            self.text.setFocus()

    def _lay_out(self) -> None:
        right = QWidget()
        in_column([(self.text, 1), self._said, self._problem], right)
        self._said.hide()
        self._problem.hide()
        both = split(
            [self.form, right],
            (680, 560),
            name="bench-settings-split",
            shares=(3, 2),
        )
        both.setChildrenCollapsible(False)
        in_column([self.notice, (both, 1)], self)
