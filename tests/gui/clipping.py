# SPDX-License-Identifier: Apache-2.0
"""Text that is cut: the text of every visible widget against its space.

A text may be shortened by an ellipsis where the whole of it stands under the mouse.
Vertical scrolling is no cut, horizontal scrolling outside tables is one.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import Any

import pyqtgraph
import pytest
from PySide6.QtCore import QPointF, QRect, QRectF, QSizeF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPicture
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractScrollArea,
    QCheckBox,
    QComboBox,
    QGraphicsTextItem,
    QGroupBox,
    QHeaderView,
    QLabel,
    QLineEdit,
    QListWidget,
    QPushButton,
    QRadioButton,
    QSpinBox,
    QStyle,
    QStyleOptionButton,
    QStyleOptionComboBox,
    QStyleOptionFrame,
    QStyleOptionTab,
    QTabBar,
    QTableView,
    QToolButton,
    QWidget,
)

from gui.widgets.table import Heads, TableCells
from gui.widgets.text import ShortenedLabel

#: Fonts are hinted: a text may be painted a pixel wider than its metrics state.
_SLACK_PX = 1.0
#: Border, padding and margin of a cell, both sides together: gui/style.py.
_CELL_PX = 2 * 5
#: Beside the text of a field, for the caret.
_CARET_PX = 2 * 2
_TOOL_PX = 2 * (6 + 1)


def clipped(top: QWidget) -> list[str]:
    """Return texts cut without an ellipsis, or with one and no text under the mouse."""
    result = []
    for widget in top.findChildren(QWidget):
        if widget.isVisible() and not _seen(widget).isEmpty():
            result += [f"{_name(widget)}: {fault}" for fault in _faults(widget)]
    return result


def measured(top: QWidget) -> int:
    """Return the number of widgets whose text is measured."""
    kinds = (
        QLabel,
        QAbstractButton,
        QTabBar,
        QHeaderView,
        QTableView,
        QGroupBox,
        QComboBox,
        QLineEdit,
        pyqtgraph.GraphicsView,
    )
    return sum(
        isinstance(each, kinds) and each.isVisible()
        for each in top.findChildren(QWidget)
    )


def _faults(widget: QWidget) -> Iterator[str]:
    if isinstance(widget, QLabel):
        yield from _label(widget)
    elif isinstance(widget, QAbstractButton):
        yield from _button(widget)
    elif isinstance(widget, QTabBar):
        yield from _tabs(widget)
    elif isinstance(widget, QHeaderView):
        yield from _head(widget)
    elif isinstance(widget, QTableView):
        yield from _cells(widget)
    elif isinstance(widget, QListWidget):
        yield from _items(widget)
    elif isinstance(widget, QGroupBox):
        if _wide(widget, widget.title()) > widget.width() - 20:
            yield f"title {widget.title()!r}"
    elif isinstance(widget, QComboBox):
        yield from _combo(widget)
    elif isinstance(widget, QLineEdit):
        yield from _line(widget)
    elif isinstance(widget, pyqtgraph.GraphicsView):
        yield from _plot(widget)
    elif isinstance(widget, QSpinBox):
        if _wide(widget, widget.text()) > widget.lineEdit().contentsRect().width():
            yield repr(widget.text())
    elif any(
        kind.__module__.startswith("gui.") and "paintEvent" in vars(kind)
        for kind in type(widget).__mro__
    ):
        yield from _painted(widget)


def _label(label: QLabel) -> Iterator[str]:
    if label.textFormat() == Qt.TextFormat.RichText:
        yield from _rich(label)
        return
    text = label.text() if label.buddy() is None else label.text().replace("&", "")
    if not text:
        return
    room = label.contentsRect()
    if isinstance(label, ShortenedLabel):
        if _wide(label, text) > room.width() and not _under_the_mouse(
            label.toolTip(), text
        ):
            yield f"{text!r} is shortened without a tip"
        return
    if label.wordWrap():
        widest = max((_wide(label, word) for word in text.split()), default=0.0)
        tall = label.heightForWidth(label.width())
        if (
            _seen(label).width()
            < min(label.width(), label.sizeHint().width()) - _SLACK_PX
        ):
            yield f"{text!r} lies outside"
        if tall > label.height() + _SLACK_PX:
            yield f"{text!r} needs {tall} lines' px of height, has {label.height()}"
    else:
        widest = max(_wide(label, line) for line in text.split("\n"))
        tall = label.fontMetrics().lineSpacing() * (text.count("\n") + 1)
        if tall > room.height() + 2 + _SLACK_PX:
            yield f"{text!r} needs {tall} px of height, has {room.height()}"
    if widest > min(room.width(), _seen(label).width()) + _SLACK_PX:
        yield (
            f"{text!r} needs {widest:.0f} px, has"
            f" {min(room.width(), _seen(label).width())}"
        )


def _rich(label: QLabel) -> Iterator[str]:
    wanted = label.sizeHint()
    if label.wordWrap():
        wanted.setHeight(label.heightForWidth(label.width()))
    if wanted.height() > label.height() or (
        not label.wordWrap() and wanted.width() > _seen(label).width()
    ):
        yield (
            f"{label.text()!r} needs {wanted.toTuple()} px, has"
            f" {_seen(label).size().toTuple()}"
        )


def _button(button: QAbstractButton) -> Iterator[str]:
    text = button.text().replace("&", "")
    if not text:
        return
    option = QStyleOptionButton()
    option.initFrom(button)
    if isinstance(button, QToolButton):
        room = button.width() - _TOOL_PX
    else:
        part = QStyle.SubElement.SE_PushButtonContents
        if isinstance(button, QCheckBox):
            part = QStyle.SubElement.SE_CheckBoxContents
        elif isinstance(button, QRadioButton):
            part = QStyle.SubElement.SE_RadioButtonContents
        if isinstance(button, (QPushButton, QCheckBox, QRadioButton)):
            button.initStyleOption(option)
        room = button.style().subElementRect(part, option, button).width()
    cut = button.width() - _seen(button).width()
    if _wide(button, text) > room - cut + _SLACK_PX:
        yield f"{text!r} needs {_wide(button, text):.0f} px, has {room - cut}"


def _tabs(bar: QTabBar) -> Iterator[str]:
    for position in range(bar.count()):
        if not bar.isTabVisible(position):
            continue
        text = bar.tabText(position)
        option = QStyleOptionTab()
        bar.initStyleOption(option, position)
        part = QStyle.SubElement.SE_TabBarTabText
        room = bar.style().subElementRect(part, option, bar).width()
        if bar.tabRect(position).right() > _seen(bar).right() + _SLACK_PX:
            yield f"tab {text!r} lies outside"
        elif _wide(bar, text) > room + _SLACK_PX:
            elided = bar.elideMode() != Qt.TextElideMode.ElideNone
            if not (elided and _under_the_mouse(bar.tabToolTip(position), text)):
                yield f"tab {text!r} needs {_wide(bar, text):.0f} px, has {room}"


def _head(head: QHeaderView) -> Iterator[str]:
    if head.orientation() != Qt.Orientation.Horizontal or head.model() is None:
        return
    room = head.viewport().width()
    for number in range(head.count()):
        start = head.sectionViewportPosition(number)
        text = str(head.model().headerData(number, Qt.Orientation.Horizontal) or "")
        wide = min(start + head.sectionSize(number), room) - max(start, 0) - 2 * 6
        if head.isSectionHidden(number) or wide <= 0 or not text:
            continue
        if _wide(head, text) > wide + _SLACK_PX:
            role = Qt.ItemDataRole.ToolTipRole
            output = str(
                head.model().headerData(number, Qt.Orientation.Horizontal, role) or ""
            )
            if not (isinstance(head, Heads) and _under_the_mouse(output, text)):
                yield f"head {text!r} needs {_wide(head, text):.0f} px, has {wide}"


def _cells(table: QTableView) -> Iterator[str]:
    model = table.model()
    whole = table.viewport().rect()
    for row in range(max(table.rowAt(0), 0), model.rowCount()):
        if table.rowViewportPosition(row) > whole.bottom():
            return
        for column in range(model.columnCount()):
            index = model.index(row, column)
            text = str(index.data() or "")
            room = table.visualRect(index).intersected(whole).width() - _CELL_PX
            if not text or room <= 0 or _wide(table, text) <= room + _SLACK_PX:
                continue
            output = str(index.data(Qt.ItemDataRole.ToolTipRole) or "")
            if not (
                isinstance(table.itemDelegate(), TableCells)
                and _under_the_mouse(output, text)
            ):
                yield f"cell {text!r} needs {_wide(table, text):.0f} px, has {room}"


def _items(items: QListWidget) -> Iterator[str]:
    for row in range(items.count()):
        item = items.item(row)
        room = items.viewport().width()
        wide = items.sizeHintForIndex(items.indexFromItem(item)).width()
        if wide > room + _SLACK_PX and not _under_the_mouse(
            item.toolTip(), item.text()
        ):
            yield f"item {item.text()!r} needs {wide} px, has {room}"


def _combo(box: QComboBox) -> Iterator[str]:
    option = QStyleOptionComboBox()
    box.initStyleOption(option)
    field = QStyle.SubControl.SC_ComboBoxEditField
    kind = QStyle.ComplexControl.CC_ComboBox
    room = box.style().subControlRect(kind, option, field, box).width()
    text = box.currentText()
    if _wide(box, text) > room + _SLACK_PX and not _under_the_mouse(
        box.toolTip(), text
    ):
        yield f"{text!r} needs {_wide(box, text):.0f} px, has {room}"


def _line(field: QLineEdit) -> Iterator[str]:
    """Look at a text or a placeholder: a text that a person types may be longer than
    its field, if it stands under the mouse.
    """
    option = QStyleOptionFrame()
    field.initStyleOption(option)
    part = QStyle.SubElement.SE_LineEditContents
    contents = field.style().subElementRect(part, option, field)
    room = contents.marginsRemoved(field.textMargins()).width() - _CARET_PX
    text = field.displayText() or field.placeholderText()
    if _wide(field, text) > room + _SLACK_PX and not _under_the_mouse(
        field.toolTip(), text
    ):
        yield f"{text!r} needs {_wide(field, text):.0f} px, has {room}"


def _plot(view: Any) -> Iterator[str]:
    """Look at the texts of a plot: those of ticks, axes, titles, legends and lines."""
    seen = QRectF(view.viewport().rect()).adjusted(-2, -2, 2, 2)
    for item in view.scene().items():
        if not item.isVisible():
            continue
        if isinstance(item, pyqtgraph.AxisItem):
            texts = _ticks(item)
        elif isinstance(item, QGraphicsTextItem):
            margin = item.document().documentMargin()
            box = item.boundingRect().adjusted(margin, margin, -margin, -margin)
            texts = [(box, item.toPlainText())]
        else:
            continue
        for box, text in texts:
            position = view.mapFromScene(item.mapToScene(box)).boundingRect()
            if text and not seen.contains(QRectF(position)):
                yield f"plotted {text!r} at {position.getRect()}"


def _ticks(axis: Any) -> list[tuple[QRectF, str]]:
    """Return the texts of an axis's ticks in its own place."""
    recorded = QPicture()
    with QPainter(recorded) as painter:
        specs = axis.generateDrawSpecs(painter)
    if specs is None:
        return []
    metrics = QFontMetricsF(axis.style["tickFont"] or axis.font())
    result = []
    for box, flags, text in specs[2]:
        wide = metrics.boundingRect(box, int(flags), text)
        result.append((wide, text))
    return result


