# SPDX-License-Identifier: Apache-2.0
"""The bench file's text: an editor with line numbers, and the line marked that is
wrong."""

from __future__ import annotations

import re

from PySide6.QtCore import QRect, QSize, Qt
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

from gui.bench.document import DocumentChange, change_between
from gui.theme import Recoloured, shown
from gui.widgets.controls import named
from gui.widgets.painter import ThemedPainter

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
        beside = QRect(area.left(), area.top(), self.numbers_width, area.height())
        self._numbers.setGeometry(beside)

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
