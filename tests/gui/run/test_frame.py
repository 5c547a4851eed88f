# SPDX-License-Identifier: Apache-2.0
"""The live picture: it draws the measured values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from PySide6.QtGui import QColor, QImage

from gui.picture.band_layout import IDLE_COLOUR, UNKNOWN_COLOUR
from gui.run.frame import LiveFrame, empty_frame, spread
from gui.run.live_page import LivePage
from gui.run.live_view import LiveView, bands
from gui.run.phases import UNKNOWN, PhaseTrack
from gui.run.scale import Ceiling, round_up
from gui.theme import LIGHT, Themes
from rig.live.block import COLUMN_S, LiveBlock
from rig.live.recent import Recent
from rig.model.completion import END, IDLE, Completion, Mark

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot


def shown(
    qtbot: QtBot, frame: LiveFrame, theme: str = "light"
) -> tuple[LiveView, QImage]:
    Themes(theme)
    view = LiveView()
    qtbot.addWidget(view)
    view.resize(700, 300)
    view.set_phases(("preprocess", "infer"))
    view.show_frame(frame)
    return view, view.grab().toImage()


def rows_with(
    image: QImage, x: int, colour: str, top: float, bottom: float
) -> list[int]:
    """Return the rows of a column that are nearer to a colour than to white paper."""
    want = QColor(colour)

    def near(y: int) -> bool:
        result = image.pixelColor(x, y)
        parts = ((result.red(), want.red()), (result.green(), want.green()))
        return all(abs(item - other) < 0.6 * (255 - other) for item, other in parts)

    return [y for y in range(int(top), int(bottom)) if near(y)]


def test_no_spike_disappears_a_column_is_filled_from_its_least_to_its_most(
    qtbot: QtBot,
) -> None:
    columns = 600
    mean = np.full(columns, 2e-3)
    most = mean.copy()
    most[300] = 9e-3
    view, image = shown(qtbot, LiveFrame(0.0, 1.0, mean, mean, most))
    area = view._lanes.signals["power"]
    x = round(area.left() + area.width() * 300.5 / columns)
    beside = rows_with(image, x + 20, LIGHT.power, area.top() + 2, area.bottom() - 1)
    columns_near = [
        rows_with(image, each, LIGHT.power, area.top() + 2, area.bottom() - 1)
        for each in range(x - 2, x + 3)
    ]
    spike = max(columns_near, key=len)
    assert len(beside) <= 3
    # From 9 mW down to 2 mW of an axis that ends at 10 mW.
    assert len(spike) == pytest.approx(0.7 * area.height(), abs=4)
    assert spike == list(range(spike[0], spike[-1] + 1)), "without a hole"


@pytest.mark.parametrize("share", [0.13, 0.5, 0.74, 1.0, 2.0])
@pytest.mark.parametrize("columns", [50, 333, 924])
def test_no_dip_is_lost_however_much_of_the_span_is_there(
    share: float, columns: int
) -> None:
    span_s = 5.0
    recent = Recent(60.0)
    count = round(share * span_s / COLUMN_S)
    level = np.full(count, 0.04, dtype=np.float32)
    dips = np.arange(40, count, 126)
    least = level.copy()
    least[dips] = 0.012
    most = level.copy()
    most[dips[dips + 20 < count] + 20] = 0.09
    recent.add(
        LiveBlock(
            "",
            0.0,
            COLUMN_S,
            least,
            mean_w=level,
            most_w=most,
            falls_s=np.zeros(0),
            rises_s=np.zeros(0),
            lost=0,
        )
    )
    picture = recent.picture(span_s, columns, "")
    assert picture is not None
    low, mean, high = spread(picture, span_s, columns)
    assert len(mean) <= columns
    seen = np.isfinite(mean)
    assert mean[seen] == pytest.approx(0.04)
    # In the picture: those that are in its columns, each in one of pixels.
    shown = dips[dips * COLUMN_S >= picture.start_s]
    pixels = (shown * COLUMN_S - (picture.stop_s - span_s)) / span_s * len(mean)
    for pixel in pixels:
        near = low[max(int(pixel) - 1, 0) : int(pixel) + 2]
        assert np.nanmin(near) == pytest.approx(0.012), "a dip is gone"
    assert np.nanmax(high) == pytest.approx(0.09)
    if share < 1.0:
        assert np.isnan(mean[: int((1 - share) * len(mean)) - 2]).all()


def test_what_is_not_known_is_not_drawn() -> None:
    assert empty_frame(4, 1.0).empty
    assert empty_frame(4, 1.0).latest_w is None


@pytest.mark.parametrize("fell_before", [False, True])
def test_sync_is_low_from_a_fall_to_a_rise(qtbot: QtBot, fell_before: bool) -> None:
    power = np.full(100, 1e-3)
    falls_s, rises_s = ([1.0], []) if fell_before else ([12.5], [15.5])
    frame = LiveFrame(
        10.0,
        20.0,
        power,
        power,
        power,
        falls_s=np.array(falls_s),
        rises_s=np.array(rises_s),
    )
    view, image = shown(qtbot, frame)
    area = view._lanes.sync
    assert area is not None
    middle = area.center().y()
    for at_s, low in ((11.0, fell_before), (14.0, True), (18.0, fell_before)):
        x = round(area.left() + area.width() * (at_s - 10.0) / 10.0) + 5
        rows = rows_with(image, x, LIGHT.sync, area.top() + 2, area.bottom() - 2)
        assert rows and all((row > middle) is low for row in rows)


def marks(*phases: int) -> Completion:
    return Completion(tuple(Mark(phase, tick) for tick, phase in enumerate(phases)))


def named(track: PhaseTrack) -> list[str]:
    strip = track.strip()
    return [strip.name(number) for number in range(len(strip.starts_s))]


def test_the_marks_of_the_steps_name_what_lies_between_the_falls() -> None:
    track = PhaseTrack()
    track.begin(("preprocess", "infer"))
    track.saw([0.0, 1.0, 1.5, 2.0, 3.0])
    assert named(track) == [UNKNOWN] * 5
    track.done(marks(IDLE, END))
    track.done(marks(1, 2, END))
    assert named(track) == ["idle", "", "preprocess", "infer", ""]
    spans = bands(track.strip(), 4.0, ("preprocess", "infer"))
    assert spans.names == ("idle", "preprocess", "infer")
    assert spans.colour.tolist() == [IDLE_COLOUR, 0, 1]
    assert spans.start_s.tolist() == [0.0, 1.5, 2.0]
    assert spans.stop_s.tolist() == [1.0, 2.0, 3.0]
    track.saw([3.5])
    spans = bands(track.strip(), 4.0, ("preprocess", "infer"))
    assert (spans.names[-1], spans.colour[-1], spans.stop_s[-1]) == (
        UNKNOWN,
        UNKNOWN_COLOUR,
        4.0,
    )


def test_falls_of_another_trace_are_not_named_by_marks_of_this_one() -> None:
    track = PhaseTrack()
    track.begin(("infer",))
    track.saw([0.0, 1.0], trace=1)
    track.done(marks(1, END))
    assert named(track) == ["infer", ""]
    track.begin(("infer",))
    track.done(marks(IDLE, END))
    assert named(track) == [UNKNOWN, UNKNOWN], (
        "the next trial's marks, the last one's falls"
    )
    track.saw([0.1], trace=2)
    assert named(track) == ["idle"]


def test_a_long_trial_keeps_the_newest_edges_and_their_names() -> None:
    track = PhaseTrack()
    track.begin(("infer",))
    for number in range(30_000):
        track.saw([2.0 * number, 2.0 * number + 1.0])
        track.done(marks(1, END))
    strip = track.strip()
    assert len(strip.starts_s) < 5_000
    assert strip.name(0) in ("infer", "")
    assert [name for name in named(track) if name] == ["infer"] * (
        len(strip.starts_s) // 2
    )


def test_an_axis_grows_at_once_and_shrinks_slowly() -> None:
    ceiling = Ceiling()
    assert ceiling.fit(0.9) == 1.0
    assert ceiling.fit(1.2) == 1.5
    tops = [ceiling.fit(0.1, patience=10) for _ in range(10)]
    assert tops[:9] == [1.5] * 9
    assert tops[9] == pytest.approx(0.15)


@pytest.mark.parametrize(
    ("value", "top"), [(0.0, 1.0), (0.011, 0.015), (45e-3, 50e-3), (1.0, 1.0)]
)
def test_the_end_of_an_axis_is_round(value: float, top: float) -> None:
    assert round_up(value) == pytest.approx(top)


def test_the_names_of_the_phases_have_room_beside_the_live_picture(
    qtbot: QtBot,
) -> None:
    page = LivePage()
    qtbot.addWidget(page)
    page.legend.set_phases({0: "preprocess", 1: "infer"})
    page.resize(860, 600)
    page.show()
    assert page.legend.width() >= page.legend.sizeHint().width()
