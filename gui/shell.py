# SPDX-License-Identifier: Apache-2.0
"""The shell: what all screens share, and how one leads to another."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from PySide6.QtCore import QObject, Signal

from gui.bridge import Bridge
from gui.memory import Memory
from gui.theme import Theme, Themes
from gui.worker import BackgroundWorker
from rig.api.sessions.session import Session
from rig.importers.options import Options


@dataclass(frozen=True, slots=True)
class TraceRequest:
    """A trace to show: a file, or a session with its trial, rail and span in
    seconds."""

    path: Path
    trial: int | None = None
    rail: str = ""
    span: tuple[float, float] | None = None


class ShellWindow(Protocol):
    """The part of the window that the shell uses."""

    def say(self, text: str) -> None:
        """Show a text in the status line."""

    def go(self, name: str) -> None:
        """Show a screen."""

    def open_path(self, path: Path) -> None:
        """Open a path: a session folder, a bench file, or a trace."""

    def open_session(self, path: Path) -> None:
        """Open a session in the background, and hand it to every screen."""

    def open_trace(self, request: TraceRequest) -> None:
        """Show a trace in the trace screen."""


class Shell(QObject):
    """The shared state of the window, as screens use it."""

    #: The bench file at hand is another: its path, or None.
    bench_changed = Signal(object)

    def __init__(
        self, window: ShellWindow, memory: Memory, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._window = window
        self.memory = memory
        self.themes = Themes(memory.get("theme", ""), self)
        self.bridge = Bridge(self)
        self.worker = BackgroundWorker(self)
        self.session: Session | None = None
        self.bench_path: Path | None = None
        #: Options given since the start for files of other programs.
        self.said: dict[Path, Options] = {}

    @property
    def theme(self) -> Theme:
        """The theme at hand; `themes.changed` says when it is another."""
        return self.themes.now

    def said_of(self, path: Path) -> Options:
        """Return the options that were given for a file since the start."""
        return self.said.get(path.absolute(), Options())

    def set_bench(self, path: Path | None) -> None:
        """Take another bench file in hand."""
        self.bench_path = path
        if path is not None:
            self.memory.opened(path)
        self.bench_changed.emit(path)

    def say(self, text: str) -> None:
        """Show a text in the status line."""
        self._window.say(text)

    def go(self, name: str) -> None:
        """Show a screen: start, bench, run, trace, trials, sessions, meter."""
        self._window.go(name)

    def open_path(self, path: Path) -> None:
        """Open a path: a session folder, a bench file, or a trace."""
        self._window.open_path(path)

    def open_session(self, path: Path) -> None:
        """Open a session in the background, and hand it to every screen."""
        self._window.open_session(path)

    def open_trace(
        self,
        path: Path,
        trial: int | None = None,
        rail: str = "",
        span: tuple[float, float] | None = None,
    ) -> None:
        """Show a trace in the trace screen."""
        self._window.open_trace(TraceRequest(path, trial, rail, span))
