# SPDX-License-Identifier: Apache-2.0
"""View, markers, undo, scales, ticks, bands and SYNC of the trace screen, without a
window."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gui.picture import band_layout, sync_shape, ticks
from gui.picture.band_layout import BandSpans
from gui.picture.viewport import Viewport
from gui.trace.shown.markers import Markers
from gui.trace.shown.scales import Scale
from gui.trace.shown.state import History
from gui.widgets import values
from rig.units import scale

_MOVES = st.lists(
    st.one_of(
        st.tuples(st.just("pan"), st.floats(-20, 20)),
        st.tuples(st.just("zoom"), st.floats(0.01, 1e6)),
        st.tuples(st.just("on"), st.floats(-1, 12)),
    ),
    max_size=30,
)


@given(_MOVES)
def test_the_view_never_leaves_the_trace(moves: list[tuple[str, float]]) -> None:
    view = Viewport.whole(10.0, 1e6)
    for what, value in moves:
        if what == "pan":
            view = view.panned(value)
        elif what == "zoom":
            view = view.zoomed(value, 3.0)
        else:
            view = view.on(value, value + 1e-3)
        assert 0 <= view.start_s < view.stop_s <= 10.0
        assert view.span_s >= view.least_s * (1 - 1e-6)


@given(st.floats(0, 10), st.floats(1.01, 100))
def test_a_zoom_leaves_its_instant_in_place(at_s: float, factor: float) -> None:
    view = Viewport.whole(10.0, 1e6)
    closer = view.zoomed(factor, at_s)
    assert closer.fraction(at_s) == pytest.approx(view.fraction(at_s), abs=1e-9)


def test_a_view_of_a_stretch_shows_all_of_it() -> None:
    view = Viewport.whole(10.0, 1e6).on(4.0, 4.5, 0.1)
    assert (view.start_s, view.stop_s) == pytest.approx((3.95, 4.55))
    assert view.fitted().is_whole


@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                ["single", "dual", "move", "both", "dt", "delete", "clear", "label"]
            ),
            st.integers(1, 4),
            st.floats(-5, 15),
        ),
        max_size=25,
    )
)
def test_markers_stay_in_the_trace_and_undo_takes_every_step_back(
    steps: list[tuple[str, int, float]],
) -> None:
    history = History(Markers(10.0))
    states = [history.now]
    for what, number, value in steps:
        now = history.now
        history.do(
            {
                "single": lambda now=now, value=value: now.add_single(value),
                "dual": lambda now=now, value=value: now.add_dual(value, value + 1),
                "move": lambda now=now, n=number, value=value: now.moved(n, "b", value),
                "both": lambda now=now, n=number, value=value: now.moved(
                    n, "both", value
                ),
                "dt": lambda now=now, n=number, value=value: now.with_dt(n, value),
                "delete": lambda now=now, n=number: now.without(n),
                "clear": now.cleared,
                "label": lambda now=now, n=number, value=value: now.labelled(
                    n, str(value)
                ),
            }[what]()
        )
        if history.now != states[-1]:
            states.append(history.now)
        for mark in history.now.marks:
            assert all(0 <= at_s <= 10.0 for _, _, at_s in mark.lines)
        numbers = [mark.number for mark in history.now.marks]
        assert numbers == sorted(set(numbers))
    for state in reversed(states[:-1]):
        assert history.undo()
        assert history.now == state
    assert not history.undo()
    for state in states[1:]:
        assert history.redo()
        assert history.now == state


def test_moving_both_lines_keeps_their_distance_up_to_the_end() -> None:
    markers = Markers(10.0).add_dual(2.0, 5.0)
    assert markers.moved(1, "both", 4.0).marks[0].span == (4.0, 7.0)
    assert markers.moved(1, "both", 9.0).marks[0].span == (7.0, 10.0)


def test_a_drag_is_one_step() -> None:
    history = History(Markers(10.0).add_single(1.0))
    history.begin()
    for position in (2.0, 3.0, 4.0):
        history.revise(history.now.moved(1, "a", position))
    assert history.undo()
    assert history.now.marks[0].a_s == 1.0
    assert history.redo()
    assert history.now.marks[0].a_s == 4.0


def test_a_grab_takes_the_line_that_is_near() -> None:
    markers = Markers(10.0).add_single(1.0).add_dual(3.0, 6.0)
    result = markers.near(5.9, 0.2)
    assert result is not None
    assert (result[0].number, result[1]) == (2, "b")
    assert markers.near(5.0, 0.2) is None


@given(st.integers(0, 20_000), st.floats(0, 90), st.floats(1e-6, 100))
def test_bands_are_few_and_none_is_missing(
    count: int, start_s: float, span_s: float
) -> None:
    starts = np.linspace(0, 100, count, endpoint=False)
    stops = starts + 60 / max(count, 1)
    spans = BandSpans.of(starts, stops, np.arange(count) % 3)
    stop_s = start_s + span_s
    shown = band_layout.laid_out(spans, start_s, stop_s, 1000)
    assert len(shown) <= 2100
    inside = (stops > start_s) & (starts < stop_s)
    assert bool(len(shown)) == bool(inside.any())
    # Every window in view has a rectangle where it begins, or at the left end.
    begins = np.maximum(starts[inside], start_s)
    pixel_s = span_s / 1000
    for begin in begins[:: max(len(begins) // 50, 1)]:
        near = (shown.left_s <= begin + pixel_s) & (shown.right_s >= begin - pixel_s)
        assert near.any()


def test_a_long_band_reaches_into_a_view_past_short_ones() -> None:
    spans = BandSpans.of(np.array([0.0, 1.0]), np.array([100.0, 1.5]), np.array([0, 1]))
    shown = band_layout.laid_out(spans, 50.0, 60.0, 100)
    assert list(shown.colour) == [0]
    assert (shown.left_s[0], shown.right_s[0]) == (50.0, 60.0)


def test_sync_has_its_levels_and_never_more_than_two_lines_a_pixel() -> None:
    edges = np.array([1.0, 2.0, 5.0])
    falls = np.array([True, False, True])
    x1, y1, x2, _ = sync_shape.segments(edges, falls, 0.0, 10.0, 100)
    levels = [(a, b, y) for a, b, y in zip(x1, x2, y1, strict=True) if a != b]
    assert levels == [
        (0.0, 0.1, 1.0),
        (0.1, 0.2, 0.0),
        (0.2, 0.5, 1.0),
        (0.5, 1.0, 0.0),
    ]
    many = np.linspace(0, 10, 100_000)
    x1, _, _, _ = sync_shape.segments(many, np.arange(100_000) % 2 == 0, 0.0, 10.0, 500)
    assert 500 <= len(x1) <= 1001
    x1, y1, _, _ = sync_shape.segments(edges, falls, 3.0, 4.0, 100)
    assert list(y1) == [1.0]


@given(st.floats(-1e3, 1e3), st.floats(1e-9, 1e3))
def test_ticks_are_inside_and_distinguished(low: float, wide: float) -> None:
    made = ticks.linear(low, low + wide, "A", 8)
    assert 5 <= len(made.places) <= 8
    # Far from zero the last digits of a number are rounded.
    slack = wide * 1e-6 + 1e-14 * (abs(low) + wide)
    assert all(
        low - slack <= position <= low + wide + slack for position in made.places
    )
    if abs(low) < 1e6 * wide:
        assert len(set(made.texts)) == len(made.texts)
        factor = scale(max(abs(low), abs(low + wide)), "A")[0]
        step = made.places[1] - made.places[0]
        for position, text in zip(made.places, made.texts, strict=True):
            assert float(text) / factor == pytest.approx(position, abs=1e-6 * step)


@pytest.mark.parametrize("room", range(9))
def test_ticks_are_as_many_as_there_is_room_for(room: int) -> None:
    for high in (1.0, 1.7, 2.3, 3.1, 4.4, 6.5, 9.9):
        assert 2 <= len(ticks.linear(0.0, high, "A", room).places) <= max(room, 2)


@given(st.floats(-9, 3), st.floats(0.01, 8))
def test_logarithmic_axes_have_ticks_at_every_zoom(low: float, wide: float) -> None:
    made = ticks.logarithmic(low, low + wide, "A", 8)
    assert 4 <= len(made.places) <= 8
    assert all(low - 1e-9 <= position <= low + wide + 1e-9 for position in made.places)


@given(st.floats(0, 1e5), st.floats(1e-7, 1e5))
def test_times_are_distinguished_at_every_zoom(start_s: float, span_s: float) -> None:
    made = ticks.of_time(start_s, start_s + span_s, 8)
    assert len(set(made.texts)) == len(made.texts)
    assert 5 <= len(made.places) <= 8
    assert all(len(text) <= 12 for text in made.texts)


def test_a_time_deep_in_a_trace_counts_from_a_base() -> None:
    made = ticks.of_time(3600.5, 3600.500010, 8)
    assert made.base == "3600.50000 s"
    assert made.unit == "µs"
    assert made.texts[0] == "+0"


def test_logarithmic_axes_have_decades_and_a_floor() -> None:
    scale = Scale(logarithmic=True)
    values = np.array([-1e-6, 0.0, 1e-3, 0.1])
    drawn = scale.drawn(values)
    assert drawn[3] == pytest.approx(-1.0)
    assert drawn[0] == drawn[1] == pytest.approx(-8.0)
    low, high = scale.range_of(values, values)
    assert low < -3 < -1 < high
    made = ticks.logarithmic(low, high, "A", 8)
    assert "1 mA" in made.texts
    assert "100 mA" in made.texts


def test_exact_ranges_are_exact_and_automatic_ones_hold_all() -> None:
    values = np.array([0.0101, 0.0119])
    low, high = Scale().range_of(values, values)
    assert low < 0.0101
    assert high > 0.0119
    assert high - low < 0.003
    assert Scale(exact=(0.0, 0.02)).range_of(values, values) == (0.0, 0.02)
    low, high = Scale(True, (1e-3, 1.0)).range_of(values, values)
    assert (low, high) == pytest.approx((-3.0, 0.0))
    nothing = np.array([math.nan])
    assert Scale().range_of(nothing, nothing) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("18.2 ms", 18.2e-3),
        ("1.5e-3", 1.5e-3),
        ("2,5ms", 2.5e-3),
        ("-3 us", -3e-6),
        (" 7 ", 7.0),
    ],
)
def test_times_are_understood_as_they_are_typed(text: str, value: float) -> None:
    assert values.parse(text, "s") == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("text", ["", "soon", "3 V", "1 2", "1e400"])
def test_an_input_that_is_no_time_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match=r"is (no number|not in|too large)"):
        values.parse(text, "s")
