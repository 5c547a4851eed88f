# SPDX-License-Identifier: Apache-2.0
"""The run screen with a bench at hand, worked by clicks and keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QAbstractButton, QLineEdit, QPlainTextEdit

from gui.run.flight import Flight
from gui.run.record import RunSnapshot
from gui.run.screen import RunScreen
from rig.simulation.world import World

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from gui.window import MainWindow

LIMIT_MS = 60_000


@dataclass(slots=True)
class RunAt:
    """The screen, and a person's actions on it."""

    window: MainWindow
    screen: RunScreen
    root: Path
    qtbot: QtBot

    @property
    def flight(self) -> Flight:
        """Return the run at hand."""
        assert self.screen.flight is not None
        return self.screen.flight

    @property
    def snapshot(self) -> RunSnapshot:
        """Return how the run is."""
        return self.flight.record.snapshot()

    def click(self, name: str) -> None:
        """Click a button."""
        button = self.screen.findChild(QAbstractButton, name)
        assert button is not None and button.isEnabled(), name
        self.qtbot.mouseClick(button, Qt.MouseButton.LeftButton)

    def type_settings(self, *settings: str) -> None:
        """Type settings, a line each."""
        box = self.screen.findChild(QPlainTextEdit, "run-settings")
        box.clear()
        for setting in settings:
            self.qtbot.keyClicks(box, setting)
            self.qtbot.keyClick(box, Qt.Key.Key_Return)

    def until(self, condition: Callable[[], object]) -> None:
        """Wait until something is so."""
        self.qtbot.waitUntil(lambda: bool(condition()), timeout=LIMIT_MS)

    def planned(self) -> None:
        """Wait until the plan of the typed settings is shown, or why there is none."""
        plan = self.screen.plan
        # The form waits a moment after the newest key before it asks for a plan.
        self.until(
            lambda: not any(timer.isActive() for timer in plan.findChildren(QTimer))
        )
        self.until(lambda: not self.window.shell.worker.busy)
        self.until(lambda: plan.estimate is not None or plan.notice.text)

    def start(self) -> None:
        """Click Start, and wait until the engine is at work or there is a reason why
        not."""
        before = self.screen.flight
        self.click("run-start")
        self.until(lambda: self.screen.flight is not before or self.screen.notice.text)

    def over(self) -> None:
        """Wait until the engine has ended, and the screen knows."""
        self.until(lambda: not self.flight.alive and self.screen.bar.start.isEnabled())
        self.until(lambda: not self.window.shell.worker.busy)

    def fill(self, name: str, text: str) -> None:
        """Type into a line."""
        line = self.screen.findChild(QLineEdit, name)
        line.clear()
        self.qtbot.keyClicks(line, text)


@pytest.fixture
def run_at(window: MainWindow, qtbot: QtBot, tmp_path: Path) -> Callable[[Path], RunAt]:
    """Return the screen with a bench file at hand; its sessions lie in tmp_path."""

    def at(bench: Path) -> RunAt:
        window.shell.set_bench(bench)
        window.go("run")
        screen = window.screen_named("run")
        assert isinstance(screen, RunScreen)
        made = RunAt(window, screen, tmp_path / "sessions", qtbot)
        made.fill("run-root", str(made.root))
        made.planned()
        return made

    return at


@pytest.fixture
def worlds(monkeypatch: pytest.MonkeyPatch) -> list[World]:
    """Collect the worlds of all benches that are opened."""
    made: list[World] = []
    init = World.__init__

    def noted(self: World, *words: object, **named: object) -> None:
        init(self, *words, **named)  # type: ignore[arg-type]
        made.append(self)

    monkeypatch.setattr(World, "__init__", noted)
    return made
