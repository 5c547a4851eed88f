# SPDX-License-Identifier: Apache-2.0
"""A search of the settings covers all parts of the bench."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QLabel, QLineEdit, QListWidget, QWidget

from gui.bench.form_view import FieldRow, FormView
from rig.bench.editing import BenchText
from rig.bench.forms import form_of
from tests.conftest import VIRTUAL_NULL

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot


def test_a_search_covers_all_parts(qtbot: QtBot) -> None:
    view = FormView()
    qtbot.addWidget(view)
    view.show()
    view.set_form(form_of(BenchText(VIRTUAL_NULL.read_text("utf-8")), None))
    parts = view.findChild(QListWidget, "form-parts")
    find = view.findChild(QLineEdit, "form-find")
    none = view.findChild(QLabel, "form-none")
    assert parts.currentItem().text() == "Bench"

    def shown() -> set[str]:
        rows = view.findChild(QWidget, "form-fields").findChildren(FieldRow)
        return {row.field.path for row in rows if row.isVisible()}

    def offered() -> list[str]:
        items = [parts.item(row) for row in range(parts.count())]
        return [item.text() for item in items if not item.isHidden()]

    qtbot.keyClicks(find, "sample_hz")
    assert parts.currentItem().text() == "Energy monitor", (
        "the part that has it is shown"
    )
    assert shown() == {"monitor.virtual.sample_hz"}
    assert offered() == ["Energy monitor"]
    find.clear()
    assert len(offered()) == parts.count() == 5
    qtbot.keyClicks(find, "seed")
    assert "Bench" in offered() and len(offered()) < 5
    for row in range(parts.count()):
        if not parts.item(row).isHidden():
            parts.setCurrentRow(row)
            assert shown(), "every part that stays has what was looked for"
    assert none.isHidden()
    qtbot.keyClicks(find, " no such words")
    assert none.isVisible() and offered() == [] and shown() == set()