def _painted(widget: QWidget) -> list[str]:
    """Return the texts that a widget paints where they have no place."""
    result: list[str] = []
    draw = QPainter.drawText

    def noted(painter: QPainter, *words: Any) -> Any:
        text = next(word for word in words if isinstance(word, str))
        metrics = QFontMetricsF(painter.font())
        lines = text.split("\n")
        wide = max(metrics.horizontalAdvance(line) for line in lines)
        tall = metrics.height() * len(lines)
        if isinstance(words[0], (QRectF, QRect)):
            box = QRectF(words[0])
            if int(words[1]) & int(Qt.TextFlag.TextWordWrap):
                wanted = metrics.boundingRect(box, int(words[1]), text)
                wide, tall = wanted.width(), wanted.height()
            if wide > box.width() + _SLACK_PX:
                result.append(
                    f"painted {text!r} needs {wide:.0f} px, has {box.width():.0f}"
                )
            box = box.intersected(
                QRectF(box.center() - QPointF(wide, tall) / 2, QSizeF(wide, tall))
            )
        else:
            box = QRectF(
                QPointF(words[0]) - QPointF(0, metrics.ascent()), QSizeF(wide, tall)
            )
        device = painter.device()
        seen = painter.worldTransform().mapRect(box)
        if (
            not QRectF(0, 0, device.width(), device.height())
            .adjusted(-2, -2, 2, 2)
            .contains(seen)
        ):
            result.append(
                f"painted {text!r} at {seen.left():.0f} to {seen.right():.0f} px"
            )
        return draw(painter, *words)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(QPainter, "drawText", noted)
        widget.grab()
    return result


def _wide(widget: QWidget, text: str) -> float:
    return QFontMetricsF(widget.font()).horizontalAdvance(text)


def _under_the_mouse(tip: str, text: str) -> bool:
    return text in html.unescape(tip).replace("<br>", "\n")


def _seen(widget: QWidget) -> QRect:
    """Return the part of a widget that its parents do not cut; parts scrolled away
    vertically count as visible.
    """
    seen = widget.rect()
    inner: QWidget = widget
    while (outer := inner.parentWidget()) is not None and not inner.isWindow():
        seen.translate(inner.pos())
        room = outer.rect()
        area = outer.parentWidget()
        if isinstance(area, QAbstractScrollArea) and area.viewport() is outer:
            room.setTop(min(seen.top(), room.top()))
            room.setBottom(max(seen.bottom(), room.bottom()))
        seen = seen.intersected(room)
        inner = outer
    seen.moveTopLeft(widget.mapFrom(inner, seen.topLeft()))
    return seen


def _name(widget: QWidget) -> str:
    names: list[str] = []
    position: QWidget | None = widget
    while position is not None and len(names) < 3:
        if position.objectName():
            names.append(position.objectName())
        position = position.parentWidget()
    return f"{type(widget).__name__} {' in '.join(names)}"
