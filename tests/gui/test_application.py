# SPDX-License-Identifier: Apache-2.0
"""The program `rig gui`: it ends politely when it is told to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import eventually

#: Opens the window on a session, and is sent a signal as soon as that was asked for: before Qt
#: waits for events.
AT_ONCE = """
import os, sys
from gui.window import MainWindow
from rig.cli.main import main
opened = MainWindow.open_path
def open_path(window, path):
    opened(window, path)
    os.kill(os.getpid(), {number})
MainWindow.open_path = open_path
main()
"""
LATER = "from rig.cli.main import main; main()"


@pytest.mark.parametrize(("program", "number"), [(AT_ONCE, signal.SIGTERM), (LATER, signal.SIGINT)])
def test_a_signal_closes_the_window(
    virtual_session: Path, tmp_path: Path, number: signal.Signals, program: str
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", program.format(number=int(number)), "gui", str(virtual_session)],
        env=os.environ | {"QT_QPA_PLATFORM": "offscreen", "XDG_CONFIG_HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    memory = tmp_path / "neurorig" / "gui.json"
    try:
        if program == LATER:
            eventually(
                lambda: memory.exists() and virtual_session.name in memory.read_text(),
                process=process,
            )
            process.send_signal(number)
        out, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0, out + errors
    assert "Traceback" not in errors


@pytest.mark.parametrize("words", [("gui",), ("gui", "--demo"), ("view", "x.jls")])
def test_without_a_display_a_sentence_says_so(words: tuple[str, ...], tmp_path: Path) -> None:
    hidden = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    done = subprocess.run(
        [sys.executable, "-c", LATER, *words],
        env=environment | {"XDG_CONFIG_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 3, done.stderr
    lines = done.stderr.splitlines()
    assert lines[0] == "error the window has no display to open on"
    assert lines[1].startswith("  evidence: ") and lines[2].startswith("  try: ")
    assert len(lines) == 3 and done.stdout == ""
