# SPDX-License-Identifier: Apache-2.0
"""Settings: the form beside the bench file's text, both in step.

The bench file's text: an editor with line numbers, and the line marked that is
wrong.
"""

from __future__ import annotations

import re

from PySide6.QtCore import QRect, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontDatabase,
    QPaintEvent,
    QResizeEvent,
    QSyntaxHighlighter,
    QTextCharFormat,
    QTextCursor,
    QTextFormat,
)
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QWidget

from gui.bench.document import DocumentChange, DocumentReading, change_between
from gui.bench.form_view import FormView
from gui.theme import Recoloured, shown
from gui.widgets.controls import delayed, named, push_button
from gui.widgets.layouts import in_column, split
from gui.widgets.notice import Notice
from gui.widgets.painter import ThemedPainter
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


_HEAD = re.compile(r"\s*\[")
_COMMENT = re.compile(r"""^((?:[^#"']|"[^"]*"|'[^']*')*)#""")
_MARK_ALPHA = 60


class _Colours(QSyntaxHighlighter):
    def highlightBlock(self, text: str) -> None:  # noqa: N802
        if _HEAD.match(text):
            head = QTextCharFormat()
            head.setForeground(QColor(shown().accent))
            head.setFontWeight(QFont.Weight.Bold)
            self.setFormat(0, len(text), head)
        comment = _COMMENT.match(text)
        if comment is not None:
            muted = QTextCharFormat()
            muted.setForeground(QColor(shown().muted))
            self.setFormat(len(comment[1]), len(text), muted)


class _Numbers(QWidget):
    def __init__(self, view: TextView) -> None:
        super().__init__(view)
        self._view = view

    def sizeHint(self) -> QSize:  # noqa: N802
        return QSize(self._view.numbers_width, 0)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        self._view.paint_numbers(self, event)


class TextView(QPlainTextEdit, Recoloured):
    """The editor."""

    def __init__(self) -> None:
        super().__init__()
        named(self, "bench-text", "Text of the bench file")
        self.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setTabChangesFocus(True)
        self._wrong: int | None = None
        self._numbers = _Numbers(self)
        self._colours = _Colours(self.document())
        self.blockCountChanged.connect(self._make_room)
        self.updateRequest.connect(self._scrolled)
        self._make_room()

    def recolour(self) -> None:
        """Take the colours of the theme that is shown."""
        self._colours.rehighlight()
        self.mark_line(self._wrong)

    def replace_text(self, text: str) -> None:
        """Change the text where it differs: the cursor stays, and undo takes it
        back."""
        change = change_between(self.toPlainText(), text)
        if not change.taken and not change.put:
            return
        self._apply(change)

    def load_text(self, text: str) -> None:
        """Show another file; undo does not go back before it."""
        self._wrong = None
        self.setExtraSelections([])
        self.setPlainText(text)

    def mark_line(self, line: int | None) -> None:
        """Mark a line, from 1, as wrong; None marks none."""
        self._wrong = line
        block = (
            self.document().findBlockByNumber(line - 1) if line is not None else None
        )
        if block is None or not block.isValid():
            self.setExtraSelections([])
        else:
            selection = QTextEdit.ExtraSelection()
            colour = QColor(shown().bad)
            colour.setAlpha(_MARK_ALPHA)
            shape = QTextCharFormat()
            shape.setBackground(colour)
            shape.setProperty(QTextFormat.Property.FullWidthSelection, True)
            selection.format = shape
            cursor = QTextCursor(block)
            selection.cursor = cursor
            self.setExtraSelections([selection])
        self._numbers.update()

    def show_line(self, line: int) -> None:
        """Put the cursor into a line, from 1."""
        block = self.document().findBlockByNumber(line - 1)
        if block.isValid():
            self.setTextCursor(QTextCursor(block))
            self.centerCursor()

    @property
    def numbers_width(self) -> int:
        """How wide the column of line numbers is."""
        return (
            self.fontMetrics().horizontalAdvance("9") * len(str(self.blockCount())) + 14
        )

    def paint_numbers(self, where: QWidget, event: QPaintEvent) -> None:
        """Paint the numbers of the lines that are seen."""
        with ThemedPainter(where) as painter:
            theme = painter.theme
            painter.fillRect(event.rect(), QColor(theme.window))
            painter.setFont(self.font())
            block = self.firstVisibleBlock()
            top = (
                self.blockBoundingGeometry(block).translated(self.contentOffset()).top()
            )
            height = self.fontMetrics().height()
            while block.isValid() and top <= event.rect().bottom():
                number = block.blockNumber() + 1
                wrong = number == self._wrong
                area = QRect(0, round(top), where.width() - 6, height)
                colour = theme.bad if wrong else theme.muted
                painter.text(area, Qt.AlignmentFlag.AlignRight, str(number), colour)
                top += self.blockBoundingRect(block).height()
                block = block.next()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Keep the numbers beside the text."""
        super().resizeEvent(event)
        area = self.contentsRect()
        self._numbers.setGeometry(
            QRect(area.left(), area.top(), self.numbers_width, area.height())
        )

    def _make_room(self) -> None:
        self.setViewportMargins(self.numbers_width, 0, 0, 0)

    def _scrolled(self, area: QRect, by: int) -> None:
        if by:
            self._numbers.scroll(0, by)
        else:
            self._numbers.update(0, area.y(), self._numbers.width(), area.height())

    def _apply(self, change: DocumentChange) -> None:
        before = self.toPlainText()
        # Qt counts in units of 16 bits.
        start = _units(before[: change.start])
        taken = _units(before[change.start : change.start + change.taken])
        cursor = QTextCursor(self.document())
        cursor.beginEditBlock()
        cursor.setPosition(start)
        cursor.setPosition(start + taken, QTextCursor.MoveMode.KeepAnchor)
        cursor.insertText(change.put)
        cursor.endEditBlock()


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2
