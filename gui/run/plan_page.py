# SPDX-License-Identifier: Apache-2.0
"""What will happen, before the start: the form, the steps of a trial, time and disk.

An estimate in words: what will happen, how long it takes, and whether there is room;
no Qt.
"""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QGridLayout,
    QWidget,
)

from gui.run.setup_panel import SetupPanel
from gui.widgets.layouts import STRETCH, in_column, in_row, split
from gui.widgets.line_field import LineField
from gui.widgets.notice import Notice
from gui.widgets.table import DataTable, TableColumn
from gui.widgets.text import PlainLabel, heading, plain, set_state, tip
from rig.session.estimate import Estimate, RailRate, StepGroup
from rig.units import bytes_text, duration, quantity


@dataclass(frozen=True, slots=True)
class PlanLine:
    """A line of the summary: its subject, its text, and "", "warn" or "bad"."""

    head: str
    text: str
    state: str = ""


def each_text(row: StepGroup) -> str:
    """Return the time of one step of a row: an estimate, or a limit."""
    if row.each.expected_s is None:
        return f"up to {duration(row.each.most_s)}"
    return f"about {duration(row.each.expected_s)}"


def total_text(row: StepGroup) -> str:
    """Return the time of all steps of a row."""
    if row.each.expected_s is None:
        return f"up to {duration(row.total.most_s)}"
    return f"about {duration(row.total.expected_s)}"


def basis(row: StepGroup) -> str:
    """Return the source of a row's time: an estimate or a limit."""
    return "limit" if row.each.expected_s is None else "estimate"


def summary(estimate: Estimate) -> list[PlanLine]:
    """Return what will happen, line by line."""
    clock = " of virtual time" if estimate.virtual else ""
    trials = "1 trial" if estimate.trials == 1 else f"{estimate.trials} trials"
    each_trial = f"{duration(estimate.trial.known_s)} a trial"
    if estimate.interleaved:
        each_trial = "trials interleaved"
    lines = [
        PlanLine(
            "What",
            f"{estimate.task}, {estimate.scenario}: {trials} of {estimate.steps} steps",
        ),
        PlanLine(
            "Time",
            f"{estimate.certainty} {duration(estimate.session.known_s)}{clock},"
            f" {each_trial};"
            f" {duration(estimate.session.most_s)} if every limit is reached",
        ),
    ]
    if other_order := estimate.other_order:
        lines.append(PlanLine("", other_order))
    if estimate.virtual:
        lines.append(
            PlanLine(
                "", "virtual time passes faster than the clock on the wall: SIMULATED"
            )
        )
    if estimate.unknown:
        lines.append(
            PlanLine(
                "",
                "of some steps only a limit is known: what a query takes, only the"
                " device knows; a claimed latency is taken for it",
            )
        )
    lines += [
        PlanLine("Rail" if not rail.name else rail.name, _rail(rail))
        for rail in estimate.rails
    ]
    if not estimate.rails:
        lines.append(PlanLine("Rail", "no monitor: no energy is measured", "warn"))
    if estimate.claim:
        claimed = ", ".join(
            f"{name} = {value:g}" for name, value in estimate.claim.items()
        )
        lines.append(PlanLine("Claim", f"{claimed} (SI units)"))
    lines.append(_disk(estimate))
    return lines


def _rail(rail: RailRate) -> str:
    if rail.sampling is None:
        return "only the instrument knows its rate: its files are not in the estimate"
    return (
        f"{quantity(rail.sampling.sample_hz, 'Hz')}, {bytes_text(rail.byte_hz)} a"
        " second on disk"
    )


def _disk(estimate: Estimate) -> PlanLine:
    needed = f"about {bytes_text(estimate.known_b)}"
    if estimate.rails and not estimate.trial.expected:
        needed = f"{bytes_text(estimate.known_b)} to {bytes_text(estimate.most_b)}"
    if estimate.free_b is None:
        return PlanLine("Disk", f"{needed}; what is free is not known", "warn")
    free = f"{needed}; {bytes_text(estimate.free_b)} are free"
    if not estimate.room:
        return PlanLine(
            "Disk",
            f"{free}: NO ROOM. Free some, choose another folder, or fewer trials",
            "bad",
        )
    if not estimate.room_at_most:
        return PlanLine("Disk", f"{free}: too little if every limit is reached", "warn")
    return PlanLine("Disk", free)


_WIDTHS = (430, 800)
#: Room of a scroll bar below the rows.
_SPARE_PX = 16
_COLUMNS = (
    TableColumn("step", lambda row: row.group),
    TableColumn("count", lambda row: f"{row.count}", lambda row: row.count, right=True),
    TableColumn("each", each_text, lambda row: row.each.most_s, right=True),
    TableColumn("in a trial", total_text, lambda row: row.total.most_s, right=True),
    TableColumn("basis", basis),
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
        in_column(
            [heading("run-setup-head", "What to run", 1.15), self.setup, STRETCH],
            left,
            margins=(0, 0, 12, 0),
        )
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
        self._show_lines(summary(estimate))
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

    def _show_lines(self, lines: list[PlanLine]) -> None:
        while len(self._lines) < len(lines):
            row = len(self._lines)
            head = plain(f"run-plan-head-{row}", role="muted", selectable=True)
            text = plain(f"run-plan-line-{row}", wrap=True, selectable=True)
            self._grid.addWidget(head, row, 0, Qt.AlignmentFlag.AlignTop)
            self._grid.addWidget(text, row, 1)
            self._lines.append((head, text))
        for number, (head, text) in enumerate(self._lines):
            shown = number < len(lines)
            line = lines[number] if shown else PlanLine("", "")
            head.setText(line.head)
            text.setText(line.text)
            set_state(text, line.state)
            head.setVisible(shown)
            text.setVisible(shown)
