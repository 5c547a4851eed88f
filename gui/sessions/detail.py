# SPDX-License-Identifier: Apache-2.0
"""One session beside the list: its facts, its tags, and its actions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import (
    QFormLayout,
    QGridLayout,
    QLabel,
    QPushButton,
    QWidget,
)

from gui.sessions.delete_bar import DeleteBar
from gui.sessions.rows import facts, outcome_colour
from gui.widgets.controls import push_button
from gui.widgets.labels import Labels
from gui.widgets.layouts import CARD, STRETCH, in_column
from gui.widgets.line_field import LineField
from gui.widgets.notice import Notice, Severity, set_severity
from gui.widgets.table import DataTable, TableColumn
from gui.widgets.text import PlainLabel, ShortenedLabel, plain, set_state, shortened
from rig.api.archive.listing import RUNNING, Listed
from rig.check.check import Check
from rig.model.finding import Finding

_FINDINGS = (
    TableColumn(
        "check",
        lambda finding: "equal" if finding.ok else "differs",
        lambda finding: finding.ok,
        colour=lambda finding: "ok" if finding.ok else "bad",
    ),
    TableColumn("what", lambda finding: finding.name),
    TableColumn("found", lambda finding: finding.detail),
)


class DetailPanel(QWidget):
    """One session; each signal is emitted with its row."""

    asked_open = Signal(object)
    asked_check = Signal(object)
    asked_report = Signal(object)
    asked_resume = Signal(object)
    #: The row and the text of the tags.
    tagged = Signal(object, str)

    def __init__(self) -> None:
        super().__init__()
        self.row: Listed | None = None
        self._report: Path | None = None
        self.notice = Notice()
        self.question = DeleteBar()
        self._name = _label("session-name", "Name of the session", role="heading")
        self._outcome = _label("session-outcome", "Outcome")
        self._reason = _label("session-reason", "Reason")
        self._labels = Labels()
        self._facts = QFormLayout()
        self._facts.setLabelAlignment(Qt.AlignmentFlag.AlignLeft)
        self._facts.setHorizontalSpacing(14)
        self._tags = LineField(
            "session-tags",
            "Tags of the session",
            "tags, with blanks between; Enter keeps them",
        )
        self._tags.returnPressed.connect(self._tag)
        self._findings = DataTable(_FINDINGS, "session-findings")
        self._checked = _label("session-checked", "Outcome of the check")
        self._buttons = self._new_buttons()
        self._lay_out()

    def show_row(self, row: Listed) -> None:
        """Show a session; the findings of another one are removed."""
        other = self.row is None or self.row.path != row.path
        self.row = row
        self._name.setText(row.bench or row.name)
        self._reason.setText(row.reason)
        self._reason.setVisible(bool(row.reason))
        self._labels.set_labels(row.labels)
        while self._facts.rowCount():
            self._facts.removeRow(0)
        for name, text in facts(row):
            title = PlainLabel(name, role="muted")
            self._facts.addRow(title, _fact(name, text))
        if other or not self._tags.hasFocus():
            self._tags.setText(" ".join(row.tags))
        if other:
            self.notice.clear()
            self.question.hide()
            self._report = None
            self._checked.hide()
            self._findings.hide()
        self._buttons["resume"].setEnabled(row.resumable)
        self._buttons["delete"].setEnabled(row.status != RUNNING)
        report = row.path / "report.html" if row.has_report else self._report
        self._buttons["see-report"].setEnabled(report is not None)
        self._report = report
        self._outcome.setText(row.outcome)
        set_state(self._outcome, outcome_colour(row))

    def show_check(self, row: Listed, checked: Check) -> None:
        """Show the findings of a check, the failed ones first."""
        if self.row is None or self.row.path != row.path:
            return
        self.set_busy("")
        good = sum(finding.ok for finding in checked.findings)
        self._checked.setText(
            f"Checked: {good} of {len(checked.findings)} equal, session"
            f" {checked.status}"
        )
        set_severity(self._checked, Severity.SUCCESS if checked.ok else Severity.ERROR)
        self._checked.setVisible(True)
        findings: list[Finding] = sorted(
            checked.findings, key=lambda finding: finding.ok
        )
        self._findings.set_rows(findings)
        self._findings.show()

    def show_report(self, row: Listed, path: Path) -> None:
        """Say where the report lies."""
        if self.row is None or self.row.path != row.path:
            return
        self.set_busy("")
        self._report = path
        self._buttons["see-report"].setEnabled(True)
        self.notice.show_text(f"the report is written: {path}", Severity.SUCCESS)

    def set_busy(self, work: str) -> None:
        """Show the work in progress; empty for none."""
        for name in ("check", "report"):
            self._buttons[name].setEnabled(not work)
        self._checked.setText(work)
        set_severity(self._checked, None)
        self._checked.setVisible(bool(work))

    def _tag(self) -> None:
        if self.row is not None:
            self.tagged.emit(self.row, self._tags.text())

    def _see_report(self) -> None:
        if self._report is not None:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._report)))

    def _ask_delete(self) -> None:
        if self.row is not None:
            self.question.ask((self.row,))

    def _emit(self, signal: object) -> None:
        if self.row is not None:
            signal.emit(self.row)  # type: ignore[attr-defined]

    def _new_buttons(self) -> dict[str, QPushButton]:
        actions: dict[str, tuple[str, str, Callable[[], None]]] = {
            "open": (
                "&Open",
                "metrics and trials, trace",
                lambda: self._emit(self.asked_open),
            ),
            "resume": (
                "&Resume",
                "go on where it stopped",
                lambda: self._emit(self.asked_resume),
            ),
            "check": (
                "Chec&k",
                "recompute every number from the raw files",
                lambda: self._emit(self.asked_check),
            ),
            "report": (
                "&Write report",
                "one HTML page",
                lambda: self._emit(self.asked_report),
            ),
            "see-report": ("See re&port", "in the browser", self._see_report),
            "delete": ("&Delete ...", "to the trash, or for good", self._ask_delete),
        }
        buttons = {}
        for name, (text, tip, action) in actions.items():
            button = push_button(
                f"session-{name}",
                text,
                action,
                accessible=f"{text.replace('&', '').rstrip(' .')}: {tip}",
                tip=tip,
            )
            buttons[name] = button
        buttons["open"].setProperty("role", "primary")
        return buttons

    def _lay_out(self) -> None:
        grid = QGridLayout()
        for number, button in enumerate(self._buttons.values()):
            grid.addWidget(button, number // 3, number % 3)
        in_column(
            [
                self._name,
                self._outcome,
                self._reason,
                self._labels,
                self.notice,
                grid,
                self.question,
                self._tags,
                self._facts,
                self._checked,
                (self._findings, 3),
                STRETCH,
            ],
            self,
            margins=CARD,
            spacing=9,
        )


def _label(name: str, accessible: str, role: str = "") -> QLabel:
    label = plain(name, role=role, wrap=True, selectable=True)
    label.setAccessibleName(accessible)
    return label


def _fact(name: str, text: str) -> ShortenedLabel:
    label = shortened(f"fact-{name}", text)
    label.setAccessibleName(name)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return label
