# SPDX-License-Identifier: Apache-2.0
"""No text of the window is cut: every page in two sizes, in light and dark, and at
scale 2."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyqtgraph
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QComboBox,
    QGroupBox,
    QLabel,
    QLineEdit,
    QListWidget,
    QPushButton,
    QScrollArea,
    QSpinBox,
    QStyledItemDelegate,
    QTabBar,
    QToolButton,
    QWidget,
)

from gui.theme import THEMES
from gui.widgets.table import DataTable, TableColumn
from gui.widgets.text import PlainLabel, ShortenedLabel
from tests.conftest import ROOT
from tests.gui.clipping import clipped
from tests.gui.pages import look
from tests.programs import captured

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

LONG = "a text that is longer than its place"
#: So many texts there are at least in two sizes on all pages.
MANY = 1500


@pytest.fixture
def sessions(drifting_session: Path, tmp_path: Path) -> Path:
    """Two finished demonstrations in a folder of their own; the first of them."""
    root = tmp_path / "sessions"
    for name in ("20260101T000000Z-virtual-drift", drifting_session.name):
        shutil.copytree(drifting_session, root / name)
    return root / drifting_session.name


def test_no_text_is_cut_on_any_page(
    qtbot: QtBot, sessions: Path, tmp_path: Path
) -> None:
    faults, texts = look(sessions, tmp_path / "gui.json", list(THEMES))
    assert not faults, "\n".join(faults)
    assert texts > MANY


def test_no_text_is_cut_at_scale_2(sessions: Path, tmp_path: Path) -> None:
    words = [
        sys.executable,
        "-m",
        "tests.gui.pages",
        str(sessions),
        str(tmp_path / "gui.json"),
    ]
    done = captured(
        [*words, "dark"],
        cwd=ROOT,
        env=os.environ | {"QT_SCALE_FACTOR": "2", "QT_QPA_PLATFORM": "offscreen"},
        timeout=280,
    )
    assert done.returncode == 0, done.stderr
    *faults, last = done.stdout.splitlines()
    assert not faults, "\n".join(faults)
    texts, _, scale = last.partition(" texts at scale ")
    assert int(texts) > MANY and scale == "2"


class Painted(QWidget):
    """Paints a text into a box, which its name says."""

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        painter = QPainter(self)
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, LONG)


Painted.__module__ = "gui.painted"


def labelled(kind: type[QLabel], *, wrap: bool = False) -> QLabel:
    label = kind()
    label.setText(LONG)
    label.setWordWrap(wrap)
    return label


def tabs() -> QTabBar:
    bar = QTabBar()
    bar.setUsesScrollButtons(False)
    bar.setElideMode(Qt.TextElideMode.ElideRight)
    bar.addTab(LONG)
    return bar


def combo() -> QComboBox:
    box = QComboBox()
    box.addItem(LONG)
    return box


def listed() -> QListWidget:
    items = QListWidget()
    items.addItem(LONG)
    return items


def spin() -> QSpinBox:
    box = QSpinBox()
    box.setSpecialValueText(LONG)
    return box


def line() -> QLineEdit:
    return QLineEdit(LONG)


def hint() -> QLineEdit:
    field = QLineEdit()
    field.setPlaceholderText(LONG)
    return field


def plot() -> QWidget:
    made = pyqtgraph.PlotWidget()
    made.setLabel("bottom", LONG)
    made.getPlotItem().layout.setContentsMargins(1, 9, 20, 1)
    return made


def scrolled() -> QScrollArea:
    area = QScrollArea()
    area.setWidget(labelled(PlainLabel))
    return area


def tool() -> QToolButton:
    button = QToolButton()
    button.setText(LONG)
    return button


@pytest.mark.parametrize(
    "make",
    [
        lambda: labelled(PlainLabel),
        lambda: labelled(PlainLabel, wrap=True),
        lambda: QPushButton(LONG),
        tool,
        tabs,
        combo,
        listed,
        spin,
        line,
        hint,
        plot,
        scrolled,
        lambda: QGroupBox(LONG),
        Painted,
    ],
)
def test_a_text_in_too_small_a_place_is_found(
    qtbot: QtBot, make: type[QWidget]
) -> None:
    top = QWidget()
    qtbot.addWidget(top)
    widget = make()
    widget.setParent(top)
    top.resize(900, 300)
    top.show()
    widget.resize(600, 120)
    assert clipped(top) == []
    widget.setFixedSize(70, 26)
    qtbot.wait(1)
    assert clipped(top), "it is too small"
    assert LONG in clipped(top)[0]


def test_the_numbers_of_an_axis_in_too_small_a_place_are_found(qtbot: QtBot) -> None:
    top = QWidget()
    qtbot.addWidget(top)
    made = pyqtgraph.PlotWidget()
    made.setParent(top)
    top.resize(900, 300)
    top.show()
    made.resize(600, 200)
    qtbot.wait(1)
    assert any("plotted '1.0'" in fault for fault in clipped(top)), "at the upper edge"
    made.getPlotItem().layout.setContentsMargins(1, 9, 20, 1)
    qtbot.wait(1)
    assert clipped(top) == []


def test_a_text_outside_of_its_parent_is_found(qtbot: QtBot) -> None:
    top = QWidget()
    qtbot.addWidget(top)
    label = labelled(PlainLabel)
    label.setParent(top)
    top.resize(300, 100)
    label.setGeometry(250, 0, 280, 20)
    top.show()
    assert clipped(top)
    label.move(0, 0)
    assert clipped(top) == []


def test_an_ellipsis_needs_the_whole_text_under_the_mouse(qtbot: QtBot) -> None:
    label = ShortenedLabel()
    qtbot.addWidget(label)
    top = QWidget()
    qtbot.addWidget(top)
    label.setParent(top)
    label.setText(LONG)
    label.setFixedSize(60, 20)
    top.resize(200, 100)
    top.show()
    assert clipped(top) == []
    whole = label.grab().toImage()
    label.setToolTip("")
    assert clipped(top)
    label.setText(LONG[:6] + "z" * 40)
    assert label.grab().toImage() != whole, "what is seen is the beginning of the text"


def test_cells_and_heads_that_are_cut_are_shortened(qtbot: QtBot) -> None:
    top = QWidget()
    qtbot.addWidget(top)
    columns = [
        TableColumn(LONG, lambda row: row),
        TableColumn("b", lambda row: LONG),
        TableColumn("c", str),
    ]
    table = DataTable(columns, "made")
    table.setParent(top)
    top.resize(900, 200)
    table.setFixedSize(300, 120)
    table.set_rows([LONG])
    top.show()
    assert clipped(top) == []
    assert table.columnWidth(1) < table.fontMetrics().horizontalAdvance(LONG)
    table.setItemDelegate(QStyledItemDelegate(table))
    assert any("cell" in fault for fault in clipped(top)), (
        "it is cut at the edge of the table"
    )
