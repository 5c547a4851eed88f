# SPDX-License-Identifier: Apache-2.0
"""The trace screen by clicks and keys: windows, markers on edges, numbers, bad
files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rig.units import quantity

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from gui.trace.screen import TraceScreen
    from gui.window import MainWindow


def _settled(qtbot: QtBot, screen: TraceScreen) -> None:
    qtbot.waitUntil(screen.idle, timeout=10_000)


def _windows(session: Path) -> list[dict[str, Any]]:
    lines = (session / "trial-1" / "samples.jsonl").read_text("utf-8").splitlines()
    rows = map(json.loads, lines)
    return list(chain.from_iterable(row.get("windows", []) for row in rows))


def _key(qtbot: QtBot, screen: TraceScreen, key: str, shift: bool = False) -> None:
    from PySide6.QtCore import Qt

    held = (
        Qt.KeyboardModifier.ShiftModifier if shift else Qt.KeyboardModifier.NoModifier
    )
    qtbot.keyClick(screen.stack, getattr(Qt.Key, f"Key_{key}"), held)


def _drag(
    qtbot: QtBot, screen: TraceScreen, from_s: float, to_s: float, held: Any
) -> None:
    from PySide6.QtCore import QPoint, Qt

    y = int(screen.stack.lanes.signals["power"].center().y())
    begin, end = (QPoint(round(screen.stack.x_of(at_s)), y) for at_s in (from_s, to_s))
    left = Qt.MouseButton.LeftButton
    qtbot.mousePress(screen.stack, left, held, begin)
    middle = (begin + end) / 2
    for position in (middle, end):
        _move(screen, position, held)
    qtbot.mouseRelease(screen.stack, left, held, end)


def _move(screen: TraceScreen, place: Any, held: Any) -> None:
    """Move the mouse; QTest's own moves know no modifier."""
    from PySide6.QtCore import QEvent, QPointF, Qt
    from PySide6.QtGui import QMouseEvent
    from PySide6.QtWidgets import QApplication

    at = QPointF(place)
    whole = QPointF(screen.stack.mapToGlobal(place))
    left = Qt.MouseButton.LeftButton
    places = (at, whole)
    buttons = (Qt.MouseButton.NoButton, left)
    event = QMouseEvent(QEvent.Type.MouseMove, *places, *buttons, held)
    QApplication.sendEvent(screen.stack, event)


def test_a_dual_marker_on_a_windows_edges_has_the_energy_of_the_results(
    screen: TraceScreen, qtbot: QtBot, virtual_session: Path
) -> None:
    from PySide6.QtCore import Qt

    window = _windows(virtual_session)[2]
    start_s, stop_s = window["start_s"], window["stop_s"]
    state = screen.state
    assert state is not None
    state.set_view(state.view.on(start_s, stop_s, 0.4))
    _settled(qtbot, screen)
    off_s = 3 * state.view.span_s / screen.stack.lanes.time.width()
    _drag(
        qtbot,
        screen,
        start_s + off_s,
        stop_s - off_s,
        Qt.KeyboardModifier.ShiftModifier,
    )
    _settled(qtbot, screen)
    mark = state.markers.chosen
    assert mark is not None
    assert mark.span == (start_s, stop_s)
    result = screen.statistics.selection
    assert result is not None
    assert result.energy_j == pytest.approx(window["energy_j"], rel=1e-9)
    assert result.energy_u_j == pytest.approx(window["energy_u_j"], rel=1e-6)
    assert result.lost == 0
    box = screen.statistics.selection_box
    assert "±" in box.headline["energy"].text()
    half = 1.96 * result.energy_u_j / result.span_s
    shown = quantity(result.power.mean, "W", half)
    value, _, half_with_unit = shown.partition(" ± ")
    assert box.cells["power", "mean"].text() == f"{value} mW"
    assert box.cells["power", "±"].text() == half_with_unit
    assert re.fullmatch(r"0\.00\d+ V", box.cells["voltage", "±"].text())
    assert re.fullmatch(r"[\d.]+ ± [\d.]+ ms", box.headline["span"].text())
    assert box.cells["current", "±"].text().endswith("A")


def test_markers_are_placed_freely_with_alt(
    screen: TraceScreen, qtbot: QtBot, virtual_session: Path
) -> None:
    from PySide6.QtCore import Qt

    window = _windows(virtual_session)[2]
    state = screen.state
    assert state is not None
    state.set_view(state.view.on(window["start_s"], window["stop_s"], 0.4))
    _settled(qtbot, screen)
    off_s = 3 * state.view.span_s / screen.stack.lanes.time.width()
    held = Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.AltModifier
    _drag(qtbot, screen, window["start_s"] + off_s, window["stop_s"], held)
    mark = state.markers.chosen
    assert mark is not None
    assert mark.b_s != window["stop_s"]


