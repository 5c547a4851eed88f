# SPDX-License-Identifier: Apache-2.0
"""A table of rows that can be sorted and copied, quick also with 20 000 rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    QSortFilterProxyModel,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QAbstractItemView, QTableView, QWidget

from gui import theme
from gui.widgets.text import tip
from rig import table_file
from rig.plain_text import visible

Index = QModelIndex | QPersistentModelIndex
_SHOWN = Qt.ItemDataRole.DisplayRole
_SORT = Qt.ItemDataRole.UserRole
_ALIGNED = Qt.ItemDataRole.TextAlignmentRole
_COLOURED = Qt.ItemDataRole.ForegroundRole
#: Of each cell Qt asks for fonts, icons and more, again and again: only these have an answer.
_ANSWERED = frozenset((_SHOWN, _SORT, _ALIGNED, _COLOURED, Qt.ItemDataRole.ToolTipRole))
_NOWHERE = QModelIndex()
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
#: Letters that no column is too narrow for.
_LONG = 12
#: The columns are as wide as so many of the first rows need.
_MEASURED_ROWS = 1000
#: A column that is wider would leave no room for the others.
_WIDEST_PX = 420


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its head, the text of a row, and the value that it sorts by (else the text).

    `colour` names a colour of the theme for a row ("ok", "bad", "muted"), empty for the text's.
    """

    head: str
    text: Callable[[Any], str]
    key: Callable[[Any], Any] | None = None
    right: bool = False
    tip: str = ""
    colour: Callable[[Any], str] | None = None


def _tip(text: str) -> str | None:
    """Return what a cell that may be cut shows under the mouse."""
    return tip(text) if len(text) > _LONG else None


class _Rows(QAbstractTableModel):
    def __init__(self, columns: Sequence[Column]) -> None:
        super().__init__()
        self.columns = tuple(columns)
        self.rows: list[Any] = []

    def rowCount(self, parent: Index = _NOWHERE) -> int:  # noqa: N802
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index = _NOWHERE) -> int:  # noqa: N802
        return 0 if parent.isValid() else len(self.columns)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role not in _ANSWERED:
            return None
        column = self.columns[index.column()]
        if role == _ALIGNED:
            return _RIGHT if column.right else None
        row = self.rows[index.row()]
        if role == _SHOWN:
            return visible(column.text(row))
        if role == _SORT:
            return column.key(row) if column.key is not None else column.text(row)
        if role == _COLOURED:
            name = "" if column.colour is None else column.colour(row)
            return QColor(getattr(theme.shown(), name)) if name else None
        return _tip(column.text(row))

    def headerData(  # noqa: N802
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> Any:
        if orientation == Qt.Orientation.Vertical:
            return None
        if role == _SHOWN:
            return self.columns[section].head
        if role == Qt.ItemDataRole.ToolTipRole:
            return self.columns[section].tip or None
        if role == _ALIGNED:
            return _RIGHT if self.columns[section].right else _LEFT
        return None


class Table(QTableView):
    """A table of any rows; `chosen` is emitted with the row at hand, `hovered` with the row under
    the mouse or None; Ctrl+C copies the selected rows with tabs between, with the labels of their
    session above.
    """

    chosen = Signal(object)
    hovered = Signal(object)

    def __init__(self, columns: Sequence[Column], name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setAccessibleName(name.replace("-", " "))
        self._labels: tuple[str, ...] = ()
        self._rows = _Rows(columns)
        self._sorted = QSortFilterProxyModel(self)
        self._sorted.setSourceModel(self._rows)
        self._sorted.setSortRole(_SORT)
        self.setModel(self._sorted)
        self.setSortingEnabled(True)
        # As the rows come, until somebody chooses a column.
        self.sortByColumn(-1, Qt.SortOrder.AscendingOrder)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setAlternatingRowColors(True)
        self.setMouseTracking(True)
        self.setTabKeyNavigation(False)
        self.setWordWrap(False)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + 6)
        self.horizontalHeader().setStretchLastSection(True)
        self.selectionModel().currentRowChanged.connect(self._chosen)
        self.entered.connect(lambda index: self.hovered.emit(self._row(index)))

    @property
    def rows(self) -> list[Any]:
        """Return all rows, as they were given."""
        return self._rows.rows

    def set_labels(self, labels: Sequence[str]) -> None:
        """Say what must stand beside the numbers of the rows: SIMULATED, GENERATED DATA, ..."""
        self._labels = tuple(labels)

    def set_rows(self, rows: Sequence[Any]) -> None:
        """Show other rows; the widths of the columns fit the first of them."""
        self._rows.beginResetModel()
        self._rows.rows = list(rows)
        self._rows.endResetModel()
        self.resizeColumnsToContents()
        for number in range(self._rows.columnCount() - 1):
            if self.columnWidth(number) > _WIDEST_PX:
                self.setColumnWidth(number, _WIDEST_PX)

    def sizeHintForColumn(self, number: int) -> int:  # noqa: N802
        """Return the width that the widest text of the first rows needs: Qt would lay out each."""
        column = self._rows.columns[number]
        width = self.fontMetrics().horizontalAdvance
        indexes = [
            self._sorted.index(row, number)
            for row in range(min(self._sorted.rowCount(), _MEASURED_ROWS))
        ]
        if not indexes:
            return super().sizeHintForColumn(number)
        widest = max(indexes, key=lambda index: width(visible(column.text(self._row(index)))))
        return self.sizeHintForIndex(widest).width() + int(self.showGrid())

    def selected(self) -> list[Any]:
        """Return the selected rows, from top to bottom."""
        return [self._row(index) for index in self._selected()]

    def choose(self, row: Any) -> None:
        """Select a row and scroll to it."""
        source = self._rows.index(self._rows.rows.index(row), 0)
        index = self._sorted.mapFromSource(source)
        self.selectionModel().setCurrentIndex(
            index,
            QItemSelectionModel.SelectionFlag.ClearAndSelect
            | QItemSelectionModel.SelectionFlag.Rows,
        )
        self.scrollTo(index)

    def choose_all(self, rows: Sequence[Any]) -> None:
        """Select just these rows; the last of them is at hand."""
        model = self.selectionModel()
        model.clearSelection()
        for row in rows:
            source = self._rows.index(self._rows.rows.index(row), 0)
            model.setCurrentIndex(
                self._sorted.mapFromSource(source),
                QItemSelectionModel.SelectionFlag.Select | QItemSelectionModel.SelectionFlag.Rows,
            )

    def text(self) -> str:
        """Return the selected rows, or all where none is, with their labels and heads, as lines
        with tabs.
        """
        indexes = self._selected() or [
            self._sorted.index(row, 0) for row in range(self._sorted.rowCount())
        ]
        lines = [[", ".join(self._labels)]] if self._labels else []
        lines.append([column.head for column in self._rows.columns])
        for index in indexes:
            row = self._row(index)
            lines.append([column.text(row) for column in self._rows.columns])
        return table_file.tabbed(lines)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        """Copy by the keys for it; Tab leaves the table."""
        if event.matches(QKeySequence.StandardKey.Copy):
            QGuiApplication.clipboard().setText(self.text())
        else:
            super().keyPressEvent(event)

    def _selected(self) -> list[QModelIndex]:
        return sorted(self.selectionModel().selectedRows(), key=lambda index: index.row())

    def _row(self, index: Index) -> Any:
        return self._rows.rows[self._sorted.mapToSource(index).row()]

    def _chosen(self, index: QModelIndex) -> None:
        if index.isValid():
            self.chosen.emit(self._row(index))
