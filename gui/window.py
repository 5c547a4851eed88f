# SPDX-License-Identifier: Apache-2.0
"""The main window: navigation on the left, one screen at a time, a status line."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from PySide6.QtCore import QByteArray, Qt
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QHBoxLayout,
    QListWidget,
    QMainWindow,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from gui.memory import Memory
from gui.screen import Screen
from gui.shell import Shell, TraceRequest
from gui.widgets.notice import Notice
from rig.api.session import Session, open_session
from rig.store.session_folder import EVENTS

_SIZE = (1400, 900)
_NAVIGATION_PX = 150
_BENCH_FILE = ".toml"


@dataclass(frozen=True, slots=True)
class _Place:
    title: str
    module: str
    name: str


_PLACES = {
    "start": _Place("Start", "gui.start.screen", "StartScreen"),
    "bench": _Place("Bench", "gui.bench.screen", "BenchScreen"),
    "run": _Place("Run", "gui.run.screen", "RunScreen"),
    "trace": _Place("Trace", "gui.trace.screen", "TraceScreen"),
    "trials": _Place("Trials", "gui.trials.screen", "TrialsScreen"),
    "sessions": _Place("Sessions", "gui.sessions.screen", "SessionsScreen"),
}


class MainWindow(QMainWindow):
    """The window; `trace_only` shows the trace screen alone, without navigation."""

    def __init__(self, memory: Memory, trace_only: bool = False) -> None:
        super().__init__()
        self.setWindowTitle("neurorig")
        self.resize(*_SIZE)
        self.setAcceptDrops(True)
        self.shell = Shell(self, memory, self)
        self.shell.worker.failed.connect(self.say_error)
        self._screens: dict[str, Screen] = {}
        self._stack = QStackedWidget()
        self._notice = Notice(self)
        self._navigation = self._new_navigation()
        self._navigation.setVisible(not trace_only)
        self._lay_out()
        self._remembered()
        self.go("trace" if trace_only else "start")

    def screen_named(self, name: str) -> Screen:
        """Return a screen, made now where it was not before."""
        if name not in self._screens:
            place = _PLACES[name]
            made: Screen = getattr(import_module(place.module), place.name)(self.shell)
            made.setObjectName(f"screen-{name}")
            self._screens[name] = made
            self._stack.addWidget(made)
            if self.shell.session is not None:
                made.show_session(self.shell.session)
        return self._screens[name]

    def go(self, name: str) -> None:
        """Show a screen."""
        before = self._stack.currentWidget()
        screen = self.screen_named(name)
        if before is screen:
            return
        if isinstance(before, Screen):
            before.leave()
        self._stack.setCurrentWidget(screen)
        self._navigation.setCurrentRow(list(_PLACES).index(name))
        screen.enter()

    def say(self, text: str) -> None:
        """Show a text in the status line."""
        self.statusBar().showMessage(text)

    def say_error(self, error: BaseException) -> None:
        """Show an error above the screen."""
        self._notice.show_error(error)

    def open_path(self, path: Path) -> None:
        """Open what a path names: a session folder, a bench file, or else a trace."""
        if (path / EVENTS).exists():
            self.open_session(path)
        elif path.suffix == _BENCH_FILE:
            self.shell.set_bench(path)
            self.go("bench")
        else:
            self.shell.open_trace(path)

    def open_session(self, path: Path) -> None:
        """Open a session in the background, and hand it to every screen."""
        self.say(f"opening {path.name} ...")
        self.shell.worker.do(
            lambda: open_session(path), self._take_session, self.say_error, key="open-session"
        )

    def open_trace(self, request: TraceRequest) -> None:
        """Show a trace in the trace screen."""
        self.go("trace")
        self.screen_named("trace").show_trace(request)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:  # noqa: N802
        """Accept files."""
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:  # noqa: N802
        """Open the first file that was dropped."""
        for url in event.mimeData().urls():
            if url.isLocalFile():
                event.acceptProposedAction()
                self.open_path(Path(url.toLocalFile()))
                return

    def closeEvent(self, event: QCloseEvent) -> None:  # noqa: N802
        """Let every screen end what it does, remember the layout, and close."""
        # Every screen ends what it does, also behind one that says no.
        closed = [screen.close_down() for screen in self._screens.values()]
        if not all(closed):
            event.ignore()
            return
        geometry = bytes(self.saveGeometry().toBase64().data()).decode("ascii")
        self.shell.memory.set("geometry", geometry)
        self.shell.worker.close_down()
        event.accept()

    def _take_session(self, session: Session) -> None:
        self.shell.session = session
        self.shell.memory.opened(session.path)
        self.setWindowTitle(f"{session.path.name} - neurorig")
        self.say(f"{session.path.name} is open")
        for screen in list(self._screens.values()):
            screen.show_session(session)
        if isinstance(self._stack.currentWidget(), Screen) and (
            self._stack.currentWidget() is self._screens.get("start")
        ):
            self.go("trials")

    def _new_navigation(self) -> QListWidget:
        navigation = QListWidget()
        navigation.setObjectName("navigation")
        navigation.setAccessibleName("Screens")
        navigation.setFixedWidth(_NAVIGATION_PX)
        navigation.addItems([place.title for place in _PLACES.values()])
        names = list(_PLACES)
        navigation.currentRowChanged.connect(lambda row: self.go(names[row]))
        for number, name in enumerate(names, start=1):
            shortcut = QShortcut(QKeySequence(f"Ctrl+{number}"), self)
            shortcut.activated.connect(lambda name=name: self.go(name))
        return navigation

    def _lay_out(self) -> None:
        right = QVBoxLayout()
        right.setContentsMargins(0, 0, 0, 0)
        right.setSpacing(0)
        right.addWidget(self._notice)
        right.addWidget(self._stack, 1)
        whole = QHBoxLayout()
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(0)
        whole.addWidget(self._navigation)
        whole.addLayout(right, 1)
        middle = QWidget()
        middle.setLayout(whole)
        self.setCentralWidget(middle)
        self.statusBar().setSizeGripEnabled(True)
        self.setTabOrder(self._navigation, self._stack)
        self._navigation.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def _remembered(self) -> None:
        geometry = self.shell.memory.get("geometry", "")
        if geometry:
            self.restoreGeometry(QByteArray.fromBase64(geometry.encode("ascii", "replace")))
