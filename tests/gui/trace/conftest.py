# SPDX-License-Identifier: Apache-2.0
"""The trace screen with a trace in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from gui.trace.screen import TraceScreen
    from gui.window import MainWindow


@pytest.fixture
def window(qtbot: QtBot, tmp_path: Path) -> Iterator[MainWindow]:
    """The window as `rig view` shows it: the trace screen alone."""
    from gui.memory import Memory
    from gui.window import MainWindow

    made = MainWindow(Memory(tmp_path / "config" / "gui.json"), trace_only=True)
    qtbot.addWidget(made)
    made.show()
    yield made
    made.close()


@pytest.fixture
def screen(window: MainWindow, qtbot: QtBot, virtual_session: Path) -> TraceScreen:
    """The trace screen with the first trial of a session, its picture and its numbers
    there."""
    window.shell.open_trace(virtual_session)
    made: Any = window.screen_named("trace")
    qtbot.waitUntil(lambda: made.state is not None and made.idle(), timeout=10_000)
    return made
