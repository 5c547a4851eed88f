# SPDX-License-Identifier: Apache-2.0
"""`rig gui` and `rig view`: their first screen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from gui import application
from gui.command import gui, view
from rig.api import demonstration
from rig.errors import ConfigError
from rig.importers.options import Options

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from gui.window import MainWindow


@pytest.mark.parametrize(
    ("command", "words", "wanted"),
    [
        (gui, [], (None, False, False, None)),
        (gui, ["--demo"], (None, False, True, None)),
        (gui, ["x.jls"], (Path("x.jls"), False, False, None)),
        (view, ["x.jls"], (Path("x.jls"), True, False, Options())),
        (
            view,
            ["x.ppk2", "--supply-v", "3.3", "--sync", "D2", "--rate", "100000"],
            (
                Path("x.ppk2"),
                True,
                False,
                Options(supply_v=3.3, sync="D2", rate_hz=100_000),
            ),
        ),
    ],
)
def test_a_command_starts_the_window_with(
    command: Any,
    words: list[str],
    wanted: tuple[Any, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun: list[tuple[Any, ...]] = []

    def start(arguments: list[str], *rest: Any) -> int:
        begun.append(rest)
        return 0

    monkeypatch.setattr(application, "start", start)
    done = CliRunner().invoke(command, words)
    assert done.exit_code == 0, done.output
    assert begun == [wanted]


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        (["--supply-v", "3", "--voltage", "U"], "both are given"),
        (["--supply-v", "-3"], "supply_v: -3 V"),
    ],
)
def test_options_that_contradict_are_refused_before_a_window_opens(
    words: list[str], cause: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        application, "start", lambda *rest: pytest.fail("a window opens")
    )
    with pytest.raises(ConfigError, match=cause):
        CliRunner().invoke(view, ["x.ppk2", *words], catch_exceptions=False)


def test_of_a_session_no_signals_can_be_named(
    window: MainWindow, virtual_session: Path, qtbot: QtBot
) -> None:
    window.shell.said[virtual_session / "trial-1"] = Options(supply_v=3.0)
    window.shell.said[virtual_session] = Options(supply_v=3.0)
    screen: Any = window.screen_named("trace")
    for path in (virtual_session, virtual_session / "trial-1"):
        window.shell.open_trace(path)
        qtbot.waitUntil(lambda: "of the rig's own" in screen.notice.text)
        qtbot.waitUntil(screen.idle)
        assert not screen.form.isVisible() and screen.state is None
        screen.notice.clear()


def test_the_demonstration_is_the_session_at_hand(
    window: MainWindow,
    virtual_session: Path,
    qtbot: QtBot,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(demonstration, "default_root", lambda: virtual_session.parent)
    monkeypatch.setattr(demonstration, "NAME", "virtual-null")
    window.open_demonstration()
    qtbot.waitUntil(lambda: window.shell.session is not None)
    assert window.shell.session is not None
    assert window.shell.session.path == virtual_session
    assert window._stack.currentWidget().objectName() == "screen-trials"
