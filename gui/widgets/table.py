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
    QRect,
    QSize,
    QSortFilterProxyModel,
    Qt,
    Signal,
)
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetrics,
    QGuiApplication,
    QHelpEvent,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QToolTip,
    QWidget,
)

from gui import theme
from gui.widgets.controls import named
from gui.widgets.text import LEFT, RIGHT, tip
from rig.files import table_file
from rig.files.plain_text import visible

Index = QModelIndex | QPersistentModelIndex
_SHOWN = Qt.ItemDataRole.DisplayRole
_SORT = Qt.ItemDataRole.UserRole
_ALIGNED = Qt.ItemDataRole.TextAlignmentRole
_COLOURED = Qt.ItemDataRole.ForegroundRole
#: Of each cell Qt asks for fonts, icons and more, again and again: only these have an
#: answer.
_ANSWERED = frozenset((_SHOWN, _SORT, _ALIGNED, _COLOURED, Qt.ItemDataRole.ToolTipRole))
_NOWHERE = QModelIndex()
#: The columns are as wide as so many of the first rows need.
_MEASURED_ROWS = 1000
#: A column that is wider would leave no room for the others.
_WIDEST_PX = 420
#: Border and padding of a cell, both sides together.
_PADDING_PX = 10
#: A column of words is shortened to so much, so that the columns after it are seen.
_LEAST_PX = 90
#: Padding and border of a head, both sides together: gui/style.py.
_HEAD_PX = 2 * 7
#: A spare column of words is shown whole up to this width, or not at all.
_SPARE_PX = 110


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column: its head, the text of a row, and the value that it sorts by (else the
    text).

    `colour` names a colour of the theme for a row ("ok", "bad", "muted"), empty for the
    text's. A `spare` column is left out where there is no room for it: what it says
    stands in another place too.
    """

    head: str
    text: Callable[[Any], str]
    key: Callable[[Any], Any] | None = None
    right: bool = False
    tip: str = ""
    colour: Callable[[Any], str] | None = None
    spare: bool = False


class _Rows(QAbstractTableModel):
    def __init__(self, columns: Sequence[TableColumn]) -> None:
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
            return RIGHT if column.right else None
        row = self.rows[index.row()]
        if role == _SHOWN:
            return visible(column.text(row))
        if role == _SORT:
            return column.key(row) if column.key is not None else column.text(row)
        if role == _COLOURED:
            name = "" if column.colour is None else column.colour(row)
            return QColor(getattr(theme.shown(), name)) if name else None
        return tip(column.text(row)) or None

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
            column = self.columns[section]
            return tip("\n".join(filter(None, (column.head, column.tip)))) or None
        if role == _ALIGNED:
            return RIGHT if self.columns[section].right else LEFT
        return None


class TableCells(QStyledItemDelegate):
    """Cells that end in an ellipsis where they are cut, also at the edge of the
    table.
    """

    def __init__(self, table: QTableView) -> None:
        super().__init__(table)
        self._table = table

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: Index
    ) -> None:
        """Paint a cell into the part of it that is seen."""
        option.rect = _seen(self._table, option.rect)
        super().paint(painter, option, index)

    def helpEvent(  # noqa: N802
        self,
        event: QHelpEvent,
        view: QAbstractItemView,
        option: QStyleOptionViewItem,
        index: Index,
    ) -> bool:
        """Show the whole text of a cell that is cut."""
        wide = (
            view.fontMetrics().horizontalAdvance(str(index.data() or "")) + _PADDING_PX
        )
        if wide <= _seen(view, option.rect).width():
            QToolTip.hideText()
            return True
        return super().helpEvent(event, view, option, index)


class Heads(QHeaderView):
    """Heads of columns that end in an ellipsis where they are cut."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self.setSectionsClickable(True)
        self.setHighlightSections(False)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        # Qt's own least width is that of the widest letter and more.
        self.setMinimumSectionSize(_HEAD_PX)

    def sectionSizeFromContents(self, section: int) -> QSize:  # noqa: N802
        """Return the size of a head: Qt has room for the arrow in each, not only in
        that of the column by which the rows are sorted.
        """
        size = super().sectionSizeFromContents(section)
        if section == self.sortIndicatorSection():
            return size
        bold = QFont(self.font())
        bold.setBold(True)
        text = self.model().headerData(section, self.orientation(), _SHOWN)
        wide = QFontMetrics(bold).horizontalAdvance(str(text or ""))
        return QSize(min(wide + _HEAD_PX, size.width()), size.height())

    def paintSection(self, painter: QPainter, rect: QRect, section: int) -> None:  # noqa: N802
        """Paint a head into the part of it that is seen."""
        super().paintSection(painter, _seen(self, rect), section)


