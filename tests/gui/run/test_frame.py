# SPDX-License-Identifier: Apache-2.0
"""The live picture as pixels, and its axes: what is drawn is what was measured."""

from __future__ import annotations

import numpy as np
import pytest

from gui.run.frame import (
    Frame,
    columns_of,
    empty_frame,
    phase_row,
    raster,
    rows_of,
    spread,
    sync_raster,
    wide_phases,
)
from gui.run.phases import UNKNOWN, PhaseTrack
from gui.run.scale import Ceiling, round_up, tick_texts, ticks
from rig.live.block import COLUMN_S, LiveBlock
from rig.live.recent import Recent
from rig.model.completion import END, IDLE, Completion, Mark

ENVELOPE = 0x11
MEAN = 0xFF


def frame(least: list[float], mean: list[float], most: list[float]) -> Frame:
    columns = [np.array(values, dtype=np.float64) for values in (least, mean, most)]
    return Frame(0.0, 1.0, *columns)


def test_no_spike_disappears_a_column_is_filled_from_its_least_to_its_most() -> None:
    image = raster(frame([0, 1, 0], [0, 2, 0], [0, 10, 0]), 0.0, 10.0, 11, (ENVELOPE, MEAN))
    assert image.shape == (11, 3)
    # The spike of the middle column reaches from 10 W (row 0) to 1 W (row 9).
    assert (image[:10, 1] != 0).all()
    assert image[8, 1] == MEAN
    assert image[10, 0] == MEAN
    assert (image[:9, 0] == 0).all()


@pytest.mark.parametrize("share", [0.13, 0.5, 0.74, 1.0, 2.0])
@pytest.mark.parametrize("columns", [50, 333, 924])
def test_no_dip_is_lost_however_much_of_the_span_is_there(share: float, columns: int) -> None:
    span_s = 5.0
    recent = Recent(60.0)
    count = round(share * span_s / COLUMN_S)
    level = np.full(count, 0.04, dtype=np.float32)
    dips = np.arange(40, count, 126)
    least = level.copy()
    least[dips] = 0.012
    most = level.copy()
    most[dips[dips + 20 < count] + 20] = 0.09
    recent.add(LiveBlock("", 0.0, COLUMN_S, least, level, most, np.zeros(0), np.zeros(0), 0))
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
    nothing = float("nan")
    image = raster(frame([nothing], [nothing], [nothing]), 0.0, 1.0, 5, (ENVELOPE, MEAN))
    assert not image.any()
    assert empty_frame(4, 1.0).empty
    assert empty_frame(4, 1.0).latest_w is None


def test_values_beyond_the_axis_stay_in_the_picture() -> None:
    rows = rows_of(np.array([-1.0, 0.0, 5.0, 10.0, 99.0, np.nan]), 0.0, 10.0, 11)
    assert rows.tolist() == [10, 10, 5, 0, 0, -1]


@pytest.mark.parametrize("seed", range(5))
def test_the_raster_is_that_of_a_plain_loop(seed: int) -> None:
    random = np.random.default_rng(seed)
    ends = np.sort(random.uniform(0, 10, (3, 40)), axis=0)
    ends[:, 7] = np.nan
    some = Frame(0.0, 1.0, ends[0], ends[1], ends[2])
    image = raster(some, 0.0, 10.0, 50, (ENVELOPE, MEAN))
    low, high = rows_of(ends[0], 0.0, 10.0, 50), rows_of(ends[2], 0.0, 10.0, 50)
    for column in range(40):
        if column == 7:
            continue
        assert (image[high[column] : low[column] + 1, column] != 0).all()


def test_sync_is_low_from_a_fall_to_a_rise() -> None:
    nothing = np.zeros(10)
    seen = Frame(
        0.0, 10.0, nothing, nothing, nothing, falls_s=np.array([2.5]), rises_s=np.array([5.5])
    )
    image = sync_raster(seen, 10, 20, MEAN)
    high = image[5] != 0
    low = image[14] != 0
    assert high.tolist() == [True, True, True, False, False, True, True, True, True, True]
    assert low[[3, 4]].all() and not low[[0, 1, 6, 9]].any()
    assert (image[5:15, 2] != 0).all(), "the edge itself is a line from top to bottom"


def test_a_line_that_fell_before_the_picture_is_low_in_it() -> None:
    nothing = np.zeros(4)
    seen = Frame(5.0, 9.0, nothing, nothing, nothing, falls_s=np.array([1.0]))
    image = sync_raster(seen, 4, 20, MEAN)
    assert (image[14] != 0).all() and not (image[5] != 0).any()


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
    strip = track.strip()
    seen = Frame(0.0, 4.0, *[np.zeros(4)] * 3, strip=strip)
    assert wide_phases(seen, 400, 90.0) == [
        ("idle", 0.0, 100.0),
        ("infer", 200.0, 300.0),
        ("", 300.0, 400.0),
    ]
    colours = [0 if not name else place for place, name in enumerate(strip.names)]
    row = phase_row(seen, 8, colours)
    assert [strip.names[place] for place in row] == [
        "idle", "idle", "", "preprocess", "infer", "infer", "", "",
    ]  # fmt: skip


def test_falls_of_another_trace_are_not_named_by_marks_of_this_one() -> None:
    track = PhaseTrack()
    track.begin(("infer",))
    track.saw([0.0, 1.0], trace=1)
    track.done(marks(1, END))
    assert named(track) == ["infer", ""]
    track.begin(("infer",))
    track.done(marks(IDLE, END))
    assert named(track) == [UNKNOWN, UNKNOWN], "the next trial's marks, the last one's falls"
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
    assert [name for name in named(track) if name] == ["infer"] * (len(strip.starts_s) // 2)


def test_times_are_placed_among_columns() -> None:
    some = Frame(10.0, 20.0, *[np.zeros(1)] * 3)
    assert columns_of(some, np.array([10.0, 15.0, 20.0]), 100).tolist() == [0.0, 50.0, 100.0]


def test_an_axis_grows_at_once_and_shrinks_slowly() -> None:
    ceiling = Ceiling()
    assert ceiling.fit(0.9) == 1.0
    assert ceiling.fit(1.2) == 1.5
    tops = [ceiling.fit(0.1, patience=10) for _ in range(10)]
    assert tops[:9] == [1.5] * 9
    assert tops[9] == pytest.approx(0.15)


@pytest.mark.parametrize(("value", "top"), [(0.0, 1.0), (0.011, 0.015), (45e-3, 50e-3), (1.0, 1.0)])
def test_the_end_of_an_axis_is_round(value: float, top: float) -> None:
    assert round_up(value) == pytest.approx(top)


def test_ticks_are_round_and_have_one_prefix() -> None:
    values = ticks(0.0, 0.05, 5)
    assert values == [0.0, 0.01, 0.02, 0.03, 0.04, 0.05]
    assert tick_texts(values, "W") == (["0", "10", "20", "30", "40", "50"], "mW")
    assert ticks(-5.0, 0.0, 8) == [-5.0, -4.0, -3.0, -2.0, -1.0, 0.0]
