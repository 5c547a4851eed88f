# SPDX-License-Identifier: Apache-2.0
"""What stands on and beside the plots: UTC, exact numbers, level markers."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from PySide6.QtCore import QPoint, QRectF, Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QCheckBox

from gui.trace.picture import lane_numbers, utc_ticks
from gui.trace.picture.lane_numbers import LaneNumbers
from gui.trace.picture.level_item import grabbed_level, level_at, y_of
from gui.trace.shown.scales import Scale
from gui.widgets.painter import ThemedPainter
from rig.api.traces.trace import open_trace

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from gui.trace.screen import TraceScreen
    from gui.window import MainWindow

NS = 1_000_000_000
NOON_NS = int(datetime(2026, 11, 24, 12, tzinfo=UTC).timestamp()) * NS


def key(screen: TraceScreen, name: str) -> None:
    QTest.keyClick(screen.stack, getattr(Qt.Key, f"Key_{name}"))


@pytest.mark.parametrize(
    ("start_s", "stop_s", "base", "texts", "unit"),
    [
        (
            0.0,
            3600.0,
            "2026-11-24 UTC",
            ("12:00:00", "12:15:00", "12:30:00", "12:45:00"),
            "",
        ),
        (
            -1.0,
            2.2,
            "2026-11-24 UTC",
            ("11:59:59", "12:00:00", "12:00:01", "12:00:02"),
            "",
        ),
        (0.95, 1.35, "12:00:00 UTC", ("+1.00", "+1.10", "+1.20", "+1.30"), "s"),
        (2.0011, 2.0042, "12:00:02 UTC", ("+2", "+3", "+4"), "ms"),
        (2.0000011, 2.0000042, "12:00:02 UTC", ("+2", "+3", "+4"), "µs"),
        (2.0, 2.00000004, "12:00:02 UTC", ("+0", "+10", "+20", "+30", "+40"), "ns"),
    ],
)
def test_ticks_lie_at_round_times_of_day(
    start_s: float, stop_s: float, base: str, texts: tuple[str, ...], unit: str
) -> None:
    ticks = utc_ticks.of_utc(start_s, stop_s, 4, NOON_NS)
    assert ticks.base == base
    assert ticks.texts[: len(texts)] == texts
    assert ticks.unit == unit
    assert len(ticks.texts) <= 6
    assert all(start_s - 1e-9 <= position <= stop_s + 1e-9 for position in ticks.places)


def test_a_tick_is_where_its_time_is() -> None:
    # The trace began 0.25 s past a second.
    ticks = utc_ticks.of_utc(0.0, 3.0, 3, NOON_NS + NS // 4)
    assert ticks.texts == ("12:00:01", "12:00:02", "12:00:03")
    assert ticks.places == pytest.approx((0.75, 1.75, 2.75), abs=1e-9)
    assert utc_ticks.of_utc(1.0, 1.0, 3, NOON_NS).places == ()
    assert utc_ticks.utc_text(1.5, NOON_NS, 1e-3) == "12:00:01.500 UTC"
    assert utc_ticks.utc_text(1.5, NOON_NS, 2.0) == "12:00:01 UTC"
    assert utc_ticks.of_utc(0.0, 20 * 86_400.0, 3, NOON_NS).texts[0] == "00:00:00"


def test_a_trace_says_when_it_began_and_so_does_what_is_exported_of_it(
    virtual_session: Path, tmp_path: Path
) -> None:
    path = virtual_session / "trial-1" / "trace.jls"
    with open_trace(path) as trace:
        began_ns = trace.started_ns
        assert began_ns is not None
        # Within the minute of writing the session's file.
        assert abs(began_ns / NS - path.stat().st_mtime) < 60
        part = trace.export(tmp_path / "part.jls", 0.05, 0.15)
    with open_trace(part) as exported:
        assert exported.started_ns is not None
        assert (exported.started_ns - began_ns) / NS == pytest.approx(0.05, abs=1e-3)


def test_u_shows_times_in_utc(screen: TraceScreen, qtbot: QtBot) -> None:
    state = screen.state
    assert state is not None
    box = screen.scales.findChild(QCheckBox, "scale-utc")
    assert box.isEnabled()
    before = screen.stack.grab().toImage()
    key(screen, "U")
    assert state.utc
    assert box.isChecked()
    assert screen.stack._time_ticks(state, screen.stack.lanes).base.endswith(" UTC")
    assert screen.stack.grab().toImage() != before
    state.set_cursor(0.05)
    assert " UTC" in screen.header.readout.text()
    # Another trial of the session keeps the choice.
    screen._choose(2, "", 1)
    qtbot.waitUntil(lambda: screen.state is not state and screen.idle(), timeout=10_000)
    assert screen.state is not None
    assert screen.state.utc
    screen.tabs.setCurrentWidget(screen.scales)
    QTest.mouseClick(box, Qt.MouseButton.LeftButton, pos=QPoint(8, box.height() // 2))
    assert not screen.state.utc


def test_a_table_without_a_time_of_day_says_so(
    window: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    rows = [f"{at / 1000},{0.001 * (1 + at % 3)},3.3" for at in range(500)]
    path.write_text("time (s),current (A),voltage (V)\n" + "\n".join(rows))
    window.shell.open_trace(path)
    screen = window.screen_named("trace")
    qtbot.waitUntil(lambda: screen.state is not None and screen.idle(), timeout=10_000)
    box = screen.scales.findChild(QCheckBox, "scale-utc")
    assert not box.isEnabled()
    assert box.toolTip() == "this file does not say when its recording began"
    key(screen, "U")
    assert not screen.state.utc


def test_numbers_above_a_plot_are_those_of_the_boxes(
    screen: TraceScreen, qtbot: QtBot
) -> None:
    from PySide6.QtCore import Qt

    numbers = screen.statistics.for_lanes()
    assert numbers.of == "view"
    assert numbers.now is screen.statistics.view
    shown = lane_numbers.texts("power", numbers)
    assert numbers.now is not None
    energy = screen.statistics.visible_box.headline["energy"].text()
    assert shown[1] == f"integral {energy}"
    assert shown[0].startswith("view: mean ")
    charge = screen.statistics.visible_box.headline["charge"].text()
    assert lane_numbers.texts("current", numbers)[1] == f"integral {charge}"
    assert [part.split()[0] for part in lane_numbers.texts("voltage", numbers)[1:]] == [
        "min",
        "max",
    ]
    QTest.keyClick(screen.stack, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(screen.idle, timeout=10_000)
    assert screen.statistics.for_lanes().of == "selection"
    tall = screen.stack.lanes.signals["power"].height()
    key(screen, "I")
    assert screen.stack.lanes.signals["power"].height() > tall
    box = screen.scales.findChild(QCheckBox, "scale-numbers")
    assert not box.isChecked()
    screen.tabs.setCurrentWidget(screen.scales)
    QTest.mouseClick(box, Qt.MouseButton.LeftButton, pos=QPoint(8, box.height() // 2))
    assert screen.stack.lanes.signals["power"].height() == tall


def test_what_is_not_known_yet_is_reported() -> None:
    assert lane_numbers.texts("power", LaneNumbers("view", None)) == ["view: ..."]


def test_what_has_no_room_above_a_plot_is_marked(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    painted: list[str] = []
    paint = ThemedPainter.text

    def noted(painter: ThemedPainter, *words: Any) -> None:
        painted.append(words[2])
        paint(painter, *words)

    monkeypatch.setattr(ThemedPainter, "text", noted)
    for wide in (40, 150, 300, 900):
        painted.clear()
        image = QImage(wide, 40, QImage.Format.Format_RGB32)
        image.fill(0xFFFFFFFF)
        painter = ThemedPainter(image)
        area = QRectF(0, 20, wide, 20)
        parts = [
            "view: mean 12.345 mW",
            "integral 1.2345 ± 0.0012 mJ",
            "min 1 mW",
            "max 2 mW",
        ]
        lane_numbers.paint_head(painter, area, parts)
        lane_numbers.paint_head(painter, area, [])
        painter.end()
        pixels = product(range(wide), range(20))
        inked = [x for x, y in pixels if image.pixel(x, y) != 0xFFFFFFFF]
        assert inked
        assert max(inked) < wide
        # No number is cut.
        whole = len(painted) - ("…" in painted)
        assert painted == [*parts[:whole], *["…"] * (whole < len(parts))]


@pytest.mark.parametrize("logarithmic", [False, True])
def test_a_level_lies_where_it_is_put(logarithmic: bool) -> None:
    area = QRectF(0, 100, 50, 200)
    scale = Scale(logarithmic)
    y_range = (-3.0, 1.0) if logarithmic else (-1.0, 3.0)
    for y in (100.0, 173.0, 300.0):
        assert y_of(
            level_at(y, area, y_range, scale), area, y_range, scale
        ) == pytest.approx(y)
    assert y_of(0.0, area, y_range, scale) is None or not logarithmic
    levels = (
        level_at(150.0, area, y_range, scale),
        level_at(250.0, area, y_range, scale),
    )
    assert grabbed_level(148.0, area, levels, y_range, scale) == 0
    assert grabbed_level(253.0, area, levels, y_range, scale) == 1
    assert grabbed_level(200.0, area, levels, y_range, scale) is None


def test_h_puts_two_levels_that_are_dragged(screen: TraceScreen, qtbot: QtBot) -> None:
    state, stack = screen.state, screen.stack
    assert state is not None
    area = stack.lanes.signals["current"]
    QTest.mouseMove(stack, area.center().toPoint())
    qtbot.waitUntil(lambda: stack.pointed == "current")
    key(screen, "H")
    low, high = state.levels["current"]
    assert low < high
    y_range = stack.y_ranges["current"]
    assert y_range[0] < low < high < y_range[1]
    y = y_of(high, stack.lanes.signals["current"], y_range, state.scales["current"])
    assert y is not None
    left = Qt.MouseButton.LeftButton
    none = Qt.KeyboardModifier.NoModifier
    at = QPoint(int(area.center().x()), round(y))
    QTest.mouseMove(stack, at)
    qtbot.waitUntil(lambda: stack.cursor().shape() == Qt.CursorShape.SizeVerCursor)
    QTest.mousePress(stack, left, none, at)
    QTest.mouseMove(stack, at - QPoint(0, 12))
    qtbot.waitUntil(lambda: state.levels["current"][1] > high)
    QTest.mouseRelease(stack, left, none, at - QPoint(0, 12))
    moved = state.levels["current"]
    assert moved[0] == low
    one_px = (y_range[1] - y_range[0]) / area.height()
    assert moved[1] - high == pytest.approx(12 * one_px, abs=1.5 * one_px)
    text = lane_numbers.level_text("current", moved)
    assert text.startswith("levels ")
    assert text.endswith(" apart")
    key(screen, "H")
    assert not state.levels


def test_the_box_of_a_logarithmic_axis_switches_it_on_and_off(
    screen: TraceScreen,
) -> None:
    assert screen.state is not None
    screen.tabs.setCurrentWidget(screen.scales)
    screen.scales.logs["current"].click()
    assert screen.state.scales["current"].logarithmic
    assert not screen.state.scales["power"].logarithmic
    screen.scales.logs["current"].click()
    assert not screen.state.scales["current"].logarithmic
