# SPDX-License-Identifier: Apache-2.0
"""Tables of a session: all values, coverage, targets, the benchmark's own lines."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

from PySide6.QtWidgets import QWidget

from gui.trials import words
from gui.widgets.layouts import in_column
from gui.widgets.table import DataTable, TableColumn
from gui.widgets.text import PlainLabel
from rig.api.trials.replication import MetricTrials, SessionTrials
from rig.model import comparison
from rig.model.grid import CellState
from rig.results.stated import stated


def tabs(view: SessionTrials) -> list[tuple[str, QWidget]]:
    """Return a page for each thing that the session holds, with its title."""
    results = view.results
    pages: list[tuple[str, QWidget]] = [("Table", _page("", metric_table(view)))]
    if results.coverage is not None:
        counts = results.coverage
        text = (
            f"{counts.done} cells done, {counts.failed} failed, {counts.missing}"
            " missing."
        )
        pages.append(("Coverage", _page(text, _coverage(counts.cells))))
    if results.targets:
        pages.append(("Targets", _page(_facts(view), _targets(results.targets))))
        pages += _records(view)
    lines: list[tuple[int, str]] = []
    for trial in results.trials:
        lines += [(trial.number, line) for line in trial.lines]
    if lines:
        pages.append(("Result lines", _page("", _lines(lines))))
    return pages


def metric_table(view: SessionTrials) -> DataTable:
    """Return the table of all metrics: values, intervals, claim, verdict, a column a
    trial."""
    columns = [
        TableColumn("metric", lambda row: row.name),
        TableColumn(
            "value",
            lambda row: stated(row.row).value,
            lambda row: row.metric.value,
            True,
        ),
        TableColumn("unit", lambda row: stated(row.row).unit),
        TableColumn("same samples", lambda row: stated(row.row).same_samples),
        TableColumn("other samples", lambda row: stated(row.row).other_samples),
        TableColumn("claim", _claim, right=True),
        TableColumn("verdict", words.verdict),
    ]
    for number, trial in enumerate(view.results.trials):
        columns.append(TableColumn(f"trial {trial.number}", _cell(number), right=True))
    table = DataTable(columns, "trials-table")
    table.set_rows(view.metrics)
    return table


def _claim(row: MetricTrials) -> str:
    statement = stated(row.row)
    if row.claimed is None:
        return ""
    return f"{row.claimed * statement.factor:.{statement.decimals}f}"


def _cell(number: int) -> Callable[[MetricTrials], str]:
    def text(row: MetricTrials) -> str:
        if number >= len(row.dots):
            return ""
        statement = stated(row.row)
        value = row.dots[number].value * statement.factor
        return f"{value:.{statement.decimals}f}"

    return text


def _coverage(cells: tuple[CellState, ...]) -> DataTable:
    table = DataTable(
        [
            TableColumn("state", lambda cell: cell.state),
            TableColumn("workload", lambda cell: cell.workload),
            TableColumn("what", lambda cell: cell.what),
            TableColumn(
                "done", lambda cell: str(cell.done), lambda cell: cell.done, True
            ),
            TableColumn(
                "asked", lambda cell: str(cell.asked), lambda cell: cell.asked, True
            ),
            TableColumn("why it failed", lambda cell: "; ".join(cell.failures)),
        ],
        "trials-coverage",
    )
    table.set_rows(cells)
    return table


def _targets(rows: tuple[comparison.Compared, ...]) -> DataTable:
    columns = [
        TableColumn(head, _of_row(number), right=number >= 2)
        for number, head in enumerate(comparison.HEAD)
    ]
    table = DataTable(columns, "trials-targets")
    table.set_rows(rows)
    return table


def _of_row(number: int) -> Callable[[comparison.Compared], str]:
    return lambda row: comparison.shown(row)[number]


def _facts(view: SessionTrials) -> str:
    """Return the meaning of the gaps, and the task's facts about its data and
    targets.
    """
    facts = view.results.provenance.task.stored
    lines = []
    for name, value in facts.items():
        if isinstance(value, str) and value and name != "name":
            lines.append(f"{name.replace('_', ' ')}: {value}")
    return "\n".join(
        [f"{comparison.MEANING[0].upper()}{comparison.MEANING[1:]}.", *lines]
    )


def _records(view: SessionTrials) -> list[tuple[str, QWidget]]:
    """Return a page for each list of records that the task states, such as its
    workloads with the provenance of their targets.
    """
    pages = []
    for name, rows in view.results.provenance.task.stored.items():
        if (
            isinstance(rows, list)
            and rows
            and all(isinstance(row, dict) for row in rows)
        ):
            heads = list(dict.fromkeys(chain.from_iterable(rows)))
            columns = [
                TableColumn(head.replace("_", " "), _of_record(head)) for head in heads
            ]
            table = DataTable(columns, f"trials-{name}")
            table.set_rows(rows)
            pages.append((name.replace("_", " ").capitalize(), _page("", table)))
    return pages


def _of_record(head: str) -> Callable[[dict[str, Any]], str]:
    def text(row: dict[str, Any]) -> str:
        value = row.get(head)
        return "–" if value is None else str(value)

    return text


def _lines(lines: list[tuple[int, str]]) -> DataTable:
    table = DataTable(
        [
            TableColumn("trial", lambda line: str(line[0]), lambda line: line[0]),
            TableColumn("in the words of the benchmark", lambda line: line[1]),
        ],
        "trials-lines",
    )
    table.set_rows(lines)
    return table


def _page(text: str, table: Any) -> QWidget:
    page = QWidget()
    label = [PlainLabel(text, wrap=True)] if text else []
    in_column([*label, table], page, margins=(9, 9, 9, 9))
    return page
