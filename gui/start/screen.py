# SPDX-License-Identifier: Apache-2.0
"""The start screen: three ways to begin, and the recent files."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QProgressBar,
    QStackedWidget,
    QWidget,
)

from gui.bridge import Bridge
from gui.screen import Screen
from gui.shell import Shell
from gui.start import recent
from gui.start.new_board import NewBoardPage, ports_known
from gui.start.recent import RecentRow
from gui.widgets.controls import named, push_button
from gui.widgets.file_dialog import BENCHES, TRACES, FileRequest, ask, chooser
from gui.widgets.layouts import CARD, PAGE, STRETCH, in_column, in_row
from gui.widgets.notice import Severity
from gui.widgets.path_field import PathField
from gui.widgets.table import DataTable, TableColumn
from gui.widgets.text import PlainLabel
from gui.worker import BackgroundWorker
from rig.api import demonstration
from rig.bench.first_bench import FirstBench, make
from rig.bench.scan import scan
from rig.errors import Stopped
from rig.files.shipped import DEMO
from rig.host.stop import Stop
from rig.store.events import Event, StepBegun

_FINE = 1000
_KINDS = {
    recent.SESSION: "",
    recent.BENCH: "",
    recent.TRACE: "",
    recent.MISSING: "muted",
}
_COLUMNS = (
    TableColumn(
        "opened last", lambda row: row.name, colour=lambda row: _KINDS[row.kind]
    ),
    TableColumn("what", lambda row: row.kind, colour=lambda row: _KINDS[row.kind]),
    TableColumn("folder", lambda row: row.place, colour=lambda row: "muted"),
)
_WITHOUT = (
    "A virtual device and a virtual monitor, in virtual time: every screen works, the"
    " truth is known, and every number is labelled SIMULATED."
)
_CONNECT = (
    "Choose the parts, see which pin goes to which input, and prove every wire before"
    " the first measurement."
)
_TRACE = (
    "Joulescope JLS 1 and 2, Power Profiler, CSV; also a file that was cut off. What it"
    " does not say itself is asked for; it is never changed."
)


class StartScreen(Screen):
    """Three ways to begin, and recent files."""

    KEYS: ClassVar = (
        ("Enter", "open the recent file at hand"),
        ("Delete", "forget it; the file stays"),
    )

    def __init__(self, shell: Shell) -> None:
        super().__init__(shell)
        title = PlainLabel("neurorig", role="title")
        subtitle = PlainLabel(
            "Accuracy, latency and energy of a device, every number with its"
            " uncertainty",
            role="muted",
        )
        self._recent = DataTable(
            _COLUMNS, "recent", "Recent sessions, bench files and traces"
        )
        self._recent.activated.connect(self._open_recent)
        self._demo = push_button(
            "start-demo",
            "Open a finished &demonstration",
            self.open_demonstration,
            role="primary",
        )
        self._bar = named(
            QProgressBar(), "demo-progress", "Progress of the demonstration"
        )
        self._bar.setRange(0, _FINE)
        cancel = push_button("demo-cancel", "Cancel", self._cancel_demo)
        cancel.setAccessibleName("Cancel the demonstration")
        self._making = QWidget()
        in_row([(self._bar, 1), cancel], self._making)
        self._making.hide()
        self._stop: Stop | None = None
        self._board_stop: Stop | None = None
        self._worker = BackgroundWorker(self, "rig-demonstration")
        self._bridge = Bridge(self)
        self._bridge.arrived.connect(
            lambda share: self._bar.setValue(round(_FINE * share))
        )
        cards = QHBoxLayout()
        cards.setSpacing(14)
        for card in (self._without_card(), self._connect_card(), self._trace_card()):
            cards.addWidget(card, 1)
        self._ways = QWidget()
        in_column([cards, (self._recent, 1)], self._ways, spacing=14)
        self.new_board = NewBoardPage()
        self.new_board.closed.connect(self._show_ways)
        self.new_board.asked.connect(self._make_board)
        self.new_board.scanned.connect(self._scan)
        self.new_board.stopped.connect(self._stop_board)
        self.new_board.opened.connect(self._open_bench)
        self._heard = Bridge(self)
        self._heard.arrived.connect(self.new_board.add_line)
        self._pages = QStackedWidget()
        self._pages.addWidget(self._ways)
        self._pages.addWidget(self.new_board)
        in_column(
            [title, subtitle, self.notice, (self._pages, 1)],
            self,
            margins=PAGE,
            spacing=14,
        )

    def enter(self) -> None:
        """Look which recent files are still there."""
        paths = self.shell.memory.recent
        self.work("recent", lambda: recent.rows(paths), self._take_recent)

    def keyPressEvent(self, event: Any) -> None:  # noqa: N802
        """Forget the recent file at hand by Delete."""
        if event.key() == Qt.Key.Key_Delete and self._recent.hasFocus():
            for row in self._recent.selected():
                self.shell.memory.forget(row.path)
            self.enter()
        else:
            super().keyPressEvent(event)

    def _take_recent(self, rows: list[RecentRow]) -> None:
        self._recent.set_rows(rows)
        self._recent.setVisible(bool(rows))

    def _open_recent(self) -> None:
        for row in self._recent.selected()[:1]:
            self.shell.open_path(row.path)

    def _without_card(self) -> QWidget:
        run = push_button("start-virtual", "&Run a virtual bench", self._run_virtual)
        return _card("Try without hardware", _WITHOUT, self._demo, self._making, run)

    def _connect_card(self) -> QWidget:
        connect = push_button(
            "start-bench",
            "&Connect a bench",
            lambda: self.shell.go("bench"),
            role="primary",
        )
        path = PathField("start-bench-path", "Path of a bench file", "a bench file")
        path.given.connect(self.shell.open_path)
        choose = chooser(path, FileRequest.FILE, BENCHES, self.shell.open_path)
        new = push_button("start-board", "New &board", self.show_new_board)
        return _card(
            "Connect a bench",
            _CONNECT,
            connect,
            new,
            _beside(path, choose),
        )

    def _show_ways(self) -> None:
        self.notice.clear()
        self._pages.setCurrentWidget(self._ways)

    def show_new_board(self) -> None:
        """Show the page of a board's first bench, and look for instruments."""
        self._pages.setCurrentWidget(self.new_board)
        self.work("new-boards", ports_known, self.new_board.set_ports)
        self._scan()

    def _scan(self) -> None:
        self.work("new-board-scan", scan, self.new_board.set_attached)

    def _make_board(self, first: FirstBench, flashes: bool) -> None:
        self.notice.clear()
        stop = self._board_stop = Stop()
        self.new_board.begin()

        def made() -> None:
            with stop.heard():
                make(first, self._heard.post, flashes=flashes)

        self._worker.do(made, lambda _: self._take_board(), self._fail_board)

    def _take_board(self) -> None:
        self._board_stop = None
        self.new_board.end(made=True)

    def _fail_board(self, error: BaseException) -> None:
        self._board_stop = None
        self.new_board.end(made=False)
        if isinstance(error, Stopped):
            text = "stopped: the steps that had ended stay, and are not made again"
            self.notice.show_text(text, Severity.INFORMATION)
        else:
            self.notice.show_error(error)

    def _stop_board(self) -> None:
        if self._board_stop is not None:
            self._board_stop.request()

    def _open_bench(self, path: Path) -> None:
        self.shell.set_bench(path)
        self.shell.go("bench")

    def _trace_card(self) -> QWidget:
        path = PathField(
            "start-trace-path", "Path of a trace", "a trace, or drop it here"
        )
        path.given.connect(self.shell.open_path)
        choose = chooser(path, FileRequest.FILE, TRACES, self.shell.open_path)

        def open_now() -> None:
            (path.give if path.text().strip() else choose.click)()

        opening = push_button("start-trace", "Open a &trace", open_now, role="primary")
        session = push_button("start-session", "Open a &session", self._choose_session)
        return _card(
            "Open a trace or a session",
            _TRACE,
            _beside(opening, session),
            _beside(path, choose),
        )

    def _choose_session(self) -> None:
        ask(self, "Folder of a session", FileRequest.FOLDER, self.shell.open_path)

    def _run_virtual(self) -> None:
        self.shell.set_bench(DEMO)
        self.shell.go("run")

    def open_demonstration(self) -> None:
        """Open the finished demonstration; where there is none it is made, with a
        bar."""
        if self._stop is not None:
            return
        self.notice.clear()
        stop = self._stop = Stop()
        self._show_making(True)

        def tell(event: Event) -> None:
            if isinstance(event, StepBegun):
                self._bridge.post(event.share)

        self._worker.do(
            lambda: demonstration.found_or_made(subscribers=(tell,), stop=stop),
            self._take_demo,
            self._fail_demo,
        )

    def close_down(self) -> bool:
        """Give up a demonstration in the making, so that no part of it stays, and
        a board's first bench.
        """
        self._cancel_demo()
        self._stop_board()
        self._worker.close_down()
        return True

    def _cancel_demo(self) -> None:
        if self._stop is not None:
            self._stop.request()

    def _show_making(self, making: bool) -> None:
        self._demo.setVisible(not making)
        self._making.setVisible(making)
        self._bar.setValue(0)
        self.shell.say(
            "making a demonstration: five virtual trials ..." if making else ""
        )

    def _take_demo(self, path: Path) -> None:
        self._stop = None
        self._show_making(False)
        self.shell.open_session(path)

    def _fail_demo(self, error: BaseException) -> None:
        self._stop = None
        self._show_making(False)
        if isinstance(error, Stopped):
            self.notice.show_text(
                "the demonstration was cancelled: no part of it stays",
                Severity.INFORMATION,
            )
        else:
            self.notice.show_error(error)


def _card(title: str, explained: str, *widgets: QWidget) -> QFrame:
    card = QFrame()
    card.setProperty("role", "card")
    heading = PlainLabel(title, role="heading")
    text = PlainLabel(explained, role="muted", wrap=True)
    in_column(
        [heading, text, STRETCH, *widgets],
        card,
        margins=CARD,
        spacing=10,
    )
    return card


def _beside(first: QWidget, second: QWidget) -> QWidget:
    """Return two widgets beside each other; the first takes what room there is."""
    both = QWidget()
    in_row([(first, 1), second], both)
    return both
