# SPDX-License-Identifier: Apache-2.0
"""Choose a bench file, or make one from an example."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QPushButton, QWidget

from gui.widgets.controls import push_button
from gui.widgets.file_dialog import BENCHES, FileRequest, with_chooser
from gui.widgets.layouts import STRETCH, Item, in_column, in_row
from gui.widgets.line_field import LineField
from gui.widgets.path_field import PathField
from gui.widgets.table import DataTable, TableColumn
from gui.widgets.text import PlainLabel
from rig.bench.examples import Example
from rig.files.user_folders import expanded

_WITHOUT = "virtual-asc"
_RECENT_PX = 130
_EXAMPLES = (
    TableColumn("example", lambda row: row.name),
    TableColumn("device", lambda row: row.sut),
    TableColumn("monitor", lambda row: row.monitor),
    TableColumn("scenario", lambda row: row.scenario),
    TableColumn("task", lambda row: row.task),
    TableColumn("what it is for", lambda row: row.about, colour=lambda row: "muted"),
)
_RECENT = (
    TableColumn("recent bench file", lambda path: path.name),
    TableColumn("folder", lambda path: str(path.parent), colour=lambda path: "muted"),
)


class ChoosePage(QWidget):
    """Examples, recent files, and a path; `created` is emitted with an example's name
    and the path to write, `opened` with a path, `without` when no hardware is wanted.
    """

    created = Signal(str, object)
    opened = Signal(object)
    without = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._all: list[Example] = []
        self._example: Example | None = None
        self._find = LineField(
            "examples-find", "Find an example", "find: uart, joulescope, qubo, ..."
        )
        self._find.setClearButtonEnabled(True)
        self._find.textChanged.connect(self._filter)
        self._table = DataTable(_EXAMPLES, "examples", "Examples of benches")
        self._table.chosen.connect(self._choose)
        self._target = LineField("new-path", "File to write", "file to write")
        self._target.returnPressed.connect(self._create)
        self._create_button = _button("new-create", "&Create", self._create)
        self._create_button.setProperty("role", "primary")
        self._create_button.setEnabled(False)
        self._recent = DataTable(_RECENT, "recent-benches", "Recent bench files")
        self._recent.setMaximumHeight(_RECENT_PX)
        self._recent.activated.connect(self._open_recent)
        self._open = PathField(
            "open-bench", "Path of a bench file", "path of a bench file"
        )
        self._open.given.connect(self.opened)
        self._lay_out()

    def set_examples(self, examples: list[Example]) -> None:
        """Show the examples."""
        self._all = examples
        self._filter()

    def set_recent(self, paths: list[Path]) -> None:
        """Show the bench files that were open last."""
        self._recent.set_rows(paths)
        self._recent.setVisible(bool(paths))

    def _filter(self) -> None:
        words = self._find.text().lower().split()
        self._table.set_rows([each for each in self._all if _matches(each, words)])

    def _choose(self, row: Example) -> None:
        self._example = row
        self._target.setText(str(Path.cwd() / f"{row.name}.toml"))
        self._create_button.setEnabled(True)

    def _create(self) -> None:
        path = self._target.text().strip()
        if self._example is not None and path:
            self.created.emit(self._example.name, expanded(path))

    def _open_recent(self) -> None:
        for path in self._recent.selected()[:1]:
            self.opened.emit(path)

    def _lay_out(self) -> None:
        without = _button(
            "bench-without",
            "&Try without hardware",
            lambda: self.without.emit(_WITHOUT),
        )
        explained = PlainLabel(
            "A virtual device and a virtual monitor in one virtual time; the truth is"
            " known.",
            role="muted",
        )
        top = in_row([without, explained, STRETCH])
        label = PlainLabel("Write it to")
        label.setBuddy(self._target)
        target = with_chooser(self._target, FileRequest.NAME, BENCHES)
        new = in_row([label, (target, 1), self._create_button])
        other = PlainLabel("Open")
        other.setBuddy(self._open)
        file = with_chooser(self._open, FileRequest.FILE, BENCHES, self.opened.emit)
        open_now = _button("open-bench-now", "&Open", self._open.give)
        opening = in_row([other, (file, 1), open_now])
        heading = PlainLabel("New from an example", role="heading")
        known: list[Item] = [top, opening, (self._recent, 1)]
        examples: list[Item] = [heading, self._find, (self._table, 3), new]
        in_column([*known, *examples], self, spacing=8)


def _matches(example: Example, words: list[str]) -> bool:
    """Whether all words of a search stand in an example."""
    text = f"{example.name} {' '.join(example.kinds)} {example.about}".lower()
    return all(word in text for word in words)


def _button(name: str, text: str, action: Callable[[], object]) -> QPushButton:
    button = push_button(name, text, action)
    button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    return button
