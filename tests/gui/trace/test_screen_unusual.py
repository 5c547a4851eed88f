# SPDX-License-Identifier: Apache-2.0
"""The trace screen in unusual conditions: gaps, sixteen thousand windows, random keys
and clicks.
"""

from __future__ import annotations

import dataclasses
import random
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from rig.trace.thinning import Quiet, QuietTimes, thinned
from rig.trace.writer import TraceWriter
from tests.length import length
from tests.traces import jls_writer, trace_writer
from tests.waiting import own_threads

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from gui.trace.screen import TraceScreen
    from gui.window import MainWindow

_HZ = 100_000.0


@pytest.fixture
def with_gap(tmp_path: Path) -> Path:
    """A trace of a second with 10 ms lost."""
    rates = {"sample_hz": _HZ, "edge_hz": _HZ}
    with TraceWriter(tmp_path, **rates, source="test", serial="0", about={}) as writer:
        for count in (40_000, 59_000):
            writer.analog(
                np.full(count, 0.01, np.float32), np.full(count, 3.3, np.float32)
            )
            writer.sync(np.arange(count) % 1000 >= 50)
            if count == 40_000:
                writer.skip(1000, "the cable was loose")
    return tmp_path / "trace.jls"


def test_a_gap_is_listed_and_a_click_zooms_to_it(
    window: MainWindow, qtbot: QtBot, with_gap: Path
) -> None:
    from PySide6.QtCore import Qt
    from PySide6.QtGui import QColor

    from gui.theme import shown

    window.shell.open_trace(with_gap)
    screen: Any = window.screen_named("trace")
    qtbot.waitUntil(lambda: screen.state is not None and screen.idle(), timeout=10_000)
    assert "(1)" in screen.tabs.tabText(screen.tabs.indexOf(screen.problems))
    assert screen.statistics.view.lost == 1000
    assert screen.statistics.visible_box.headline["lost"].text() == "1 000"
    screen.problems.table.selectRow(0)
    qtbot.waitUntil(screen.idle, timeout=10_000)
    view = screen.state.view
    assert view.start_s < 0.40 < 0.41 < view.stop_s
    assert view.span_s < 0.1
    assert (
        "the cable was loose"
        in screen.problems.findChild(object, "problem-text").text()
    )
    # Without the tint of the selection.
    qtbot.keyClick(screen.stack, Qt.Key.Key_Escape)
    image = screen.stack.grab().toImage()
    lane = screen.stack.lanes.signals["voltage"]
    left, top = int(screen.stack.x_of(0.405)), int(lane.top()) + 12
    inside = {
        image.pixel(left + dx, top + dy) for dx, dy in product(range(8), repeat=2)
    }
    assert QColor(shown().bad).rgb() in inside


