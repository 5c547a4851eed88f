# SPDX-License-Identifier: Apache-2.0
"""The widths of texts that a page's picture counts on, beside those of a font."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QFont, QFontDatabase, QFontMetricsF
from pytestqt.qtbot import QtBot

from rig.bench.diagrams.page import drawn
from rig.bench.diagrams.svg import text_width
from rig.firmware import project
from rig.firmware.monitors import MONITORS
from tests.conftest import ROOT


def test_no_text_is_wider_in_dejavu_sans_than_the_layout_of_a_page_takes_it(
    qtbot: QtBot,
) -> None:
    if "DejaVu Sans" not in QFontDatabase.families():
        pytest.skip("DejaVu Sans is missing (Debian: apt-get install fonts-dejavu)")
    font = QFont("DejaVu Sans")
    font.setPixelSize(12)
    plain = QFontMetricsF(font)
    font.setBold(True)
    bold = QFontMetricsF(font)
    for name, board in project.boards(ROOT / "firmware").items():
        if board.wiring is None:
            continue
        for monitor in MONITORS:
            made = drawn(name, board, board.wiring, monitor)
            for wire in made.wires:
                for pin in (wire.connection.start, wire.connection.end):
                    assert plain.horizontalAdvance(pin.name) <= text_width(pin.name)
            for part in made.parts:
                assert bold.horizontalAdvance(part.title) <= 1.15 * text_width(
                    part.title
                )
                assert plain.horizontalAdvance(part.subtitle) <= text_width(
                    part.subtitle
                )
