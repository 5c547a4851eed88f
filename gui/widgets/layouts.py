# SPDX-License-Identifier: Apache-2.0
"""Rows and columns of widgets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QBoxLayout,
    QHBoxLayout,
    QLayout,
    QSizePolicy,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

Part = QWidget | QLayout
#: A widget or a layout, by itself or with its share of the room; pixels; or STRETCH.
Item = Part | tuple[Part, int] | int | None
Box = TypeVar("Box", bound=QBoxLayout)

#: Margins in pixels: left, top, right, bottom.
Margins = tuple[int, int, int, int]
NO_MARGINS = (0, 0, 0, 0)
PAGE = (24, 20, 24, 16)
#: Of a page that needs all of the room.
DENSE = (12, 10, 12, 8)
CARD = (16, 12, 16, 12)
TAB = (0, 6, 6, 0)
#: Sizes of a widget with the height of its content: as wide as may be, or as there is
#: room for.
LOW = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
SHRINKING = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
#: Room that takes the rest of the items.
STRETCH = None


def in_row(
    items: Sequence[Item],
    on: QWidget | None = None,
    margins: Margins = NO_MARGINS,
    spacing: int | None = None,
) -> QHBoxLayout:
    """Put items beside each other, on a widget or for another layout; the spacing is
    that of the style where none is given.
    """
    return _filled(QHBoxLayout(), items, on, margins, spacing)


def in_column(
    items: Sequence[Item],
    on: QWidget | None = None,
    margins: Margins = NO_MARGINS,
    spacing: int | None = None,
) -> QVBoxLayout:
    """Put items below each other, as `in_row` does beside each other."""
    return _filled(QVBoxLayout(), items, on, margins, spacing)


def split(
    parts: Sequence[QWidget],
    sizes: Sequence[int],
    *,
    name: str = "",
    down: bool = False,
    shares: Sequence[int] = (),
) -> QSplitter:
    """Put widgets beside or below each other, with borders that can be moved; the
    window remembers the sizes of one with a name. `shares` are of what the window
    grows by.
    """
    orientation = Qt.Orientation.Vertical if down else Qt.Orientation.Horizontal
    splitter = QSplitter(orientation)
    splitter.setObjectName(name)
    for part in parts:
        splitter.addWidget(part)
    for number, share in enumerate(shares):
        splitter.setStretchFactor(number, share)
    splitter.setSizes(list(sizes))
    return splitter


def _filled(
    box: Box,
    items: Sequence[Item],
    on: QWidget | None,
    margins: Margins,
    spacing: int | None,
) -> Box:
    if on is not None:
        on.setLayout(box)
    box.setContentsMargins(*margins)
    if spacing is not None:
        box.setSpacing(spacing)
    for item in items:
        part, share = item if isinstance(item, tuple) else (item, 0)
        if part is None:
            box.addStretch(1)
        elif isinstance(part, int):
            box.addSpacing(part)
        elif isinstance(part, QLayout):
            box.addLayout(part, share)
        else:
            box.addWidget(part, share)
    return box
