# SPDX-License-Identifier: Apache-2.0
"""Two sessions beside the list: metrics with the difference, and what differs in their
making."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QWidget,
)

from gui.widgets.controls import check_box, push_button
from gui.widgets.labels import Labels
from gui.widgets.layouts import CARD, STRETCH, in_column, in_row, split
from gui.widgets.notice import Notice
from gui.widgets.table import DataTable, TableColumn
from gui.widgets.text import PlainLabel, plain
from rig.api.comparing.comparison import SessionComparison
from rig.api.comparing.metric_pairs import ComparisonOutcome, MetricPair, counts
from rig.api.comparing.provenance_changes import ProvenanceChange
from rig.api.comparing.text import difference_text, spread_text, value_text
from rig.model.metric import Prominence

_COLOURS = {
    ComparisonOutcome.IF_UNCHANGED: "warn",
    ComparisonOutcome.UNKNOWN: "muted",
    ComparisonOutcome.NOT_COMPARABLE: "muted",
    ComparisonOutcome.NOT_SHOWN: "muted",
    ComparisonOutcome.EQUAL: "muted",
}


def _colour(pair: MetricPair) -> str:
    if pair.outcome is ComparisonOutcome.DIFFERS:
        return {True: "ok", False: "bad", None: "text"}[pair.better]
    return _COLOURS.get(pair.outcome, "")


def _outcome(pair: MetricPair) -> str:
    """Return the outcome, with a word for what its colour shows."""
    if pair.better is None:
        return pair.outcome.value
    return f"{pair.outcome.value}: {'better' if pair.better else 'worse'}"


def _size(value: float | None) -> float:
    return abs(value) if value is not None else -1.0


_METRICS = (
    TableColumn("metric", lambda pair: pair.name),
    TableColumn(
        "outcome", _outcome, colour=_colour, tip="better or worse: B against A"
    ),
    TableColumn(
        "B - A, ± 95 %",
        lambda pair: difference_text(pair, with_spread=True),
        lambda pair: _size(pair.relative),
        right=True,
        tip="with its 95 % interval as if the sessions had nothing in common",
    ),
    TableColumn(
        "± if unchanged",
        lambda pair: spread_text(pair, pair.shared) if pair.shared_parts else "",
        right=True,
        tip="95 % interval as if the instrument that both used had not changed at all",
    ),
    TableColumn("A", lambda pair: value_text(pair, pair.first), right=True, spare=True),
    TableColumn(
        "B", lambda pair: value_text(pair, pair.second), right=True, spare=True
    ),
)
_SHARED_COLUMN = 3
_NO_METRIC = "Choose a metric: its outcome and its values are explained here."
_CHANGES = (
    TableColumn("what differs", lambda change: change.path),
    TableColumn("A", lambda change: change.before),
    TableColumn("B", lambda change: change.after),
)


class ComparePanel(QWidget):
    """A comparison; `asked_swap` is emitted when A and B are to change places."""

    asked_swap = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.found: SessionComparison | None = None
        self.notice = Notice()
        self._title = PlainLabel("Compare", role="heading")
        self._names = plain("compare-names", wrap=True, accessible="The two sessions")
        self._notes = plain(
            "compare-notes",
            role="muted",
            wrap=True,
            accessible="Notes on the comparison",
        )
        self._counts = plain("compare-counts", wrap=True, accessible="Outcomes")
        self._labels = Labels()
        self._details = check_box(
            "compare-details",
            "&Details and ordinary changes too",
            self._show,
            accessible="Show details and ordinary changes too",
        )
        swap = push_button("compare-swap", "&Swap A and B", self.asked_swap.emit)
        self.metrics = DataTable(_METRICS, "compare-metrics")
        self.metrics.chosen.connect(self._explain)
        self._metric = plain(
            "compare-metric", role="muted", wrap=True, accessible="The chosen metric"
        )
        upper = QWidget()
        in_column([(self.metrics, 1), self._metric], upper)
        self.changes = DataTable(_CHANGES, "compare-changes")
        tables = split(
            [upper, self.changes], (600, 300), name="compare-split", down=True
        )
        row = in_row([self._title, STRETCH, self._details, swap])
        texts = [self.notice, self._names, self._labels, self._notes, self._counts]
        in_column([row, *texts, (tables, 1)], self, margins=CARD, spacing=8)

    def show_waiting(self, first: str, second: str) -> None:
        """Say which sessions are being compared."""
        self.notice.clear()
        self.found = None
        self._names.setText(f"A  {first}\nB  {second}")
        self._labels.set_labels(())
        self._notes.setText("...")
        self._counts.setText("")
        self.metrics.set_rows([])
        self._metric.setText("")
        self.changes.set_rows([])

    def show_comparison(self, comparison: SessionComparison) -> None:
        """Show a comparison."""
        self.found = comparison
        labels = dict.fromkeys((*comparison.first.labels, *comparison.second.labels))
        self._labels.set_labels(tuple(labels))
        self.metrics.set_labels(tuple(labels))
        self._show()

    def _show(self) -> None:
        comparison = self.found
        if comparison is None:
            return
        self._notes.setText("\n".join(comparison.notes))
        self._notes.setVisible(bool(comparison.notes))
        lines = [
            f"{outcome.value}: {count}"
            for outcome, count in counts(comparison.metrics).items()
        ]
        self._counts.setText(
            f"{len(comparison.metrics)} metrics; {'; '.join(lines)}" if lines else ""
        )
        whole = self._details.isChecked()
        # Before the rows: a column that is seen takes room from the others.
        self.metrics.setColumnHidden(_SHARED_COLUMN, not comparison.shared_rails)
        self.metrics.set_rows(
            [pair for pair in comparison.metrics if whole or _is_main(pair)]
        )
        self._metric.setText(_NO_METRIC if comparison.metrics else "")
        changed: list[ProvenanceChange] = [
            change for change in comparison.changes if whole or not change.ordinary
        ]
        self.changes.set_rows(changed)

    def _explain(self, pair: MetricPair) -> None:
        """State the outcome of a metric, its reason and both values."""
        why = f": {pair.reason}" if pair.reason else ""
        first = value_text(pair, pair.first) if pair.first else "not measured"
        second = value_text(pair, pair.second) if pair.second else "not measured"
        self._metric.setText(
            f"{pair.name}: {_outcome(pair)}{why}. A {first}; B {second}."
        )


def _is_main(pair: MetricPair) -> bool:
    rows = [row for row in (pair.first, pair.second) if row is not None]
    return any(row.prominence is not Prominence.DETAIL for row in rows)
