# SPDX-License-Identifier: Apache-2.0
"""Digital lines and lines of uart.log have lanes of their own below SYNC."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QHelpEvent, QPainter
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QToolTip, QWidget

from gui.picture.lanes import LEAST_LINE_PX, LINE_PX
from gui.trace.shown.state import UART
from gui.trace.shown.uart_lane import UartLane
from rig.api.traces.uart_lines import UartLine, UartLines
from rig.importers.options import Options
from tests.rig.importers.profilers.test_ppk2 import HIGH, LOW, archive, frame

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from gui.trace.screen import TraceScreen
    from gui.window import MainWindow


def texts_of(widget: QWidget) -> list[str]:
    """Return the texts that a widget paints."""
    painted: list[str] = []
    draw = QPainter.drawText

    def noted(painter: QPainter, *words: Any) -> Any:
        painted.append(next(word for word in words if isinstance(word, str)))
        return draw(painter, *words)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(QPainter, "drawText", noted)
        widget.grab()
    return painted


def hover(screen: TraceScreen, place: QPoint) -> str:
    """Return the text under the mouse at a place of the picture."""
    at = screen.stack.mapToGlobal(place)
    screen.stack.event(QHelpEvent(QHelpEvent.Type.ToolTip, place, at))
    return QToolTip.text()


@pytest.fixture
def logic(window: MainWindow, qtbot: QtBot, tmp_path: Path) -> TraceScreen:
    """The trace screen with a recording where D0 and D3 change, D1 is SYNC."""
    rows = []
    for number in range(4000):
        d0, d1, d3 = (number // every % 2 for every in (100, 500, 1000))
        lines = {0: LOW + d0, 1: HIGH - d1, 3: LOW + d3}
        rows.append(frame(100.0, lines))
    path = tmp_path / "logic.ppk2"
    path.write_bytes(archive(b"".join(rows)))
    window.shell.said[path] = Options(supply_v=3.0, sync="D1")
    window.shell.open_trace(path)
    made: Any = window.screen_named("trace")
    qtbot.waitUntil(lambda: made.state is not None and made.idle(), timeout=20_000)
    return made


def test_each_line_that_changes_has_a_lane_and_sync_stays(logic: TraceScreen) -> None:
    assert logic.state is not None
    assert list(logic.state.lines) == ["D0", "D2", "D3", "D4", "D5", "D6", "D7"]
    lanes = logic.stack.lanes
    assert list(lanes.lines) == ["D0", "D3"] and lanes.sync is not None
    assert lanes.texts is None
    assert len(logic.state.lines["D0"]) == 39 and len(logic.state.lines["D3"]) == 3
    assert logic.state.lines["D3"].at_s.tolist() == pytest.approx(
        [0.009995, 0.019995, 0.029995]
    )
    assert "D0: 39 edges" in hover(logic, lanes.lines["D0"].center().toPoint())
    heights = [area.height() for area in lanes.lines.values()]
    assert all(LEAST_LINE_PX - 2 <= tall <= LINE_PX for tall in heights)
    assert lanes.lines["D3"].bottom() <= lanes.time.top()


def test_a_lane_is_hidden_and_shown_on_the_axes_tab(
    logic: TraceScreen, qtbot: QtBot
) -> None:
    boxes = logic.scales.lanes
    logic.tabs.setCurrentWidget(logic.scales)
    assert boxes["D0"].isChecked() and not boxes["D7"].isChecked()
    assert "no edges" in boxes["D7"].toolTip()
    assert not boxes[UART].isVisible(), "a file of no session has no uart.log"
    boxes["D0"].click()
    boxes["D7"].click()
    assert list(logic.stack.lanes.lines) == ["D3", "D7"]
    assert "no edges" in texts_of(logic.stack)


def lane() -> UartLane:
    lines = (
        UartLine(0.010, 0.002, "tx", "RUN slot 0"),
        UartLine(0.030, 0.001, "rx", "DONE with a text that is far too long for it"),
        UartLine(0.031, 0.001, "rx", "noise 3 B", ok=False),
    )
    return UartLane.of(UartLines(lines, unplaced=4))


def test_lines_of_the_uart_are_texts_at_their_times(
    screen: TraceScreen, qtbot: QtBot
) -> None:
    assert screen.state is not None and screen.state.uart is None
    assert not screen.scales.lanes[UART].isEnabled(), "a virtual device has no UART"
    screen.state.set_uart(lane())
    screen.state.set_view(screen.state.view.on(0.0, 0.06, 0.0))
    area = screen.stack.lanes.texts
    assert area is not None
    painted = texts_of(screen.stack)
    assert "→ RUN slot 0" in painted and "← noise 3 B" in painted
    assert not any(text.endswith("too long for it") for text in painted)
    y = area.center().y()
    tip = hover(screen, QPointF(screen.stack.x_of(0.0302), y).toPoint())
    assert "DONE with a text that is far too long for it" in tip
    assert "0.030000 s ± 1 ms (limits)" in tip and "from the device" in tip
    assert "4 before the first and after" in screen.scales.lanes[UART].toolTip()


def test_a_click_on_a_line_selects_the_time_that_it_may_have(
    screen: TraceScreen, qtbot: QtBot
) -> None:
    assert screen.state is not None
    screen.state.set_uart(lane())
    screen.state.set_view(screen.state.view.on(0.0, 0.06, 0.0))
    area = screen.stack.lanes.texts
    assert area is not None
    position = QPointF(screen.stack.x_of(0.020), area.center().y()).toPoint()
    QTest.mouseClick(screen.stack, Qt.MouseButton.LeftButton, pos=position)
    chosen = screen.state.selection
    assert chosen is not None and chosen.name == "→ RUN slot 0"
    assert (chosen.start_s, chosen.stop_s) == pytest.approx((0.008, 0.012))
    screen.tabs.setCurrentWidget(screen.scales)
    screen.scales.lanes[UART].click()
    assert screen.stack.lanes.texts is None


def test_many_lines_cost_strokes_of_a_pixel(screen: TraceScreen) -> None:
    assert screen.state is not None
    times = np.linspace(0.0, screen.state.view.duration_s, 50_000)
    lines = tuple(UartLine(float(at_s), 1e-3, "tx", "RUN") for at_s in times)
    screen.state.set_uart(UartLane.of(UartLines(lines, 0)))
    screen.state.set_view(screen.state.view.fitted())
    screen.stack.repaint()
    assert screen.stack.paint_s < 0.5
