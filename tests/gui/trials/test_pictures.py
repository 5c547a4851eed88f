# SPDX-License-Identifier: Apache-2.0
"""Pictures of a session's trials in the window: drawn, zoomed, saved, in both
themes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap, to_hex
from matplotlib.figure import Figure
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QFileDialog, QMessageBox, QToolButton

from rig.model.picture import Picture
from rig.report.style import BAD, GOOD, SERIES, label

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from gui.trials.pictures import PictureView


def curves() -> Picture:
    figure = Figure(layout="constrained")
    axes = figure.subplots()
    axes.axhspan(0, 5, color=GOOD, alpha=0.1, lw=0)
    axes.plot(
        [0.001, 0.01, 1.0], [50, 5, 0], "o-", color=SERIES[0], label="<b>seed 0</b>"
    )
    axes.scatter([0.1, 0.2], [20, 30], color=SERIES[1])
    axes.set_xscale("log")
    axes.set(xlabel="time (s)", ylabel="gap (%)")
    axes.legend()
    return Picture("gaps", "Gaps", figure, "What is drawn.")


def heat() -> Picture:
    """Four cells of gaps in percent, as the report has them: -1.2 and -3 are pale."""
    figure = Figure(layout="constrained")
    axes = figure.subplots()
    colours = LinearSegmentedColormap.from_list("gap", [GOOD, "#ffffff", BAD])
    gaps = np.array([[-1.2, -3.0], [0.0, 12.0]])
    axes.imshow(gaps, cmap=colours, vmin=-15, vmax=15, alpha=0.8, aspect="auto")
    axes.text(0, 0, "-1.2", color="#1a1a1c")
    return Picture("gaps", "Gaps", figure, "What is drawn.")


def shown(qtbot: QtBot, picture: Picture, theme: str = "light") -> PictureView:
    from gui.theme import Themes
    from gui.trials.pictures import PictureView

    Themes(theme)
    view = PictureView(picture, "a-session-gaps")
    qtbot.addWidget(view)
    view.resize(800, 500)
    view.show()
    qtbot.waitUntil(lambda: view.canvas is None or hasattr(view.canvas, "renderer"))
    return view


def at_cell(view: PictureView, column: int, row: int) -> QColor:
    """Return the colour of the corner of a cell, as the window shows it."""
    canvas = view.canvas
    assert canvas is not None
    x, y = canvas.figure.axes[0].transData.transform((column + 0.4, row + 0.4))
    ratio = canvas.devicePixelRatioF()
    image = view.canvas.grab().toImage()
    return image.pixelColor(round(x), round(canvas.height() * ratio - y))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_heat_map_has_the_colours_of_the_report(qtbot: QtBot, theme: str) -> None:
    of_report = heat().figure
    assert of_report is not None
    canvas = FigureCanvasAgg(of_report)
    canvas.draw()
    pixels = np.asarray(canvas.buffer_rgba())
    view = shown(qtbot, heat(), theme)
    strengths = []
    for column, row in ((0, 0), (1, 0), (0, 1), (1, 1)):
        x, y = of_report.axes[0].transData.transform((column + 0.4, row + 0.4))
        want = pixels[len(pixels) - round(y), round(x)]
        result = at_cell(view, column, row)
        assert [result.red(), result.green(), result.blue()] == pytest.approx(
            want[:3], abs=2
        )
        strengths.append(255 - result.red())
    assert 2 * strengths[0] < strengths[1] < 80, (
        "-1.2 % is paler than -3 %, and both are pale"
    )


def test_a_picture_is_zoomed_by_keys_and_tools_that_have_names(qtbot: QtBot) -> None:
    view = shown(qtbot, curves())
    canvas = view.canvas
    assert canvas is not None
    axes = canvas.figure.axes[0]
    whole = axes.get_xlim()
    assert canvas.accessibleName() == "Gaps: What is drawn."
    buttons = {
        button.objectName(): button for button in view.tools.findChildren(QToolButton)
    }
    names = {
        "picture-home",
        "picture-back",
        "picture-pan",
        "picture-zoom",
        "picture-save",
    }
    assert names <= set(buttons)
    assert all(buttons[name].accessibleName() for name in names)
    buttons["picture-zoom"].click()
    middle = canvas.rect().center()
    qtbot.mousePress(canvas, Qt.MouseButton.LeftButton, pos=middle)
    qtbot.mouseMove(canvas, pos=middle * 1.2)
    qtbot.mouseRelease(canvas, Qt.MouseButton.LeftButton, pos=middle * 1.2)
    assert axes.get_xlim() != whole
    qtbot.keyClick(canvas, Qt.Key.Key_A)
    assert axes.get_xlim() == pytest.approx(whole)


def test_a_picture_takes_the_theme_and_comes_back(qtbot: QtBot) -> None:
    from gui.theme import DARK, LIGHT, Themes

    view = shown(qtbot, curves())
    canvas = view.canvas
    assert canvas is not None
    axes = canvas.figure.axes[0]
    for theme in (DARK, LIGHT):
        Themes(theme.name)
        view.recolour()
        view.canvas.draw()
        assert to_hex(axes.lines[0].get_color()) == theme.phases[0]
        assert to_hex(axes.collections[0].get_facecolor()[0]) == theme.phases[1]
        assert to_hex(axes.patch.get_facecolor()) == theme.base
        (band,) = axes.patches
        assert to_hex(band.get_facecolor()) == theme.ok
        assert band.get_facecolor()[3] == pytest.approx(0.1)
        axes.set_xlim(1e-6, 1e3)
        canvas.draw()
        assert {to_hex(text.get_color()) for text in axes.get_xticklabels()} == {
            theme.text
        }


def test_a_picture_is_drawn_once_its_size_rests(qtbot: QtBot) -> None:
    view = shown(qtbot, curves())
    canvas = view.canvas
    assert canvas is not None
    qtbot.waitUntil(lambda: not canvas._resting.isActive())
    drawn: list[object] = []
    canvas.mpl_connect("draw_event", drawn.append)
    before = tuple(canvas.figure.get_size_inches())
    for wide in range(810, 960, 10):
        view.resize(wide, 520)
        assert not canvas.grab().isNull()
    assert tuple(canvas.figure.get_size_inches()) == before
    assert not drawn
    qtbot.waitUntil(lambda: tuple(canvas.figure.get_size_inches()) != before)
    qtbot.waitUntil(lambda: bool(drawn))
    assert canvas.buffer_rgba().shape[1] == round(
        canvas.width() * canvas.devicePixelRatioF()
    )


@pytest.mark.parametrize("form", ["svg", "pdf", "png"])
def test_a_file_has_session_and_labels_and_is_sharp(
    qtbot: QtBot, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    picture = curves()
    assert picture.figure is not None
    label(picture.figure, "SIMULATED", "20261124-asc")
    view = shown(qtbot, picture)
    offered: list[str] = []

    def chosen(_: object, __: str, start: str, *___: object) -> tuple[str, str]:
        offered.append(Path(start).name)
        return str(tmp_path / f"picture.{form}"), ""

    monkeypatch.setattr(QFileDialog, "getSaveFileName", chosen)
    view.tools.save_figure()
    assert offered == ["a-session-gaps.svg"]
    content = (tmp_path / f"picture.{form}").read_bytes()
    if form == "png":
        wide = int.from_bytes(content[16:20], "big")
        assert view.canvas is not None and wide >= 2 * view.canvas.width()
    elif form == "svg":
        text = content.decode()
        assert "SIMULATED" in text and "20261124-asc" in text and "time (s)" in text
        assert "<image" not in text
    else:
        assert content.startswith(b"%PDF")


def test_a_file_that_cannot_be_written_is_reported(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = shown(qtbot, curves())
    path = tmp_path / "nowhere" / "picture.svg"
    output: list[str] = []
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))
    monkeypatch.setattr(
        QMessageBox, "critical", lambda *words: output.append(str(words[2]))
    )
    view.tools.save_figure()
    assert "nowhere" in output[0]


def test_a_picture_that_was_not_drawn_says_why(qtbot: QtBot) -> None:
    view = shown(qtbot, Picture("none", "None", None, "Not drawn: no search."))
    assert view.caption.text() == "Not drawn: no search."
    assert view.canvas is None
