# SPDX-License-Identifier: Apache-2.0
"""A window without a screen, and sessions to show in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rig.session.session import open_bench
from tests.conftest import VIRTUAL_NULL
from tests.recorded import recorded

# Before Qt is imported: a test that wants a display sets its own.
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from gui.window import MainWindow


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave the window's tests out where Qt cannot be loaded; tests/run.py says so."""
    try:
        import PySide6.QtWidgets  # noqa: F401
    except ImportError:
        return True
    return None


#: A wait ends as soon as its condition holds; a busy computer may take its time until
#: then.
_WAIT_MS = 60_000


@pytest.fixture(autouse=True, scope="session")
def _patient() -> None:
    """Let every wait of pytest-qt have a minute, also where a test asks for less."""
    from pytestqt.qtbot import QtBot

    original = QtBot.waitUntil

    def wait_until(
        bot: QtBot, condition: Callable[[], Any], *, timeout: int = _WAIT_MS
    ) -> None:
        original(bot, condition, timeout=max(timeout, _WAIT_MS))

    QtBot.waitUntil = wait_until


@pytest.fixture
def window(qtbot: QtBot, tmp_path: Path) -> Iterator[MainWindow]:
    """The window, without stored settings; it is closed after the test."""
    from gui.memory import Memory
    from gui.window import MainWindow

    made = MainWindow(Memory(tmp_path / "config" / "gui.json"))
    qtbot.addWidget(made)
    made.show()
    yield made
    made.close()


@pytest.fixture(scope="session")
def virtual_session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished session of five trials on the virtual bench; not to be changed."""

    def record(root: Path) -> None:
        overrides = ["task.null.samples=6", "scenario.single_stream.idle_s=0.1"]
        with open_bench(VIRTUAL_NULL, overrides) as bench:
            bench.run(5, root)

    [folder] = recorded(tmp_path_factory, "virtual", record).iterdir()
    return folder
