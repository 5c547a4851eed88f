# SPDX-License-Identifier: Apache-2.0
"""The sessions screen: the list, one session beside it, or two compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import (
    QStackedWidget,
    QWidget,
)

from gui.screen import Screen
from gui.sessions.compare_panel import ComparePanel
from gui.sessions.delete_bar import UndoBar
from gui.sessions.detail import DetailPanel
from gui.sessions.rows import COLUMNS
from gui.shell import Shell
from gui.widgets.controls import push_button, shortcut
from gui.widgets.file_dialog import FileRequest, with_chooser
from gui.widgets.layouts import PAGE, in_column, in_row, split
from gui.widgets.line_field import LineField
from gui.widgets.notice import Severity
from gui.widgets.path_field import PathField
from gui.widgets.table import DataTable
from gui.widgets.text import CENTRE, PlainLabel, plain
from gui.worker import BackgroundWorker
from rig.api.archive import listing, removal, tags
from rig.api.archive.listing import Listed, Listing
from rig.api.comparing.comparison import SessionComparison, compare
from rig.api.report import write_report
from rig.api.sessions.session import Session, open_session
from rig.check.check import Check, check

#: A list of a thousand sessions costs 50 ms to look at again, in the background.
_LOOK_MS = 4000
_ROOT = "sessions"
#: The list's share of the width beside a comparison.
_LIST_BESIDE = 0.25
#: The list need not be wider.
_LIST_PX = 300


class SessionsScreen(Screen):
    """All sessions of a folder."""

    KEYS: ClassVar = (
        ("Ctrl+F", "search"),
        ("Enter", "open the session at hand"),
        ("Shift+Up, Shift+Down", "choose a second session: both are compared"),
        ("Ctrl+K", "check the session: every number again, from the raw files"),
        ("Delete", "take sessions away, to the trash or for good"),
        ("F5", "look again"),
        ("Ctrl+C", "copy the list, the comparison, what changed"),
    )

    def __init__(self, shell: Shell) -> None:
        super().__init__(shell)
        # Checks take long: reading for the other screens must not wait for them.
        self._slow = BackgroundWorker(self, "rig-gui-sessions")
        self._listing = Listing(shell.memory.get("sessions", _ROOT))
        self._rows: list[Listed] = []
        self._swapped = False
        #: Widths of list and side while one session is shown; a comparison needs more.
        self._widths: list[int] = []
        self._timer = QTimer(self)
        self._timer.setInterval(_LOOK_MS)
        self._timer.timeout.connect(self.look)
        self._root = PathField(
            "sessions-root", "Folder of sessions", "folder of sessions"
        )
        self._root.setText(str(self._listing.root))
        self._root.given.connect(self._take_root)
        self._search = LineField(
            "sessions-search",
            "Search sessions",
            "search: words, #tag, status:killed, verdict:fail, -without",
        )
        self._search.setClearButtonEnabled(True)
        self._search.textChanged.connect(self._filter)
        self._summary = plain("sessions-summary", role="muted")
        self.table = DataTable(COLUMNS, "sessions", "Sessions")
        self.table.activated.connect(lambda index: self._open())
        self.table.selectionModel().selectionChanged.connect(self._selected)
        self._undo = UndoBar()
        self.detail = DetailPanel()
        self.compared = ComparePanel()
        self._hint = PlainLabel(
            "Choose a session; with Shift or Ctrl a second one, to compare them.",
            role="muted",
            wrap=True,
        )
        self._left = QWidget()
        self._side = QStackedWidget()
        self._connect()
        self._lay_out()

    def enter(self) -> None:
        """Look at the folder, and go on looking while the screen is shown."""
        self.look()
        self._timer.start()

    def leave(self) -> None:
        """Look no more."""
        self._timer.stop()

    def close_down(self) -> bool:
        """End the thread of checks."""
        self._timer.stop()
        self._slow.close_down()
        return True

    def show_session(self, session: Session) -> None:
        """Choose the session that was opened, where the list has it."""
        if self.isVisible():
            self._choose([session.path])

    def look(self) -> None:
        """Read the folder again, in the background."""
        listing = self._listing
        self.work("sessions", lambda: (listing, listing.rows()), self._take_rows)

    def _take_rows(self, taken: tuple[Listing, list[Listed]]) -> None:
        listing, rows = taken
        if listing is not self._listing:
            return
        if listing.fault:
            self.notice.show_text(listing.fault, Severity.WARNING)
        if rows != self._rows or not self.table.rows:
            self._rows = rows
            self._filter()

    def _filter(self) -> None:
        kept = [row.path for row in self.table.selected()]
        rows = listing.search(self._rows, self._search.text())
        self.table.set_rows(rows)
        # How a session stands is seen beside a comparison in a small window too.
        self._left.setMinimumWidth(min(self.table.least_px, _LIST_PX))
        summary = listing.summary(rows)
        if not self._rows:
            summary = (
                f"no sessions in {self._listing.root}: run a bench, or name another"
                " folder"
            )
        self._summary.setText(summary)
        self._choose(kept)

    def _choose(self, paths: Sequence[Path]) -> None:
        chosen = [row for row in self.table.rows if row.path in paths]
        if chosen:
            self.table.choose_all(chosen)
        elif self.table.rows:
            self.table.choose(self.table.rows[0])
        else:
            self._selected()

    def _take_root(self, path: Path) -> None:
        self.notice.clear()
        if not path.is_dir():
            self.notice.show_text(f"{path} is no folder", Severity.ERROR)
            return
        self.shell.memory.set("sessions", str(path))
        self._listing = Listing(path)
        self._rows = []
        self.look()

    def _selected(self) -> None:
        rows = self.table.selected()
        if len(rows) == 2:
            self._compare()
        elif rows:
            self.detail.show_row(rows[-1])
            self._show_side(self.detail)
        else:
            self._show_side(self._hint)

    def _compare(self) -> None:
        # The older one is A, until they are swapped.
        rows = sorted(
            self.table.selected(), key=lambda row: (row.created_utc, row.name)
        )
        if self._swapped:
            rows.reverse()
        first, second = rows
        shown = self.compared.found
        self._show_side(self.compared)
        if shown and (shown.first.path, shown.second.path) == (first.path, second.path):
            return
        self.compared.show_waiting(first.name, second.name)

        def compared() -> object:
            return compare(open_session(first.path), open_session(second.path))

        failed = self.compared.notice.show_error
        self.work("compare", compared, self._take_comparison, failed)

    def _show_side(self, panel: QWidget) -> None:
        """Show a panel beside the list; a comparison takes most of the width."""
        wide = panel is self.compared
        if wide and not self._widths:
            self._widths = self._split.sizes()
            whole = sum(self._widths)
            self._split.setSizes(
                [round(_LIST_BESIDE * whole), round((1 - _LIST_BESIDE) * whole)]
            )
        elif not wide and self._widths:
            self._split.setSizes(self._widths)
            self._widths = []
        self._side.setCurrentWidget(panel)

    def _take_comparison(self, comparison: SessionComparison) -> None:
        chosen = {row.path for row in self.table.selected()}
        if chosen == {comparison.first.path, comparison.second.path}:
            self.compared.show_comparison(comparison)

    def _swap(self) -> None:
        self._swapped = not self._swapped
        self._compare()

    def _open(self, row: Listed | None = None) -> None:
        for each in [row] if row is not None else self.table.selected()[-1:]:
            self.shell.open_session(each.path)
            self.shell.go("trials")

    def _resume(self, row: Listed) -> None:
        self.shell.open_session(row.path)
        self.shell.go("run")

    def _check(self, row: Listed | None = None) -> None:
        for each in [row] if row is not None else self.table.selected()[-1:]:
            self.detail.notice.clear()
            self.detail.set_busy("checking: every number again, from the raw files ...")

            def take(checked: Check, each: Listed = each) -> None:
                self.detail.show_check(each, checked)

            self._slow.do(partial(check, each.path), take, self._failed, key="check")

    def _report(self, row: Listed) -> None:
        self.detail.notice.clear()
        self.detail.set_busy("writing the report ...")
        write = partial(write_report, row.path)
        show = partial(self.detail.show_report, row)
        self._slow.do(write, show, self._failed, key="report")

    def _failed(self, error: BaseException) -> None:
        self.detail.set_busy("")
        self.detail.notice.show_error(error)

    def _tag(self, row: Listed, text: str) -> None:
        write = partial(tags.write, row.path, text)
        self.work("", write, lambda kept: self.look(), self._failed)

    def _ask_delete(self) -> None:
        rows = [row for row in self.table.selected() if row.status != listing.RUNNING]
        if rows:
            self._show_side(self.detail)
            self.detail.show_row(rows[-1])
            self.detail.question.ask(rows)

    def _take_away(
        self,
        rows: Sequence[Listed],
        how: Callable[[Path], object],
        done: Callable[[], None],
    ) -> None:
        moved: list[Path] = []

        def work() -> list[Path]:
            for row in rows:
                moved_to = how(row.path)
                moved.extend([moved_to] if isinstance(moved_to, Path) else [])
            return moved

        def say(paths: list[Path]) -> None:
            done()
            if paths:
                self._undo.say(paths)
            self.look()

        def fail(error: BaseException) -> None:
            self._failed(error)
            self.look()

        self.work("", work, say, fail)

    def _restore(self, paths: Sequence[Path]) -> None:

        def restore() -> object:
            return [removal.restore(path) for path in paths]

        self.work("", restore, lambda back: self.look(), self._failed)

    def _delete_for_good(self, rows: Sequence[Listed]) -> None:
        deleted = partial(self.shell.say, f"{len(rows)} deleted for good")
        self._take_away(rows, removal.delete, deleted)

    def _connect(self) -> None:
        detail = self.detail
        detail.asked_open.connect(self._open)
        detail.asked_resume.connect(self._resume)
        detail.asked_check.connect(self._check)
        detail.asked_report.connect(self._report)
        detail.tagged.connect(self._tag)
        question = detail.question
        question.asked_trash.connect(
            lambda rows: self._take_away(rows, removal.to_trash, lambda: None)
        )
        question.asked_delete.connect(self._delete_for_good)
        self._undo.asked_back.connect(self._restore)
        self.compared.asked_swap.connect(self._swap)
        actions = {
            "Ctrl+F": self._search.setFocus,
            "F5": self.look,
            "Ctrl+K": lambda: self._check(),
        }
        for key, action in actions.items():
            shortcut(self, key, action)
        delete = shortcut(self.table, "Delete", self._ask_delete)
        delete.setContext(Qt.ShortcutContext.WidgetShortcut)

    def _lay_out(self) -> None:
        title = PlainLabel("Sessions", role="title")
        again = push_button("sessions-look", "&Look again", self.look, tip="F5")
        folder = with_chooser(self._root, FileRequest.FOLDER, take=self._take_root)
        top = in_row([title, 12, (self._search, 3), (folder, 2), again])
        self._hint.setAlignment(CENTRE)
        for widget in (self._hint, self.detail, self.compared):
            self._side.addWidget(widget)
        in_column([(self.table, 1), self._undo, self._summary], self._left)
        self._split = split([self._left, self._side], (840, 480), name="sessions-split")
        self._split.setChildrenCollapsible(False)
        in_column(
            [top, self.notice, (self._split, 1)],
            self,
            margins=PAGE,
            spacing=10,
        )
