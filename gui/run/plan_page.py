# SPDX-License-Identifier: Apache-2.0
"""What will happen, before the start: the form, the steps of a trial, time and disk."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QGridLayout,
    QWidget,
)

from gui.run import plan_text
from gui.run.setup_panel import SetupPanel
from gui.widgets.layouts import STRETCH, in_column, in_row, split
from gui.widgets.line_field import LineField
from gui.widgets.notice import Notice
from gui.widgets.table import DataTable, TableColumn
from gui.widgets.text import PlainLabel, heading, plain, set_state, tip
from rig.session.estimate import Estimate

_WIDTHS = (430, 800)
#: Room of a scroll bar below the rows.
_SPARE_PX = 16
_COLUMNS = (
    TableColumn("steps of a trial", lambda row: row.text, lambda row: row.count),
    TableColumn("time", plan_text.known_text, lambda row: row.known_s),
)


class PlanPage(QWidget):
    """The form on the left, what follows from it on the right."""

    def __init__(self, setup: SetupPanel) -> None:
        super().__init__()
        self.setObjectName("run-plan")
        self.setup = setup
        self.notice = Notice()
        self.table = DataTable(_COLUMNS, "run-steps")
        self._lines: list[tuple[PlainLabel, PlainLabel]] = []
        self._grid = QGridLayout()
        self._grid.setColumnStretch(1, 1)
        self._head = heading("run-plan-head", "What will happen", 1.15)
        #: A line of its own, to be copied whole however long its paths are.
        self._same = LineField("run-plan-command", "The command that does the same")
        self._same.setReadOnly(True)
        self._same_row = QWidget()
        self._same_row.hide()
        self.estimate: Estimate | None = None
        left = QWidget()
        setup_head = heading("run-setup-head", "What to run", 1.15)
        in_column([setup_head, self.setup, STRETCH], left, margins=(0, 0, 12, 0))
        right = QWidget()
        in_row([PlainLabel("Command"), (self._same, 1)], self._same_row)
        head = in_column([self._head, self.notice, self._grid, self._same_row])
        column = in_column([head, 8, (self.table, 1)], right, margins=(12, 0, 0, 0))
        column.addStretch(0)
        in_row([split([left, right], _WIDTHS, shares=(0, 1))], self)

    @property
    def text(self) -> str:
        """The summary as text."""
        lines = [f"{head.text()}\t{text.text()}" for head, text in self._lines]
        return "\n".join([*lines, f"Command\t{self._same.text()}"])

    def show_waiting(self) -> None:
        """Say that the estimate is being made."""
        self._head.setText("What will happen ...")

    def show_estimate(self, estimate: Estimate, command: str) -> None:
        """Show what will happen, and the command that does the same."""
        self.estimate = estimate
        self._head.setText("What will happen")
        self.notice.clear()
        self.table.set_rows(estimate.rows)
        head = self.table.horizontalHeader().height()
        rows = self.table.verticalHeader().defaultSectionSize() * len(estimate.rows)
        self.table.setMaximumHeight(
            head + rows + 2 * self.table.frameWidth() + _SPARE_PX
        )
        self.table.show()
        self._show_lines(plan_text.summary(estimate))
        self._same.setText(command)
        self._same.setToolTip(tip(command))
        self._same.setCursorPosition(0)
        self._same_row.show()

    def show_error(self, error: BaseException) -> None:
        """Show why it cannot begin."""
        self.estimate = None
        self._head.setText("This cannot begin")
        self.table.hide()
        self._show_lines([])
        self._same_row.hide()
        self.notice.show_error(error)

    def _show_lines(self, lines: list[plan_text.PlanLine]) -> None:
        while len(self._lines) < len(lines):
            row = len(self._lines)
            head = plain(f"run-plan-head-{row}", role="muted", selectable=True)
            text = plain(f"run-plan-line-{row}", wrap=True, selectable=True)
            self._grid.addWidget(head, row, 0, Qt.AlignmentFlag.AlignTop)
            self._grid.addWidget(text, row, 1)
            self._lines.append((head, text))
        for number, (head, text) in enumerate(self._lines):
            shown = number < len(lines)
            line = lines[number] if shown else plan_text.PlanLine("", "")
            head.setText(line.head)
            text.setText(line.text)
            set_state(text, line.state)
            head.setVisible(shown)
            text.setVisible(shown)