def test_stretches_of_means_are_dotted_and_reported(
    window: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    from PySide6.QtGui import QColor

    from gui.theme import shown

    times = QuietTimes()
    times.add(Quiet(2, 0.002))
    current = np.full(60_000, 0.01, np.float32)
    levels = np.ones(60_000, bool)
    for mark in (5000, 5200, 55_000, 55_200):
        levels[mark : mark + 5] = False
    with (
        thinned(tmp_path, times),
        trace_writer(tmp_path, _HZ) as writer,
    ):
        writer.analog(current, 300 * current)
        writer.sync(levels)
    window.shell.open_trace(tmp_path / "trace.jls")
    screen: Any = window.screen_named("trace")
    qtbot.waitUntil(lambda: screen.state is not None and screen.idle(), timeout=10_000)
    [note] = screen.state.subject.notes
    assert note.startswith("1 stretch between windows") and "means" in note
    assert "keeps means" in screen.statistics.view.remark
    assert screen.statistics.view.energy_j is None
    image = screen.stack.grab().toImage()
    lane = screen.stack.lanes.signals["voltage"]

    def colours(at_s: float) -> set[int]:
        left, top = int(screen.stack.x_of(at_s)), int(lane.top()) + 12
        return {
            image.pixel(left + dx, top + dy) for dx, dy in product(range(16), repeat=2)
        }

    dots = QColor(shown().muted).rgb()
    assert dots in colours(0.3) and dots not in colours(0.02)


def test_thousands_of_windows_are_few_things_to_paint(screen: TraceScreen) -> None:
    from gui.picture.band_layout import BandSpans

    state = screen.state
    assert state is not None
    starts = np.linspace(0, state.view.duration_s, 16_240, endpoint=False)
    names = ("infer",) * 16_240
    bands = BandSpans.of(starts, starts + 1e-5, np.arange(16_240) % 3, names)
    state.subject = dataclasses.replace(state.subject, bands=bands)
    screen.stack.repaint()
    assert screen.stack._bands.count <= 2 * screen.stack.width()


_KEYS = (
    *("S", "D", "F", "N", "Z", "X", "L", "1", "2", "3", "Left", "Right", "Up", "Down"),
    *("Plus", "Minus", "Home", "Delete", "Escape", "Question"),
)


@pytest.mark.parametrize("seed", range(length(4, 2)))
def test_random_keys_and_clicks_do_no_harm(
    screen: TraceScreen, qtbot: QtBot, seed: int
) -> None:
    from PySide6.QtCore import QPoint, Qt

    state = screen.state
    assert state is not None
    chosen = random.Random(seed)
    threads = own_threads()
    kinds = Qt.KeyboardModifier
    for _ in range(60):
        what = chosen.random()
        position = QPoint(
            chosen.randrange(screen.stack.width()),
            chosen.randrange(screen.stack.height()),
        )
        if what < 0.6:
            held = chosen.choice([kinds.NoModifier, kinds.ShiftModifier])
            key = getattr(Qt.Key, f"Key_{chosen.choice(_KEYS)}")
            qtbot.keyClick(screen.stack, key, held)
        elif what < 0.7:
            qtbot.keyClick(screen.stack, Qt.Key.Key_Z, kinds.ControlModifier)
        elif what < 0.9:
            qtbot.mousePress(
                screen.stack, Qt.MouseButton.LeftButton, kinds.NoModifier, position
            )
            qtbot.mouseMove(
                screen.stack, position + QPoint(chosen.randrange(-200, 200), 0)
            )
            qtbot.mouseRelease(screen.stack, Qt.MouseButton.LeftButton)
        elif what < 0.95:
            qtbot.mouseDClick(
                screen.stack, Qt.MouseButton.LeftButton, kinds.NoModifier, position
            )
        else:
            screen.tabs.setCurrentIndex(chosen.randrange(screen.tabs.count()))
    qtbot.waitUntil(screen.idle, timeout=20_000)
    assert 0 <= state.view.start_s < state.view.stop_s <= state.view.duration_s
    assert own_threads() == threads
    assert screen.notice.text == ""


def test_a_trace_without_samples_is_a_notice_in_the_place_of_plots(
    window: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    rates = {"sample_hz": _HZ, "edge_hz": _HZ}
    with TraceWriter(tmp_path, **rates, source="test", serial="0", about={}) as writer:
        writer.analog(np.full(1, 0.01, np.float32), np.full(1, 3.3, np.float32))
    window.shell.open_trace(tmp_path / "trace.jls")
    screen: Any = window.screen_named("trace")
    qtbot.waitUntil(lambda: bool(screen.notice.text), timeout=10_000)
    assert "no samples to show" in screen.notice.text
    assert "try:" in screen.notice.text
    assert screen.state is None


def test_a_recording_of_joulescope_is_looked_at_where_it_is(
    window: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    path = tmp_path / "joulescope.jls"
    current = np.linspace(0.01, 0.02, 50_000, dtype=np.float32)
    with jls_writer(path, _HZ, "current", "voltage") as writer:
        writer.fsr(1, 0, current)
        writer.fsr(2, 0, np.full(50_000, 3.0, np.float32))
    content = path.read_bytes()
    window.shell.open_trace(path)
    screen: Any = window.screen_named("trace")
    qtbot.waitUntil(lambda: screen.state is not None and screen.idle(), timeout=10_000)
    result = screen.statistics.view
    assert result.count == 50_000
    assert result.energy_j == pytest.approx(
        3.0 * float(current.sum(dtype=float)) / _HZ, rel=1e-6
    )
    assert result.energy_u_j is None
    assert "no accuracy" in screen.statistics.visible_box.remark.text()
    assert screen.edge.notice.text == ""
    screen.tabs.setCurrentWidget(screen.edge)
    assert "no edges of SYNC" in screen.edge.notice.text
    screen.tabs.setCurrentWidget(screen.overlay)
    assert "single trace" in screen.overlay.notice.text
    assert path.read_bytes() == content
