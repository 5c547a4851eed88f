# SPDX-License-Identifier: Apache-2.0
"""A field for the path of a file or folder, completed from the disk while one types."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QDir, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QCompleter,
    QFileSystemModel,
    QFrame,
    QPushButton,
)

from gui.widgets.controls import push_button
from gui.widgets.file_dialog import ANY, BENCHES, TRACES, FileRequest, ask
from gui.widgets.layouts import in_row
from gui.widgets.line_field import LineField
from gui.widgets.text import PlainLabel
from rig.files.user_folders import expanded


class PathField(LineField):
    """A path; `given` is emitted with it when Enter is pressed. A file can be dropped
    on it."""

    given = Signal(object)

    def __init__(self, name: str, accessible: str, hint: str) -> None:
        super().__init__(name, accessible, hint)
        self._model: QFileSystemModel | None = None
        self.returnPressed.connect(self.give)

    def focusInEvent(self, event: object) -> None:  # noqa: N802
        """Begin to complete: the model of the disk has a thread of its own, which few
        need."""
        if self._model is None:
            self._model = QFileSystemModel(self)
            self._model.setFilter(QDir.Filter.AllEntries | QDir.Filter.NoDotAndDotDot)
            self._model.setRootPath(str(Path.cwd()))
            completer = QCompleter(self._model, self)
            completer.setCaseSensitivity(Qt.CaseSensitivity.CaseSensitive)
            self.setCompleter(completer)
        super().focusInEvent(event)  # type: ignore[arg-type]

    def give(self) -> None:
        """Hand the path on, where there is one."""
        text = self.text().strip().removeprefix("file://")
        if text:
            self.given.emit(expanded(text))


class PathBar(QFrame):
    """A line above the screens that asks for a path; hidden until it is asked for."""

    given = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self._field = PathField(
            "open-path",
            "Path to open",
            "a session folder, a bench file or a trace",
        )
        self._field.given.connect(self._hand_on)
        label = PlainLabel("&Open")
        label.setBuddy(self._field)
        button = push_button(
            "open-path-now", "Open", self._field.give, accessible="Open this path"
        )
        row = in_row([label, (self._field, 1), button], self, margins=(9, 9, 9, 9))
        for name, text, wanted in (
            ("open-file", "File ...", FileRequest.FILE),
            ("open-session", "Session ...", FileRequest.FOLDER),
        ):
            row.addWidget(self._choose(name, text, wanted))
        self.hide()

    def ask(self) -> None:
        """Show the line, ready to type."""
        self.show()
        self._field.setFocus()
        self._field.selectAll()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        """Leave by Escape."""
        if event.key() == Qt.Key.Key_Escape:
            self.hide()
        else:
            super().keyPressEvent(event)

    def _choose(self, name: str, text: str, request: FileRequest) -> QPushButton:
        button = push_button(
            name, text, accessible=f"Choose: {text.removesuffix(' ...').lower()}"
        )
        button.clicked.connect(
            lambda checked=False: ask(
                button, "Open", request, self._hand_on, f"{ANY};;{BENCHES};;{TRACES}"
            )
        )
        return button

    def _hand_on(self, path: Path) -> None:
        self.hide()
        self.given.emit(path)
