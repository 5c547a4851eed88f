# SPDX-License-Identifier: Apache-2.0
"""Pictures of a scenario in the window."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from matplotlib.figure import Figure
from PySide6.QtCore import Qt

from rig.api.drawing.pictures import drawing
from rig.model.picture import Picture
from rig.report.style import GOOD, SERIES

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot


def made() -> Picture:
    figure = Figure(layout="constrained")
    axes = figure.subplots()
    axes.axhspan(0, 5, color=GOOD, alpha=0.1, lw=0)
    axes.plot([0.001, 0.01, 1.0], [50, 5, 0], "o-", color=SERIES[0], label="<b>seed 0</b>")
    axes.set_xscale("log")
    axes.set(xlabel="time (s)", ylabel="gap (%)")
    axes.legend()
    return Picture("gaps", "Gaps", figure, "What is drawn.")


def test_a_picture_is_drawn_zoomed_and_read(qtbot: QtBot) -> None:
    from gui.theme import DARK, LIGHT
    from gui.trials.pictures import PictureView, told

    view = PictureView(drawing(made()), LIGHT)
    qtbot.addWidget(view)
    view.resize(800, 500)
    view.show()
    plot = view._plots[0]
    whole = plot.viewRange()
    plot.setXRange(-2.0, -1.0, padding=0)
    assert plot.viewRange()[0] != whole[0]
    qtbot.keyClick(view, Qt.Key.Key_A)
    assert plot.viewRange()[0] == pytest.approx(whole[0])
    panel = view.drawing.panels[0]
    assert "gap (%) 5" in told(panel, -2.0, 6.0)
    assert "&lt;b&gt;seed 0" in view._legend.text(), "a label is no markup"
    view.set_theme(DARK)
    assert not view.grab().isNull()


def test_a_picture_that_was_not_drawn_says_why(qtbot: QtBot) -> None:
    from gui.theme import LIGHT
    from gui.trials.pictures import PictureView

    view = PictureView(drawing(Picture("none", "None", None, "Not drawn: no search.")), LIGHT)
    qtbot.addWidget(view)
    view.show()
    assert view._caption.text() == "Not drawn: no search."
    assert not view._layout.isVisible()
