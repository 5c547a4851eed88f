# SPDX-License-Identifier: Apache-2.0
"""Pictures as plain data: what matplotlib draws, at the same places and in the same words."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Patch

import rig
from rig.api.drawing.drawn import Drawing
from rig.api.drawing.pictures import drawing, drawings, merged, nearest
from rig.model.picture import Picture
from rig.report.style import BAD, GOOD, INK, SERIES


def of(figure: Figure) -> Drawing:
    return drawing(Picture("made", "Made", figure, "By hand."))


def test_curves_lie_where_a_logarithmic_scale_puts_them() -> None:
    figure = Figure()
    axes = figure.subplots()
    axes.set_xscale("log")
    axes.set_yscale("symlog", linthresh=1.0)
    axes.plot([1e-3, 1.0, 100.0], [0.0, 1.0, 10.0], "--", color=SERIES[1], marker="D", mfc="none")
    panel = of(figure).panels[0]
    (curve,) = panel.curves
    assert list(curve.x) == pytest.approx([-3.0, 0.0, 2.0])
    assert curve.y[0] == 0.0
    assert curve.y[2] - curve.y[1] == pytest.approx(1.0, abs=0.01), "a decade"
    assert curve.dash == "dash"
    assert curve.marker == "D"
    assert curve.marker_fill is None
    assert curve.line is not None and curve.line.role == "c1"
    assert panel.x.told(2.0) == "100"
    ticks = panel.x.ticks(-3.0, 2.0)
    assert [place for place, _ in ticks] == pytest.approx([-3, -2, -1, 0, 1, 2])
    assert panel.x.ticks(-1.5, 0.5) != ticks, "another part of the axis has ticks of its own"


def test_steps_are_steps() -> None:
    figure = Figure()
    figure.subplots().plot([0, 1, 2], [5, 3, 1], drawstyle="steps-post")
    (curve,) = of(figure).panels[0].curves
    assert list(curve.x) == [0, 1, 1, 2, 2]
    assert list(curve.y) == [5, 5, 3, 3, 1]


def test_lines_and_bands_through_the_whole_panel_reach_its_edges() -> None:
    figure = Figure()
    axes = figure.subplots()
    axes.plot([0, 10], [0, 10])
    axes.axhline(4, color=INK, ls=":")
    axes.axvline(3, color=BAD)
    axes.axhspan(1, 2, color=GOOD, alpha=0.25, lw=0)
    panel = of(figure).panels[0]
    across, up = panel.levels
    assert (across.at, across.across, across.dash, across.colour.role) == (4, True, "dot", "ink")
    assert (up.at, up.across, up.colour.role) == (3, False, "bad")
    (band,) = panel.areas
    assert set(band.x) == {-math.inf, math.inf}
    assert set(band.y) == {1.0, 2.0}
    assert band.fill is not None and band.fill.opacity == 0.25


def test_a_bar_that_is_hatched_says_so() -> None:
    figure = Figure()
    (bar,) = figure.subplots().barh(0, 2.0, left=1.0, height=0.8, color=SERIES[0])
    bar.set(hatch="////", edgecolor=BAD)
    (area,) = of(figure).panels[0].areas
    assert (min(area.x), max(area.x)) == (1.0, 3.0)
    assert area.hatched
    assert area.edge is not None and area.edge.role == "bad"


def test_the_rows_of_an_image_lie_where_its_axis_has_them() -> None:
    figure = Figure()
    axes = figure.subplots()
    axes.imshow(np.array([[0.0, 1.0], [np.nan, 0.5]]), cmap="gray", vmin=0, vmax=1)
    axes.set(yticks=[0, 1], yticklabels=["100", "250"])
    panel = of(figure).panels[0]
    (cells,) = panel.cells
    assert panel.y.inverted, "the first row is on top"
    assert (cells.low, cells.high) == (-0.5, 1.5)
    assert cells.rgba[0, 1, 0] == 255
    assert cells.rgba[1, 0, 3] == 0, "what is not known is clear"
    assert panel.y.ticks(panel.y.low, panel.y.high) == [(0.0, "100"), (1.0, "250")]


def test_panels_keep_their_grid_their_axes_and_their_legend() -> None:
    figure = Figure()
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=[1, 3])
    top.set_title("top")
    bottom.plot([1, 2], [3, 4])
    figure.supxlabel("time")
    figure.legend(handles=[Patch(color=SERIES[2], label="bus")])
    made = of(figure)
    first, second = made.panels
    assert (first.row, second.row) == (0, 1)
    assert second.height == 3 * first.height
    assert first.shares_x and not first.shares_y
    assert not first.x.numbered and second.x.numbered
    assert second.x.label == "time" and first.x.label == ""
    ((text, colour),) = made.legend
    assert (text, colour.role) == ("bus", "c2")


def test_artists_that_are_not_known_make_an_image() -> None:
    figure = Figure()
    axes = figure.subplots()
    axes.quiver([0, 1], [0, 1], [1, 1], [0, 1])
    made = of(figure)
    assert made.panels == ()
    assert made.image.startswith(b"\x89PNG")


def test_the_nearest_point_is_by_shares_of_the_panel() -> None:
    figure = Figure()
    axes = figure.subplots()
    axes.plot([0.0, 1.0], [0.0, 1e6], "o")
    panel = of(figure).panels[0]
    assert nearest(panel, 0.1, 2e5) == (0.0, 0.0)
    assert nearest(panel, 0.9, 7e5) == (1.0, 1e6)


def test_curves_of_one_look_are_one_with_gaps_between() -> None:
    figure = Figure()
    axes = figure.subplots()
    for start in (0, 10):
        axes.plot([start, start + 1], [1, 2], color=SERIES[0])
    axes.plot([5, 6], [1, 2], color=SERIES[1])
    axes.plot([], [], "o", color=SERIES[2])
    first, second = merged(of(figure).panels[0].curves)
    assert np.array_equal(first.x, [0, 1, np.nan, 10, 11], equal_nan=True)
    assert list(second.x) == [5, 6]


def test_a_scenario_without_pictures_has_none(copied: Callable[[int], Path]) -> None:
    assert drawings(rig.open_session(copied(1))) == ()


def test_pictures_of_a_session_that_did_not_finish_are_a_sentence(tmp_path: Path) -> None:
    from rig.session.session import open_bench
    from tests.conftest import ROOT

    with open_bench(ROOT / "benches" / "virtual-offline.toml", ["task.asc.samples=4"]) as bench:
        folder = bench.run(1, tmp_path).folder
    (whole,) = drawings(rig.open_session(folder))
    assert whole.title == "Throughput"
    assert len(whole.panels) == 1
    (folder / "results.json").unlink()
    (cut,) = drawings(rig.Session(folder))
    assert cut.panels == ()
    assert "did not finish" in cut.caption
