# SPDX-License-Identifier: Apache-2.0
"""The main window: navigation on the left, one screen at a time, a status line."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path

from PySide6.QtCore import QByteArray, QSignalBlocker, Qt
from PySide6.QtGui import (
    QCloseEvent,
    QDragEnterEvent,
    QDropEvent,
    QFocusEvent,
    QKeySequence,
    QShortcut,
)
from PySide6.QtWidgets import (
    QListWidget,
    QMainWindow,
    QSplitter,
    QStackedWidget,
    QWidget,
)

from gui.about.keys import KeysScreen
from gui.memory import Memory
from gui.screen import Screen
from gui.shell import Shell, TraceRequest
from gui.start.screen import StartScreen
from gui.style import stylesheet
from gui.theme import DARK, LIGHT, Recoloured, Theme
from gui.widgets.controls import named, push_button
from gui.widgets.layouts import in_column, in_row
from gui.widgets.notice import Notice
from gui.widgets.path_field import PathBar
from rig.api.sessions.session import Session, open_session
from rig.errors import DataError
from rig.files.user_folders import expanded

_SIZE = (1400, 900)
_LEAST = (640, 440)
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
    "meter": _Place("Meter", "gui.run.meter.screen", "MeterScreen"),
}
#: Pages that are not part of the work: below the navigation, with keys of their own.
_PAGES = {
    "keys": _Place("Keys", "gui.about.keys", "KeysScreen"),
    "about": _Place("About", "gui.about.screen", "AboutScreen"),
}
_ALL = _PLACES | _PAGES


class _Navigation(QListWidget):
    """The list of screens; to have the keyboard chooses none."""

    def focusInEvent(self, event: QFocusEvent) -> None:  # noqa: N802
        """Take the keyboard: Qt would choose the first row where there is none, as on a
        page."""
        nothing = self.currentRow() < 0
        with QSignalBlocker(self):
            super().focusInEvent(event)
            if nothing:
                self.clearSelection()


class MainWindow(QMainWindow):
    """The window; `trace_only` shows the trace screen alone, without navigation."""

    def __init__(self, memory: Memory, trace_only: bool = False) -> None:
        super().__init__()
        self.setWindowTitle("neurorig")
        self.resize(*_SIZE)
        self.setAcceptDrops(True)
        self.shell = Shell(self, memory, self)
        self.shell.worker.failed.connect(self.say_error)
        self._take_theme(self.shell.theme)
        self.shell.themes.changed.connect(self._take_theme)
        self._screens: dict[str, Screen] = {}
        self._stack = QStackedWidget()
        # A screen's preferred size must not make the window larger than a small
        # display.
        self._stack.setMinimumSize(*_LEAST)
        self._notice = Notice()
        self._path_bar = PathBar()
        self._path_bar.given.connect(self.open_path)
        self._navigation = self._new_navigation()
        self._bottom = self._new_bottom()
        for widget in (self._navigation, self._bottom):
            widget.setVisible(not trace_only)
        right = in_column([self._path_bar, self._notice, (self._stack, 1)], spacing=0)
        left = in_column([(self._navigation, 1), self._bottom], spacing=0)
        whole = in_row([left, (right, 1)], spacing=0)
        middle = QWidget()
        middle.setLayout(whole)
        self.setCentralWidget(middle)
        self.statusBar().setSizeGripEnabled(True)
        self.setTabOrder(self._navigation, self._stack)
        self._navigation.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._new_shortcuts()
        self._remembered()
        self.go("trace" if trace_only else "start")

    def screen_named(self, name: str) -> Screen:
        """Return a screen, made now where it was not before."""
        if name not in self._screens:
            made: Screen = _screen_class(name)(self.shell)
            made.setObjectName(f"screen-{name}")
            self._screens[name] = made
            self._stack.addWidget(made)
            self._restore_splitters(made)
            if isinstance(made, KeysScreen):
                made.show_keys(
                    {_ALL[each].title: _screen_class(each).KEYS for each in _ALL}
                )
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
        self._mark(name)
        screen.enter()

    def say(self, text: str) -> None:
        """Show a text in the status line."""
        self.statusBar().showMessage(text)

    def say_error(self, error: BaseException) -> None:
        """Show an error above the screen."""
        self._notice.show_error(error)

    def open_path(self, path: Path) -> None:
        """Open a path: a session folder, a bench file, or a trace."""
        path = expanded(path)
        self._notice.clear()
        if not path.exists():
            error = DataError(
                f"{path} is not there",
                try_next=(
                    "its path; a session folder, a bench file or a trace can be opened"
                ),
            )
            self.say_error(error)
        elif path.is_dir():
            self.open_session(path)
        elif path.suffix == _BENCH_FILE:
            self.shell.set_bench(path)
            self.go("bench")
        else:
            self.shell.memory.opened(path)
            self.shell.open_trace(path)

    def open_demonstration(self) -> None:
        """Open the finished demonstration session; where there is none, run it
        first."""
        start = self.screen_named("start")
        assert isinstance(start, StartScreen)
        start.open_demonstration()

    def open_session(self, path: Path) -> None:
        """Open a session in the background, and hand it to every screen."""
        self.say(f"opening {path.name} ...")
        self.shell.worker.do(
            lambda: open_session(path),
            self._take_session,
            self.say_error,
            key="open-session",
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
        """Close every screen, remember the layout, and close the window."""
        # Every screen is closed, also after one that refuses.
        closed = [screen.close_down() for screen in self._screens.values()]
        if not all(closed):
            event.ignore()
            return
        geometry = bytes(self.saveGeometry().toBase64().data()).decode("ascii")
        self.shell.memory.set("geometry", geometry)
        self._keep_splitters()
        self.shell.worker.close_down()
        event.accept()

    def _take_session(self, session: Session) -> None:
        self.shell.session = session
        self.shell.memory.opened(session.path)
        self.setWindowTitle(f"{session.path.name} - neurorig")
        self.say(f"{session.path.name} is open")
        for screen in list(self._screens.values()):
            screen.show_session(session)
        current = self._stack.currentWidget()
        if isinstance(current, Screen) and current is self._screens.get("start"):
            self.go("trials")

    def _new_navigation(self) -> QListWidget:
        navigation = named(_Navigation(), "navigation", "Screens")
        navigation.setFixedWidth(_NAVIGATION_PX)
        navigation.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        for number, page in enumerate(_PLACES.values(), start=1):
            navigation.addItem(page.title)
            navigation.item(number - 1).setToolTip(f"Ctrl+{number}")
        navigation.currentRowChanged.connect(self._go_to_row)
        return navigation

    def _go_to_row(self, row: int) -> None:
        if row >= 0:
            self.go(list(_PLACES)[row])

    def _new_bottom(self) -> QWidget:
        """Return what stands below the navigation: the pages that are not part of the
        work."""
        bottom = QWidget()
        bottom.setObjectName("navigation-bottom")
        bottom.setFixedWidth(_NAVIGATION_PX)
        buttons = []
        for name, tip in (("keys", "F1"), ("about", "Ctrl+Shift+A")):
            title, go = _PAGES[name].title, partial(self.go, name)
            buttons.append(push_button(f"go-{name}", title, go, tip=tip, role="link"))
        in_column(buttons, bottom, margins=(8, 8, 8, 10), spacing=2)
        return bottom

    def _new_shortcuts(self) -> None:
        keys = {f"Ctrl+{number}": name for number, name in enumerate(_PLACES, start=1)}
        keys |= {"F1": "keys", "Ctrl+Shift+A": "about"}
        for key, name in keys.items():
            QShortcut(QKeySequence(key), self).activated.connect(
                lambda name=name: self._go_into(name)
            )
        others = {
            "Ctrl+Shift+T": self._change_theme,
            "Ctrl+O": self._path_bar.ask,
            "Ctrl+Q": self.close,
        }
        for key, action in others.items():
            QShortcut(QKeySequence(key), self).activated.connect(action)

    def _go_into(self, name: str) -> None:
        """Show a screen, and put the keyboard into it."""
        self.go(name)
        screen = self._screens[name]
        focused = self.focusWidget()
        if focused is None or not screen.isAncestorOf(focused):
            screen.setFocus()
            screen.focusNextChild()

    def _change_theme(self) -> None:
        name = LIGHT.name if self.shell.theme is DARK else DARK.name
        self.shell.memory.set("theme", name)
        self.shell.themes.choose(name)

    def _take_theme(self, theme: Theme) -> None:
        """Take the style sheet of a theme. The application has none: Qt would apply it
        again to each widget that is added while a screen is made.
        """
        self.setStyleSheet(stylesheet(theme))
        for widget in self.findChildren(QWidget):
            if isinstance(widget, Recoloured):
                widget.recolour()

    def _mark(self, name: str) -> None:
        """Show in the navigation which screen this is; pages have no row."""
        row = list(_PLACES).index(name) if name in _PLACES else -1
        if row < 0:
            self._navigation.clearSelection()
        self._navigation.setCurrentRow(row)

    def _splitters(self, screen: QWidget) -> list[QSplitter]:
        return [each for each in screen.findChildren(QSplitter) if each.objectName()]

    def _restore_splitters(self, screen: QWidget) -> None:
        for splitter in self._splitters(screen):
            sizes = self.shell.memory.get(f"splitter {splitter.objectName()}", [])
            if len(sizes) == splitter.count() and all(
                isinstance(size, int) for size in sizes
            ):
                splitter.setSizes(sizes)

    def _keep_splitters(self) -> None:
        for screen in self._screens.values():
            for splitter in self._splitters(screen):
                # One that was never shown has no sizes yet.
                if any(splitter.sizes()):
                    name = f"splitter {splitter.objectName()}"
                    self.shell.memory.set(name, splitter.sizes())

    def _remembered(self) -> None:
        geometry = self.shell.memory.get("geometry", "")
        if geometry:
            self.restoreGeometry(
                QByteArray.fromBase64(geometry.encode("ascii", "replace"))
            )


def _screen_class(name: str) -> type[Screen]:
    page = _ALL[name]
    screen_class: type[Screen] = getattr(import_module(page.module), page.name)
    return screen_class