def _seen(view: QAbstractItemView, rect: QRect) -> QRect:
    whole = view.viewport().rect()
    row = QRect(whole.left(), rect.top(), whole.width(), rect.height())
    return QRect(rect).intersected(row)


class DataTable(QTableView):
    """A table of any rows; `chosen` is emitted with the row at hand, `hovered` with the
    row under the mouse or None; Ctrl+C copies the selected rows with tabs between, with
    the labels of their session above.
    """

    chosen = Signal(object)
    hovered = Signal(object)

    def __init__(
        self, columns: Sequence[TableColumn], name: str, accessible: str = ""
    ) -> None:
        super().__init__()
        named(self, name, accessible or name.replace("-", " "))
        self._labels: tuple[str, ...] = ()
        self._rows = _Rows(columns)
        self._sorted = QSortFilterProxyModel(self)
        self._sorted.setSourceModel(self._rows)
        self._sorted.setSortRole(_SORT)
        self.setModel(self._sorted)
        self.setItemDelegate(TableCells(self))
        self.setHorizontalHeader(Heads(self))
        self._styled = False
        self._natural: list[int] = []
        self._fitted: list[tuple[int, int]] = []
        self.setSortingEnabled(True)
        # In the order of the rows, until a column is chosen.
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
        self.horizontalHeader().sortIndicatorChanged.connect(self._sorted_by)
        self.selectionModel().currentRowChanged.connect(self._chosen)
        self.entered.connect(lambda index: self.hovered.emit(self._row(index)))

    @property
    def rows(self) -> list[Any]:
        """All rows, as they were given."""
        return self._rows.rows

    def set_labels(self, labels: Sequence[str]) -> None:
        """Say what must stand beside the numbers of the rows: SIMULATED, GENERATED
        DATA, ..."""
        self._labels = tuple(labels)

    def set_rows(self, rows: Sequence[Any]) -> None:
        """Show other rows; the widths of the columns fit the first of them."""
        self._rows.beginResetModel()
        self._rows.rows = list(rows)
        self._rows.endResetModel()
        self._measure()

    @property
    def least_px(self) -> int:
        """Width that shows all columns but the spare ones whole."""
        beside = self.width() - self.viewport().width()
        spare = self._spare()
        widths = [
            width for number, width in enumerate(self._natural) if number not in spare
        ]
        return sum(widths) + beside

    def _measure(self) -> None:
        """Take the widths that the columns need, and fit them."""
        for number in self._spare():
            self.showColumn(number)
        self.resizeColumnsToContents()
        self._natural = [
            min(self.columnWidth(number), _WIDEST_PX)
            for number in range(self._rows.columnCount())
        ]
        # The last one is stretched: its own width is its minimum.
        last = len(self._natural) - 1
        head_px = self.horizontalHeader().sectionSizeHint(last)
        self._natural[last] = min(
            max(self.sizeHintForColumn(last), head_px), _WIDEST_PX
        )
        self._fit()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        """Measure the columns again: the style of the window widens cells, and it is
        not known before.
        """
        super().showEvent(event)
        if not self._styled:
            self._styled = True
            if self._natural:
                self._measure()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Fit the columns into the new width, unless a person changed them."""
        super().resizeEvent(event)
        if self._natural and self._widths() == self._fitted:
            self._fit()

    def _sorted_by(self, section: int) -> None:
        """Make room for the arrow, unless a person changed the widths."""
        if self._natural and self._widths() == self._fitted:
            self._measure()

    def _fit(self) -> None:
        """Leave out spare columns, the last first, and shorten columns of words, the
        widest first, until all columns are seen.
        """
        widths = list(self._natural)
        room = self.viewport().width()
        columns = self._rows.columns
        # The first column names the row, and a number is not to be cut.
        words = []
        for number, column in enumerate(columns):
            if number and not column.right:
                words.append(number)
        spare = self._spare()
        needed = {}
        for number, width in enumerate(widths):
            if number in spare or not self.isColumnHidden(number):
                needed[number] = width
        for number in set(words) & set(spare):
            needed[number] = min(needed[number], _SPARE_PX)
        for number in reversed(spare):
            if sum(needed.values()) <= room:
                break
            del needed[number]
        for number in spare:
            self.setColumnHidden(number, number not in needed)
        words = [number for number in words if number in needed]
        over = sum(widths[number] for number in needed) - room
        while over > 0 and words:
            widest = max(words, key=lambda number: widths[number])
            if widths[widest] <= _LEAST_PX:
                break
            widths[widest] -= 1
            over -= 1
        # Qt does not widen the last column again that is seen once more.
        last = max(needed)
        widths[last] += max(room - sum(widths[number] for number in needed), 0)
        for number in needed:
            self.setColumnWidth(number, widths[number])
        self._fitted = self._widths()

    def _spare(self) -> list[int]:
        return [
            number for number, column in enumerate(self._rows.columns) if column.spare
        ]

    def _widths(self) -> list[tuple[int, int]]:
        """Return the numbers and widths of the columns that are seen; the last of them
        is stretched.
        """
        seen = [
            number
            for number in range(len(self._natural))
            if not self.isColumnHidden(number)
        ]
        return [(number, self.columnWidth(number)) for number in seen[:-1]]

    def sizeHintForColumn(self, number: int) -> int:  # noqa: N802
        """Return the width that the widest text of the first rows needs: Qt would lay
        out each."""
        column = self._rows.columns[number]
        width = self.fontMetrics().horizontalAdvance
        count = min(self._sorted.rowCount(), _MEASURED_ROWS)
        indexes = [self._sorted.index(row, number) for row in range(count)]
        if not indexes:
            return super().sizeHintForColumn(number)
        widest = max(
            indexes, key=lambda index: width(visible(column.text(self._row(index))))
        )
        return self.sizeHintForIndex(widest).width() + int(self.showGrid())

    def selected(self) -> list[Any]:
        """Return the selected rows, from top to bottom."""
        return [self._row(index) for index in self._selected()]

    def choose(self, row: Any) -> None:
        """Select a row and scroll to it."""
        index = self._index(row)
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
            model.setCurrentIndex(
                self._index(row),
                QItemSelectionModel.SelectionFlag.Select
                | QItemSelectionModel.SelectionFlag.Rows,
            )

    def text(self) -> str:
        """Return the selected rows, or all where none is, with their labels and heads,
        as lines with tabs.
        """
        indexes = self._selected()
        if not indexes:
            rows = range(self._sorted.rowCount())
            indexes = [self._sorted.index(row, 0) for row in rows]
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
        return sorted(
            self.selectionModel().selectedRows(), key=lambda index: index.row()
        )

    def _index(self, row: Any) -> QModelIndex:
        source = self._rows.index(self._rows.rows.index(row), 0)
        return self._sorted.mapFromSource(source)

    def _row(self, index: Index) -> Any:
        return self._rows.rows[self._sorted.mapToSource(index).row()]

    def _chosen(self, index: QModelIndex) -> None:
        if index.isValid():
            self.chosen.emit(self._row(index))
