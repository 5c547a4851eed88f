# SPDX-License-Identifier: Apache-2.0
"""The programs `rig gui` and `rig view`: their first screen, and that a signal closes
them.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.programs import captured
from tests.rig.importers.profilers.test_ppk2 import HIGH, archive, frame
from tests.uncounted import uncounted
from tests.waiting import eventually

#: Opens the window on a session, and is sent a signal as soon as that was asked for:
#: before Qt waits for events.
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


@pytest.mark.parametrize(
    ("program", "number"), [(AT_ONCE, signal.SIGTERM), (LATER, signal.SIGINT)]
)
def test_a_signal_closes_the_window(
    virtual_session: Path, tmp_path: Path, number: signal.Signals, program: str
) -> None:
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            program.format(number=int(number)),
            "gui",
            str(virtual_session),
        ],
        env=uncounted()
        | {"QT_QPA_PLATFORM": "offscreen", "XDG_CONFIG_HOME": str(tmp_path)},
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


#: Prints the properties of the shown trace once it is loaded, and closes the window.
SHOWN = """
from PySide6.QtCore import QTimer
from gui.window import MainWindow
from rig.cli.main import main
opened = MainWindow.open_path
def open_path(window, path):
    opened(window, path)
    screen = window.screen_named("trace")
    def look():
        if screen.state is None:
            return
        timer.stop()
        trace = screen.state.subject.trace
        print(screen.state.subject.has_sync, trace.statistics().energy_j)
        window.close()
    timer = QTimer(window)
    timer.timeout.connect(look)
    timer.start(10)
MainWindow.open_path = open_path
main()
"""


def test_options_of_rig_view_open_a_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a.ppk2"
    path.write_bytes(archive(frame(1000.0, {2: HIGH}) * 50_000))
    options = ["--supply-v", "3.3", "--sync", "D2"]
    done = captured(
        [sys.executable, "-c", SHOWN, "view", str(path), *options],
        env=os.environ
        | {"QT_QPA_PLATFORM": "offscreen", "XDG_CONFIG_HOME": str(tmp_path)},
        timeout=120,
        check=True,
    )
    has_sync, energy_j = done.stdout.split()
    assert has_sync == "True"
    assert float(energy_j) == pytest.approx(1e-3 * 3.3 * 0.5, rel=1e-6)


@pytest.mark.parametrize("words", [("gui",), ("gui", "--demo"), ("view", "x.jls")])
def test_without_a_display_a_sentence_says_so(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    hidden = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    environment = {
        name: value for name, value in os.environ.items() if name not in hidden
    }
    done = captured(
        [sys.executable, "-c", LATER, *words],
        env=environment | {"XDG_CONFIG_HOME": str(tmp_path)},
        timeout=60,
    )
    assert done.returncode == 3, done.stderr
    lines = done.stderr.splitlines()
    assert lines[0] == "error the window has no display to open on"
    assert lines[1].startswith("  evidence: ") and lines[2].startswith("  try: ")
    assert len(lines) == 3 and done.stdout == ""