def test_a_row_zooms_to_its_window_and_d_puts_a_marker_around_it(
    screen: TraceScreen, qtbot: QtBot
) -> None:
    state = screen.state
    assert state is not None
    position = next(
        k for k, span in enumerate(state.subject.spans) if span.kind == "sample"
    )
    span = state.subject.spans[position]
    screen.windows.table.selectRow(position)
    assert state.view.start_s < span.start_s < span.stop_s < state.view.stop_s
    assert state.view.span_s < 1.5 * (span.stop_s - span.start_s)
    _key(qtbot, screen, "D")
    mark = state.markers.chosen
    assert mark is not None
    assert mark.span == (span.start_s, span.stop_s)
    from PySide6.QtGui import QGuiApplication
    from PySide6.QtWidgets import QPushButton

    screen.findChild(QPushButton, "marker-copy").click()
    labels, copied = QGuiApplication.clipboard().text().splitlines()
    assert labels.startswith("SIMULATED, ") and copied.startswith("marker 1")
    _settled(qtbot, screen)
    result = screen.statistics.selection
    assert result is not None
    assert result.energy_j == span.energy_j


def test_keys_place_select_move_undo_and_delete_markers(
    screen: TraceScreen, qtbot: QtBot
) -> None:
    from PySide6.QtCore import Qt

    state = screen.state
    assert state is not None
    _key(qtbot, screen, "S")
    _key(qtbot, screen, "D")
    assert [mark.is_dual for mark in state.markers.marks] == [False, True]
    _key(qtbot, screen, "1")
    assert state.markers.selected == 1
    before = state.markers.marks[0].a_s
    _key(qtbot, screen, "F")
    edge = state.subject.trace.next_edge(before)
    assert edge is not None
    assert state.markers.marks[0].a_s == edge.at_s
    qtbot.keyClick(screen.stack, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert state.markers.marks[0].a_s == before
    both = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    qtbot.keyClick(screen.stack, Qt.Key.Key_Z, both)
    assert state.markers.marks[0].a_s == edge.at_s
    _key(qtbot, screen, "Delete")
    assert [mark.number for mark in state.markers.marks] == [2]
    _key(qtbot, screen, "Delete")
    assert state.markers.marks == ()
    qtbot.keyClick(screen.stack, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert [mark.number for mark in state.markers.marks] == [2]


def test_letters_are_keys_of_the_screen_also_in_a_table(
    screen: TraceScreen, qtbot: QtBot
) -> None:
    from PySide6.QtCore import Qt

    state = screen.state
    assert state is not None
    screen.windows.table.selectRow(3)
    screen.windows.table.setFocus()
    qtbot.keyClick(screen.windows.table, Qt.Key.Key_D)
    mark = state.markers.chosen
    assert mark is not None
    assert mark.span[0] == state.subject.spans[3].start_s


def test_keys_zoom_pan_and_show_all(screen: TraceScreen, qtbot: QtBot) -> None:
    state = screen.state
    assert state is not None
    whole = state.view
    _key(qtbot, screen, "Plus")
    closer = state.view
    assert closer.span_s < whole.span_s
    _key(qtbot, screen, "Right")
    assert state.view.start_s > closer.start_s
    assert state.view.span_s == pytest.approx(closer.span_s)
    _key(qtbot, screen, "Minus")
    _key(qtbot, screen, "Asterisk", shift=True)
    assert state.view == whole


def test_the_dt_is_typed_exactly_and_nonsense_is_a_notice(
    screen: TraceScreen, qtbot: QtBot
) -> None:
    from PySide6.QtCore import Qt

    state = screen.state
    assert state is not None
    _key(qtbot, screen, "D")
    screen.tabs.setCurrentWidget(screen.markers)
    panel = screen.markers
    panel.dt.selectAll()
    qtbot.keyClicks(panel.dt, "12.5 ms")
    qtbot.keyClick(panel.dt, Qt.Key.Key_Return)
    mark = state.markers.chosen
    assert mark is not None
    assert mark.dt_s == pytest.approx(12.5e-3, rel=1e-9)
    assert panel.rate.text() == "80 Hz"
    panel.a.selectAll()
    qtbot.keyClicks(panel.a, "soon")
    qtbot.keyClick(panel.a, Qt.Key.Key_Return)
    assert "no number" in panel.notice.text


def test_the_numbers_are_copied_with_all_digits(
    screen: TraceScreen, qtbot: QtBot, virtual_session: Path
) -> None:
    from PySide6.QtCore import Qt
    from PySide6.QtGui import QGuiApplication

    state = screen.state
    assert state is not None
    position = next(
        k for k, span in enumerate(state.subject.spans) if span.kind == "sample"
    )
    screen.windows.table.selectRow(position)
    _settled(qtbot, screen)
    qtbot.keyClick(screen.stack, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    rows = dict(
        line.split("\t")[:2] for line in QGuiApplication.clipboard().text().splitlines()
    )
    assert float(rows["energy"]) == _windows(virtual_session)[0]["energy_j"]
    assert rows["lost samples"] == "0"
    assert (
        rows["labels"] == ", ".join(state.subject.labels)
        and "SIMULATED" in rows["labels"]
    )
    qtbot.keyClick(
        screen.windows.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier
    )
    first, heads, _ = QGuiApplication.clipboard().text().splitlines()
    assert first == rows["labels"] and "\t" in heads


def test_numbers_of_windows_have_intervals_but_those_of_warm_ups(
    screen: TraceScreen,
) -> None:
    state = screen.state
    assert state is not None
    lines = screen.windows.table.text().splitlines()
    head, *rows = (line.split("\t") for line in lines if "\t" in line)
    energy, power, time_u = map(head.index, ("energy", "power", "± time"))
    warm = [span.warm_up for span in state.subject.spans]
    assert any(warm) and len(rows) == len(warm)
    for row, is_warm in zip(rows, warm, strict=True):
        if is_warm:
            assert (row[energy], row[power], row[time_u]) == ("warm-up", "", "-")
        else:
            assert row[energy].endswith("J")
            assert re.fullmatch(r"[\d.]+ ± [\d.]+ .?W", row[power])
            assert re.fullmatch(r"[\d.]+ .?s", row[time_u])


def test_the_statistics_of_the_view_are_those_of_the_engine(
    screen: TraceScreen, qtbot: QtBot
) -> None:
    state = screen.state
    assert state is not None
    state.set_view(state.view.on(0.05, 0.15, 0.0))
    _settled(qtbot, screen)
    # The whole line is the title's.
    assert state.selection is None
    assert not screen.statistics.selection_box.remark.isVisible()
    result = screen.statistics.view
    assert result is not None
    expected = state.subject.trace.statistics(state.view.start_s, state.view.stop_s)
    assert result == expected
    mean_a = state.subject.trace.current(state.view.start_s, state.view.stop_s).mean()
    assert result.current is not None
    assert result.current.mean == pytest.approx(mean_a, rel=1e-3)


def test_l_shows_logarithmic_axes_and_question_mark_the_keys(
    screen: TraceScreen, qtbot: QtBot
) -> None:
    state = screen.state
    assert state is not None
    _key(qtbot, screen, "L")
    assert state.scales["power"].logarithmic
    frames = screen.stack.frames
    screen.stack.repaint()
    assert screen.stack.frames == frames + 1
    _key(qtbot, screen, "Question", shift=True)
    assert screen.sheet.isVisible()
    _key(qtbot, screen, "Escape")
    assert not screen.sheet.isVisible()


def test_another_trial_is_chosen_and_the_span_asked_for_is_shown(
    screen: TraceScreen, window: MainWindow, qtbot: QtBot, virtual_session: Path
) -> None:
    screen.header.trial.setCurrentIndex(1)
    qtbot.waitUntil(
        lambda: screen.state is not None and screen.state.subject.trial == 2
    )
    window.shell.open_trace(virtual_session, 3, "", (0.1, 0.2))
    qtbot.waitUntil(
        lambda: screen.state is not None and screen.state.subject.trial == 3
    )
    state = screen.state
    assert state is not None
    assert state.view.start_s < 0.1 < 0.2 < state.view.stop_s
    assert state.selection is not None
    assert (state.selection.start_s, state.selection.stop_s) == (0.1, 0.2)


def _no_jls(path: Path) -> None:
    path.write_text("this is no trace\n", "utf-8")


def _cut(path: Path) -> None:
    path.write_bytes(b"jlsfmt\r\n \n \x1a  \xb2\x1c")


def _empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize(
    ("name", "make"), [("notes.txt", _no_jls), ("cut.jls", _cut), ("empty.jls", _empty)]
)
def test_a_file_that_is_no_trace_is_a_notice(
    window: MainWindow,
    qtbot: QtBot,
    tmp_path: Path,
    name: str,
    make: Callable[[Path], None],
) -> None:
    path = tmp_path / name
    make(path)
    window.shell.open_trace(path)
    screen: Any = window.screen_named("trace")
    qtbot.waitUntil(lambda: bool(screen.notice.text), timeout=10_000)
    assert name in screen.notice.text
    assert "try:" in screen.notice.text
    assert "Traceback" not in screen.notice.text
    assert "fault of the rig" not in screen.notice.text


def test_a_trace_that_is_cut_off_opens_with_what_it_has(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, virtual_session: Path
) -> None:
    whole = (virtual_session / "trial-1" / "trace.jls").read_bytes()
    path = tmp_path / "cut.jls"
    path.write_bytes(whole[: len(whole) * 2 // 3])
    window.shell.open_trace(path)
    screen: Any = window.screen_named("trace")
    qtbot.waitUntil(
        lambda: screen.state is not None or bool(screen.notice.text), timeout=20_000
    )
    if screen.state is None:
        assert "try:" in screen.notice.text
        assert "fault of the rig" not in screen.notice.text
    else:
        assert any("not closed" in row.detail for row in screen.problems.table.rows)


def test_a_table_of_another_program_opens(
    window: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    path = tmp_path / "log.csv"
    rows = [f"{k / 1000:.3f},{0.01 + (k % 10) * 1e-4:.6f},3.3" for k in range(2000)]
    path.write_text(
        "\n".join(["time (s),current (A),voltage (V)", *rows]) + "\n", "utf-8"
    )
    window.shell.open_trace(path)
    screen: Any = window.screen_named("trace")
    qtbot.waitUntil(lambda: screen.state is not None and screen.idle(), timeout=10_000)
    assert screen.statistics.view.count == 2000
    assert screen.statistics.view.current.mean == pytest.approx(0.01045, rel=1e-4)


def _point(screen: TraceScreen, at_s: float, y: float) -> Any:
    from PySide6.QtCore import QPoint

    return QPoint(round(screen.stack.x_of(at_s)), round(y))


def test_lines_and_the_bar_between_them_are_dragged(
    screen: TraceScreen, qtbot: QtBot
) -> None:
    from PySide6.QtCore import Qt

    state = screen.state
    assert state is not None
    state.set_snap(False)
    state.place_dual(0.1, 0.2)
    left = Qt.MouseButton.LeftButton
    none = Qt.KeyboardModifier.NoModifier
    lane = screen.stack.lanes.signals["current"].center().y()
    pixel_s = state.view.span_s / screen.stack.lanes.time.width()

    def drag(from_s: float, to_s: float, y: float) -> None:
        qtbot.mousePress(screen.stack, left, none, _point(screen, from_s, y))
        _move(screen, _point(screen, to_s, y), none)
        qtbot.mouseRelease(screen.stack, left, none, _point(screen, to_s, y))

    drag(0.2, 0.3, lane)
    assert state.markers.marks[0].span == pytest.approx((0.1, 0.3), abs=2 * pixel_s)
    before_s = state.markers.marks[0].dt_s
    drag(0.2, 0.25, screen.stack.lanes.markers.center().y())
    assert state.markers.marks[0].span == pytest.approx((0.15, 0.35), abs=3 * pixel_s)
    assert state.markers.marks[0].dt_s == pytest.approx(before_s)
    state.undo()
    state.undo()
    assert state.markers.marks[0].span == (0.1, 0.2)


def test_the_overview_moves_the_view_and_makes_another(
    screen: TraceScreen, qtbot: QtBot
) -> None:
    from PySide6.QtCore import QPoint, Qt

    state = screen.state
    assert state is not None
    strip = screen.overview
    left, none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    begin, end = QPoint(strip.width() // 2, 30), QPoint(strip.width() * 3 // 4, 30)
    qtbot.mousePress(strip, left, none, begin)
    qtbot.mouseMove(strip, end)
    qtbot.mouseRelease(strip, left, none, end)
    made = state.view
    assert 0.1 < made.span_s / made.duration_s < 0.4
    middle = QPoint((begin.x() + end.x()) // 2, 30)
    qtbot.mousePress(strip, left, none, middle)
    qtbot.mouseMove(strip, middle - QPoint(100, 0))
    qtbot.mouseRelease(strip, left, none, middle - QPoint(100, 0))
    assert state.view.start_s < made.start_s
    assert state.view.span_s == pytest.approx(made.span_s)


def test_flags_of_windows_are_seen_without_scrolling(
    window: MainWindow, screen: TraceScreen, qtbot: QtBot
) -> None:
    """The widths are those of the screen in windows of 1400 and 1024 px."""
    from PySide6.QtCore import Qt

    table = screen.windows.table
    for wide, last in ((1250, "power"), (874, "flags")):
        window.resize(wide, 700)
        _settled(qtbot, screen)
        seen = [
            table.model().headerData(number, Qt.Orientation.Horizontal)
            for number in range(table.model().columnCount())
            if not table.isColumnHidden(number)
        ]
        assert seen[:5] == ["step", "phase", "time", "energy", "flags"]
        assert seen[-1] == last
        assert not table.horizontalScrollBar().isVisible(), wide
