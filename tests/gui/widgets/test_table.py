# SPDX-License-Identifier: Apache-2.0
"""The table of the window: its columns are as wide as Qt would make them, in a fraction
of the time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QTableView

from gui.widgets.table import DataTable, TableColumn

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

TEXTS = ("", "iiiiiiiii", "WWWWW", "12.345 mW", "-3.4", "✓ ok", "µW")


@pytest.mark.parametrize("rows", [0, 1, 300])
@pytest.mark.parametrize("sorted_by", [-1, 1])
def test_columns_are_as_wide_as_qt_makes_them(
    qtbot: QtBot, rows: int, sorted_by: int
) -> None:
    columns = [
        TableColumn("left", lambda row: TEXTS[row % len(TEXTS)]),
        TableColumn(
            "right", lambda row: TEXTS[row * row % len(TEXTS)] * (row % 3), right=True
        ),
        TableColumn("last", lambda row: f"{row}", lambda row: row),
    ]
    table = DataTable(columns, "some-table")
    qtbot.addWidget(table)
    table.sortByColumn(sorted_by, Qt.SortOrder.DescendingOrder)
    table.set_rows(range(rows))
    for number in range(len(columns)):
        assert table.sizeHintForColumn(number) == QTableView.sizeHintForColumn(
            table, number
        )


def test_spare_columns_are_left_out_before_a_number_is_cut(qtbot: QtBot) -> None:
    columns = [
        TableColumn("name", lambda row: "the name of a row"),
        TableColumn("value", lambda row: "12.3456 ± 0.0012 mJ", right=True),
        TableColumn("where", lambda row: "in a spare column", spare=True),
        TableColumn("size", lambda row: "31.7 MB", right=True, spare=True),
    ]
    table = DataTable(columns, "some-table")
    qtbot.addWidget(table)
    table.show()
    for wide, seen in ((900, 4), (410, 3), (290, 2), (900, 4)):
        table.resize(wide, 120)
        table.set_rows([1])
        hidden = [table.isColumnHidden(number) for number in range(4)]
        assert hidden == [False] * seen + [True] * (4 - seen), wide
        qtbot.waitUntil(lambda: not table.horizontalScrollBar().isVisible())
        last = seen - 1
        end = table.columnViewportPosition(last) + table.columnWidth(last)
        assert end == table.viewport().width(), wide
    table.resize(290, 120)
    assert table.isColumnHidden(2), "also where the window alone has become smaller"
    assert "31.7 MB" in table.text(), "a copy has all columns"


def test_a_short_column_is_no_wider_than_its_text(qtbot: QtBot) -> None:
    table = DataTable(
        [TableColumn("n", str, right=True), TableColumn("more", str)], "some-table"
    )
    qtbot.addWidget(table)
    table.set_rows([1])
    assert table.columnWidth(0) < 3 * table.fontMetrics().horizontalAdvance("n") + 12
