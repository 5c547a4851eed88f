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
