# SPDX-License-Identifier: Apache-2.0
"""The list of problems: of the trial, and gaps of the trace; a click zooms to the
place."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtWidgets import QWidget

from gui.trace.panels.rows import PanelTable
from gui.trace.shown.markers import Stretch
from gui.trace.shown.state import TraceState
from gui.trace.shown.subject import Subject
from gui.widgets.layouts import STRETCH, in_column
from gui.widgets.table import TableColumn
from gui.widgets.text import plain
from rig.units import quantity

#: A gap of no time at all is still to be seen.
_AROUND_S = 1e-3


@dataclass(frozen=True, slots=True)
class ProblemRow:
    """A row of the list: title, evidence, meaning, and place in the trace, if any."""

    what: str
    detail: str
    meaning: str
    start_s: float | None = None
    stop_s: float | None = None
    elsewhere: str = ""

    @property
    def where(self) -> str:
        """The place as a text."""
        if self.start_s is None or self.stop_s is None:
            return self.elsewhere or "whole trial"
        return f"{self.start_s:.6f} s, {quantity(self.stop_s - self.start_s, 's')}"


def troubles(subject: Subject) -> list[ProblemRow]:
    """Return the problems of a trial, then the gaps of the trace and notes of how it
    was read."""
    rows = []
    for problem in subject.problems:
        elsewhere = (
            problem.rail not in ("", subject.rail)
            or problem.segment != subject.choice.segment
        )
        span = None if elsewhere else subject.trace.locate(problem)
        start_s, stop_s = span or (None, None)
        where = f"segment {problem.segment} {problem.rail}".strip()
        trouble = ProblemRow(
            problem.code,
            problem.detail,
            problem.meaning,
            start_s,
            stop_s,
            elsewhere=where if elsewhere else "",
        )
        rows.append(trouble)
    for (start_s, stop_s), cause in zip(subject.gaps_s, subject.causes, strict=True):
        rows.append(
            ProblemRow(
                "gap",
                cause,
                "Samples are lost here, or not to be trusted: energies of windows"
                " around it have no value, or a larger uncertainty. Look at the"
                " monitor's cable and at the load of this computer.",
                float(start_s),
                float(stop_s),
            )
        )
    rows += [
        ProblemRow("note", note, "Of how the file was read.") for note in subject.notes
    ]
    return rows


COLUMNS = (
    TableColumn("what", lambda trouble: trouble.what),
    TableColumn(
        "where", lambda trouble: trouble.where, lambda trouble: trouble.start_s or 0.0
    ),
    TableColumn("evidence", lambda trouble: trouble.detail),
)


class ProblemsPanel(QWidget):
    """Problems, gaps and notes; the meaning of the chosen one stands below the list."""

    def __init__(self) -> None:
        super().__init__()
        self.table = PanelTable(COLUMNS, "problem-table", "Problems of the trial")
        self._text = plain("problem-text", wrap=True, selectable=True)
        in_column([(self.table, 1), self._text, STRETCH], self)
        self.table.chosen.connect(self._chosen)
        self._state: TraceState | None = None

    def set_state(self, state: TraceState) -> int:
        """Show the problems of a trace; return how many there are."""
        self._state = state
        rows = troubles(state.subject)
        self.table.set_rows(rows)
        self.table.setVisible(bool(rows))
        self._text.setText("" if rows else "No problems, no gaps.")
        return len(rows)

    def _chosen(self, trouble: ProblemRow) -> None:
        self._text.setText(f"{trouble.what}: {trouble.detail}\n{trouble.meaning}")
        state = self._state
        if state is None or trouble.start_s is None or trouble.stop_s is None:
            return
        state.choose(Stretch(trouble.start_s, trouble.stop_s, trouble.what))
        around_s = 0.0 if trouble.stop_s > trouble.start_s else _AROUND_S
        state.set_view(
            state.view.on(
                trouble.start_s - around_s, trouble.stop_s + around_s, margin=1.0
            )
        )
