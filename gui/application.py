# SPDX-License-Identifier: Apache-2.0
"""Starts the application: Qt, the theme, the window. Errors that no screen handles are
shown in the window.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from PySide6.QtCore import QMessageLogContext, QTimer, QtMsgType, qInstallMessageHandler
from PySide6.QtWidgets import QApplication

from gui.memory import Memory, default_path
from gui.window import MainWindow
from rig.errors import BenchError
from rig.files.user_folders import expanded
from rig.host.second_signal import handle_once
from rig.host.window_needs import DISPLAY_TRY
from rig.importers.options import Options

#: Python hears a signal only between two of its own steps, so that Qt must let it have
#: one.
_HEAR_SIGNALS_MS = 200


def start(
    arguments: Sequence[str],
    path: Path | None,
    trace_only: bool,
    demonstration: bool = False,
    options: Options | None = None,
) -> int:
    """Show the window until it is closed; return the exit code. `options` are those for
    the file at `path`, of another program.
    """
    application = _opened(arguments)
    application.setApplicationName("neurorig")
    window = MainWindow(Memory(default_path()), trace_only=trace_only)
    _say_what_nobody_caught(window)
    # By an event: closing the window before Qt waits for events would not end Qt.
    handle_once(lambda number, frame: QTimer.singleShot(0, window.close))
    beat = QTimer()
    # A timer without a slot of Python runs no Python.
    beat.timeout.connect(lambda: None)
    beat.start(_HEAR_SIGNALS_MS)
    window.show()
    if path is not None:
        if options is not None:
            window.shell.said[expanded(path).absolute()] = options
        window.open_path(path)
    elif demonstration:
        window.open_demonstration()
    return application.exec()


def _opened(arguments: Sequence[str]) -> QApplication:
    """Return Qt's application. Without a display Qt would end the process by abort():
    say why."""
    heard: list[str] = []

    def hear(kind: QtMsgType, context: QMessageLogContext, text: str) -> None:
        if kind != QtMsgType.QtFatalMsg:
            heard.append(text)
            return
        evidence = "; ".join(
            line.strip(" .") for line in heard or text.splitlines()[:1]
        )
        error = BenchError(
            "the window has no display to open on",
            evidence=evidence,
            try_next=DISPLAY_TRY,
            see="no-display",
        )
        sys.stderr.write("error " + str(error).replace("\n", "\n  ") + "\n")
        sys.stderr.flush()
        os._exit(error.exit_code)

    before = qInstallMessageHandler(hear)
    try:
        return QApplication(list(arguments))
    finally:
        qInstallMessageHandler(before)


def _say_what_nobody_caught(window: MainWindow) -> None:
    """Say an error that no screen caught in the window, and print it for a report."""

    def caught(
        kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        sys.__excepthook__(kind, error, trace)
        window.say_error(error)

    sys.excepthook = caught
