# SPDX-License-Identifier: Apache-2.0
"""Texts of devices, instruments and files are shown in the window as they are: no
markup, and no change of the direction of writing.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QTextDocument
from PySide6.QtWidgets import QLabel, QWidget

from gui.trace.views.plain_plot import PlainPlot
from gui.widgets.text import PlainLabel, no_markup, tip
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from gui.window import MainWindow

NASTY = '<b>bold</b><img src="x"> & \x1b[2J\u202egnp'
SHOWN = '<b>bold</b><img src="x"> & \ufffd[2J\ufffdgnp'
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")


def spoilt(value: object) -> object:
    """Return JSON with the hostile text after every string that is a text for people."""
    match value:
        case dict():
            return {key: spoilt(each) for key, each in value.items()}
        case list():
            return [spoilt(each) for each in value]
        case str() if not re.fullmatch(r"[\w.:+/-]*", value):
            return value + NASTY
    return value


@pytest.fixture
def hostile(virtual_session: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "sessions" / f"s {NASTY.replace('/', '|')}"
    shutil.copytree(virtual_session, folder)
    for name in ("results.json", "provenance.json"):
        path = folder / name
        path.write_text(
            json.dumps(spoilt(json.loads(path.read_text()))), encoding="utf-8"
        )
    return folder


@pytest.mark.parametrize("page", ["sessions", "trials", "trace"])
def test_no_label_of_a_strangers_session_is_markup(
    window: MainWindow, hostile: Path, page: str, qtbot: QtBot
) -> None:
    window.shell.memory.set("sessions", str(hostile.parent))
    window.open_path(hostile)
    window.go(page)
    qtbot.waitUntil(lambda: any("gnp" in label.text() for label in labels_of(window)))
    for label in labels_of(window):
        # Qt makes labels of its own, for words of ours.
        assert (
            label.textFormat() == Qt.TextFormat.PlainText or "<b>" not in label.text()
        )
        assert not UNSEEN.search(label.text()), label.text()
    for widget in window.findChildren(QWidget):
        assert not UNSEEN.search(widget.toolTip()) and "<b>bold" not in widget.toolTip()


def labels_of(window: MainWindow) -> list[QLabel]:
    return [label for label in window.findChildren(QLabel) if label.text()]


@pytest.mark.usefixtures("qtbot")
def test_labels_tips_and_names_in_plots_show_what_was_given() -> None:
    label = PlainLabel(NASTY)
    assert (label.text(), label.textFormat()) == (SHOWN, Qt.TextFormat.PlainText)
    for rich in (tip(NASTY), no_markup(NASTY)):
        document = QTextDocument()
        document.setHtml(rich)
        assert document.toPlainText() == SHOWN
    plot = PlainPlot("plot", "a plot")
    plot.label(NASTY, "s", NASTY, "A")
    assert "<b>" not in plot._plot.getAxis("left").labelString()


def test_no_other_label_is_made() -> None:
    made = {
        path.relative_to(ROOT).as_posix(): len(result)
        for path in (ROOT / "gui").rglob("*.py")
        if (
            result := re.findall(
                r"\bQLabel\(\)|\bQLabel\([^Q)]", path.read_text("utf-8")
            )
        )
    }
    assert made == {}, "gui.widgets.text.PlainLabel shows text as it is"
