# SPDX-License-Identifier: Apache-2.0
"""`rig gui` and `rig view`: what they begin with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from gui import application
from gui.command import gui, view
from rig.api import demonstration

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from gui.window import MainWindow


@pytest.mark.parametrize(
    ("command", "words", "wanted"),
    [
        (gui, [], (None, False, False)),
        (gui, ["--demo"], (None, False, True)),
        (gui, ["x.jls"], (Path("x.jls"), False, False)),
        (view, ["x.jls"], (Path("x.jls"), True, False)),
    ],
)
def test_a_command_starts_the_window_with(
    command: Any, words: list[str], wanted: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[tuple[Any, ...]] = []

    def start(arguments: list[str], *rest: Any) -> int:
        begun.append(rest)
        return 0

    monkeypatch.setattr(application, "start", start)
    done = CliRunner().invoke(command, words)
    assert done.exit_code == 0, done.output
    assert begun == [wanted]


def test_the_demonstration_is_the_session_at_hand(
    window: MainWindow, virtual_session: Path, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demonstration, "default_root", lambda: virtual_session.parent)
    monkeypatch.setattr(demonstration, "NAME", "virtual-null")
    window.open_demonstration()
    qtbot.waitUntil(lambda: window.shell.session is not None)
    assert window.shell.session is not None
    assert window.shell.session.path == virtual_session
    assert window._stack.currentWidget().objectName() == "screen-trials"
