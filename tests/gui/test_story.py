# SPDX-License-Identifier: Apache-2.0
"""The whole way, by clicks and keys only: create a bench, prove its wiring, run, stop,
resume, find the energy of the results between two markers, overlay trials, find the one
that drifts, compare.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import (
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QTabBar,
    QWidget,
)

import rig
from gui.run.record import RunSnapshot, RunStage
from gui.widgets.table import DataTable
from rig.api import demonstration
from rig.api.comparing.metric_pairs import ComparisonOutcome
from rig.api.demonstration import DRIFTING_TRIAL
from tests.gui.trace.test_screen import _drag

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from gui.window import MainWindow

LONG_MS = 60_000
FEW = (
    "task.asc.samples=6",
    "scenario.single_stream.idle_s=0.1",
    "monitor.virtual.sample_hz=50000",
)


class Hands:
    """A person's actions in the window: clicks, keys and reading."""

    def __init__(self, window: MainWindow, qtbot: QtBot) -> None:
        self.window = window
        self.qtbot = qtbot

    def until(self, holds: Callable[[], object]) -> None:
        self.qtbot.waitUntil(lambda: bool(holds()), timeout=LONG_MS)

    def go(self, number: int) -> Any:
        """Show a screen by Ctrl and its number."""
        key = Qt.Key(Qt.Key.Key_0 + number)
        self.qtbot.keyClick(self.window, key, Qt.KeyboardModifier.ControlModifier)
        return self.window._stack.currentWidget()

    def find(self, kind: type[QWidget], name: str) -> Any:
        result = [
            each for each in self.window.findChildren(kind, name) if each.isVisible()
        ]
        assert result, f"no {name} is shown"
        return result[0]

    def click(self, name: str) -> None:
        button = self.find(QPushButton, name)
        self.until(button.isEnabled)
        self.qtbot.mouseClick(button, Qt.MouseButton.LeftButton)

    def type_into(self, name: str, text: str) -> Any:
        line = self.find(QLineEdit, name)
        line.setFocus()
        self.qtbot.keyClick(line, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
        self.qtbot.keyClicks(line, text)
        return line

    def click_row(self, table: DataTable, place: int, held: Any = None) -> None:
        """Click a row of a table where it is shown."""
        index = table.model().index(place, 0)
        table.scrollTo(index)
        held = Qt.KeyboardModifier.NoModifier if held is None else held
        at = table.visualRect(index).center()
        self.qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, held, at)

    def tab(self, tabs: Any, title: str) -> None:
        """Click a tab by its title."""
        bar: QTabBar = tabs.tabBar()
        position = next(k for k in range(bar.count()) if title in bar.tabText(k))
        self.qtbot.mouseClick(
            bar, Qt.MouseButton.LeftButton, pos=bar.tabRect(position).center()
        )

    def settings(self, *settings: str) -> None:
        box = self.find(QPlainTextEdit, "run-settings")
        box.setFocus()
        self.qtbot.keyClick(box, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
        for setting in settings:
            self.qtbot.keyClicks(box, setting)
            self.qtbot.keyClick(box, Qt.Key.Key_Return)
        screen: Any = self.window.screen_named("run")
        # The form waits a moment after the newest key before it asks for a plan.
        timers = screen.plan.findChildren(QTimer)
        self.until(lambda: not any(timer.isActive() for timer in timers))
        self.until(lambda: not self.window.shell.worker.busy)
        self.until(lambda: screen.plan.estimate is not None)

    def run(self, stop_in_trial: int = 0) -> Path:
        """Start a run; stop it in the midst of a trial. Return its folder."""
        screen: Any = self.window.screen_named("run")
        before = screen.flight
        self.click("run-start")
        self.until(lambda: screen.flight is not before)
        if stop_in_trial:
            self.until(lambda: in_midst(screen.flight.record.snapshot(), stop_in_trial))
            self.click("run-stop")
        self.over()
        folder = screen.flight.record.snapshot().folder
        assert isinstance(folder, Path)
        return folder

    def over(self) -> None:
        screen: Any = self.window.screen_named("run")
        self.until(lambda: not screen.flight.alive and screen.bar.start.isEnabled())
        self.until(lambda: not self.window.shell.worker.busy)


def in_midst(snapshot: RunSnapshot, trial: int) -> bool:
    """Return whether a run is in the midst of a trial, or after it."""
    return snapshot.trial > trial or (snapshot.trial == trial and snapshot.queries > 3)


def test_from_a_new_bench_to_two_compared_sessions(
    window: MainWindow,
    qtbot: QtBot,
    tmp_path: Path,
    drifting_session: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demonstration, "default_root", lambda: drifting_session.parent)
    window.resize(1400, 900)
    hands = Hands(window, qtbot)
    # Keys go to the active window; without a window manager none makes it so.
    window.activateWindow()
    hands.until(window.isActiveWindow)

    create_a_bench(hands, tmp_path / "virtual-asc.toml")
    prove_its_wiring(hands)
    first = run_stop_and_resume(hands)
    find_the_energy_of_the_results(hands, first)
    overlay_the_trials(hands)
    find_the_drifting_trial(hands)
    compare_two(hands)


def create_a_bench(hands: Hands, made: Path) -> None:
    """Create a bench from the example that needs no hardware."""
    screen = hands.go(2)
    table = hands.find(DataTable, "examples")
    hands.until(lambda: len(table.rows) > 5)
    hands.type_into("examples-find", "virtual-asc")
    hands.until(lambda: 1 <= len(table.rows) < 5)
    hands.click_row(table, [row.name for row in table.rows].index("virtual-asc"))
    hands.click("new-create")
    hands.until(lambda: hands.window.shell.bench_path == made)
    assert made.is_file() and screen.objectName() == "screen-bench"


def prove_its_wiring(hands: Hands) -> None:
    """Prove each wire by the key for it."""
    screen: Any = hands.window.screen_named("bench")
    hands.until(lambda: hands.find(QPushButton, "bench-prove").isEnabled())
    hands.qtbot.keyClick(hands.window, Qt.Key.Key_F9)
    hands.until(lambda: screen.busy)
    hands.until(lambda: not screen.busy)
    assert [row.sign for row in screen.connect_page.rows.rows] == ["✓ ok"] * 6
    assert not any(card.supply == "on" for card in screen.cards.by_key.values())


def run_stop_and_resume(hands: Hands) -> Path:
    """Run ASC Single-stream, stop it in its second trial, go on."""
    hands.go(3)
    hands.settings(*FEW)
    folder = hands.run(stop_in_trial=2)
    screen: Any = hands.window.screen_named("run")
    assert screen.flight.record.snapshot().stage is RunStage.STOPPED
    assert "supply is off" in screen.outcome.text
    hands.click("run-resume")
    hands.over()
    assert screen.flight.record.snapshot().stage is RunStage.FINISHED, (
        screen.notice.text
    )
    assert screen.flight.record.snapshot().folder == folder
    session = rig.open_session(folder)
    assert session.status == "success" and len(session.results.trials) == 5
    assert session.check().ok
    hands.until(lambda: hands.window.shell.session is not None)
    return folder


def find_the_energy_of_the_results(hands: Hands, folder: Path) -> None:
    """Between two markers on the edges of windows lies the energy of results.json."""
    screen = hands.go(4)
    hands.until(lambda: screen.state is not None and screen.idle())
    table = screen.windows.table
    result = []
    for position, span in enumerate(list(table.rows)):
        if span.kind != "sample" or span.phase != "infer" or span.flags:
            continue
        hands.click_row(table, position)
        hands.until(screen.idle)
        off_s = 3 * screen.state.view.span_s / screen.stack.lanes.time.width()
        shift = Qt.KeyboardModifier.ShiftModifier
        _drag(hands.qtbot, screen, span.start_s + off_s, span.stop_s - off_s, shift)
        hands.until(screen.idle)
        marked = screen.state.markers.chosen
        assert marked is not None and marked.span == (span.start_s, span.stop_s)
        assert screen.statistics.selection.lost == 0
        result.append(screen.statistics.selection.energy_j)
    assert len(result) == 6
    stated = rig.open_session(folder).content["metrics"]["energy_infer"]["per_trial"][
        0
    ]["value"]
    assert statistics.fmean(result) == pytest.approx(stated, rel=1e-9)


def overlay_the_trials(hands: Hands) -> None:
    """Lay the trials over each other on the edge of one step."""
    screen: Any = hands.window.screen_named("trace")
    position = next(
        k for k, span in enumerate(screen.state.subject.spans) if span.kind == "sample"
    )
    hands.click_row(screen.windows.table, position)
    hands.tab(screen.tabs, "Trials")
    hands.until(lambda: screen.overlay.shown is not None and screen.idle())
    assert [item.trial for item in screen.overlay.shown.trials] == [1, 2, 3, 4, 5]


def find_the_drifting_trial(hands: Hands) -> None:
    """In the demonstration one trial drifts: the trials screen points at it and leads
    there."""
    hands.go(1)
    hands.click("start-demo")
    screen: Any = hands.window.screen_named("trials")
    hands.until(lambda: hands.window._stack.currentWidget() is screen)
    button = screen.findChild(QPushButton, "trials-odd-trace")
    hands.until(
        lambda: button.isVisible() and f"trial {DRIFTING_TRIAL}" in button.text()
    )
    hands.click("trials-odd-trace")
    trace: Any = hands.window.screen_named("trace")
    hands.until(lambda: hands.window._stack.currentWidget() is trace and trace.idle())
    hands.until(lambda: trace.state.subject.trial == DRIFTING_TRIAL)


def compare_two(hands: Hands) -> None:
    """Run once more on a device that needs more power, choose both, and see what
    differs."""
    hands.go(3)
    hands.click("run-page-plan")
    hands.settings(*FEW, "sut.virtual.infer.power_w=0.06", "bench.trials=2")
    hands.run()
    screen = hands.go(6)
    hands.until(lambda: len(screen.table.rows) == 2)
    hands.click_row(screen.table, 0)
    hands.click_row(screen.table, 1, Qt.KeyboardModifier.ControlModifier)
    hands.until(lambda: bool(screen.compared.metrics.rows))
    rows = {pair.name: pair for pair in screen.compared.metrics.rows}
    assert rows["energy_infer"].outcome is ComparisonOutcome.DIFFERS
    assert rows["energy_infer"].relative == pytest.approx(1 / 3, rel=0.1)
    changed = {change.path: change.after for change in screen.compared.changes.rows}
    assert changed["bench.sut.virtual.infer.power_w"] == "0.06"
    assert "SIMULATED" in screen.compared.findChild(QLabel, "labels").text()
