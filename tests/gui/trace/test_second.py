# SPDX-License-Identifier: Apache-2.0
"""A second trace below the first, over the same times or its own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from gui.trace.screen import TraceScreen


@pytest.fixture
def both(screen: TraceScreen, qtbot: QtBot) -> TraceScreen:
    """The trace screen with two trials."""
    QTest.keyClick(screen.stack, Qt.Key.Key_V)
    qtbot.waitUntil(lambda: screen.second.state is not None and screen.idle())
    return screen


def views(screen: TraceScreen) -> list[tuple[float, float]]:
    """Return what both show."""
    states = screen.state, screen.second.state
    assert all(states)
    return [
        (item.view.start_s, item.view.stop_s) for item in states if item is not None
    ]


def test_v_shows_another_trial_and_hides_it(both: TraceScreen, qtbot: QtBot) -> None:
    second = both.second
    assert second.state is not None
    assert both.state is not None
    assert (both.state.subject.trial, second.state.subject.trial) == (1, 2)
    assert second.isVisible()
    assert second.stack.isVisible()
    assert "SIMULATED" in second.labels.text()
    # The box of the other trial is replaced by a line above its plots.
    numbers = (
        second.stack.ask_numbers() if second.stack.ask_numbers is not None else None
    )
    assert numbers is not None
    assert numbers.now is not None
    assert second.state.edges is not None
    assert not both.statistics.isVisible()
    # Nor with another trial above it.
    before = both.state
    both._choose(3, "", 1)
    qtbot.waitUntil(lambda: both.state is not before and both.idle())
    assert second.isVisible()
    assert not both.statistics.isVisible()
    QTest.keyClick(both.stack, Qt.Key.Key_V)
    assert not second.isVisible()
    assert both.statistics.isVisible()
    # It is as it was when it is shown again.
    before = second.state
    QTest.keyClick(both.stack, Qt.Key.Key_V)
    assert second.state is before


def test_both_move_together_or_each_by_itself(both: TraceScreen, qtbot: QtBot) -> None:
    first, second = both.state, both.second.state
    assert first is not None
    assert second is not None
    first.set_view(first.view.on(0.02, 0.06, 0.0))
    assert views(both)[1] == pytest.approx((0.02, 0.06))
    QTest.keyClick(both.second.stack, Qt.Key.Key_Right)
    second.set_view(second.view.panned(0.01))
    assert views(both)[0] == pytest.approx(views(both)[1])
    box = both.second.linked
    QTest.mouseClick(box, Qt.MouseButton.LeftButton, pos=QPoint(8, box.height() // 2))
    assert not box.isChecked()
    first.set_view(first.view.fitted())
    assert views(both)[0] != pytest.approx(views(both)[1])
    QTest.mouseClick(box, Qt.MouseButton.LeftButton, pos=QPoint(8, box.height() // 2))
    assert views(both)[1][0] == pytest.approx(views(both)[0][0])
    # Hidden, it follows no more.
    both.show_second()
    before = views(both)[1]
    first.set_view(first.view.on(0.05, 0.07, 0.0))
    assert views(both)[1] == before


def test_any_trace_can_be_the_second_one(
    both: TraceScreen, qtbot: QtBot, tmp_path: Path, virtual_session: Path
) -> None:
    second = both.second
    path = tmp_path / "t.csv"
    rows = [f"{at / 1000},{0.001 * (1 + at % 3)},3.3" for at in range(500)]
    path.write_text("time (s),current (A),voltage (V)\n" + "\n".join(rows))
    second.path.setText(str(path))
    QTest.keyClick(second.path, Qt.Key.Key_Return)
    qtbot.waitUntil(
        lambda: second.state is not None and second.state.subject.path == path
    )
    qtbot.waitUntil(both.idle)
    assert not second.trial.isVisible()
    assert not second.labels.isVisible()
    second.path.setText(str(tmp_path / "absent.jls"))
    QTest.keyClick(second.path, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: "absent.jls" in second.notice.text)
    second.path.setText(str(virtual_session))
    QTest.keyClick(second.path, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: second.trial.isVisible() and both.idle())
    second.trial.setCurrentIndex(2)
    qtbot.waitUntil(
        lambda: second.state is not None and second.state.subject.trial == 3
    )
    assert second.notice.text == ""


def test_axes_are_alike(both: TraceScreen, qtbot: QtBot) -> None:
    first, second = both.state, both.second.state
    assert first is not None
    assert second is not None
    first.set_utc(True)
    first.set_numbered(False)
    assert second.utc
    assert not second.numbered
    both.second.trial.setCurrentIndex(2)
    qtbot.waitUntil(lambda: both.second.state is not second and both.idle())
    assert both.second.state is not None
    assert both.second.state.utc
