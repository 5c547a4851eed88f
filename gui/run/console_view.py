# SPDX-License-Identifier: Apache-2.0
"""The console: what passes the shim's line, with a filter, in bounded memory."""

from __future__ import annotations

from PySide6.QtGui import QFontDatabase
from PySide6.QtWidgets import (
    QPlainTextEdit,
    QWidget,
)

from gui.run.console_log import ConsoleLog, Filter
from gui.widgets.controls import combo_box, named, offer, shortcut
from gui.widgets.layouts import in_column, in_row
from gui.widgets.line_field import LineField
from gui.widgets.text import PlainLabel
from rig.files.plain_text import one_line

#: So many lines are shown; the log keeps more, for the filter.
_SHOWN = 1000
_NAMES = {"": "tx and rx", "tx": "tx: to the device", "rx": "rx: from the device"}


class ConsoleView(QWidget):
    """The newest lines of a log that pass the filter; `refresh` adds new ones."""

    def __init__(self) -> None:
        super().__init__()
        self._log: ConsoleLog | None = None
        self._number = 0
        self.direction = combo_box(
            "console-direction", "Direction", action=self.render_all
        )
        offer(self.direction, [(text, direction) for direction, text in _NAMES.items()])
        self.search = LineField(
            "console-filter", "Filter of the console", "filter (Ctrl+L)"
        )
        self.search.setClearButtonEnabled(True)
        self.search.textChanged.connect(self.render_all)
        shortcut(self, "Ctrl+L", self.search.setFocus)
        self.lines = named(QPlainTextEdit(), "console-lines", "Console")
        self.lines.setReadOnly(True)
        self.lines.setUndoRedoEnabled(False)
        self.lines.setMaximumBlockCount(_SHOWN)
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
        """Return which lines are shown."""
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
            "\n".join(one_line(line.shown()) for line in new[-_SHOWN:])
        )
        if at_end:
            bar.setValue(bar.maximum())
