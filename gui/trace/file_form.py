# SPDX-License-Identifier: Apache-2.0
"""The form for facts that a trace file lacks: volts, columns, SYNC, its rate. Its
fields are the options of `rig measure` that fit the file.
"""

from __future__ import annotations

import shlex
from dataclasses import fields
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QGridLayout,
    QLineEdit,
    QWidget,
)

from gui.shell import Shell
from gui.widgets.controls import push_button
from gui.widgets.layouts import CARD, STRETCH, in_column, in_row
from gui.widgets.notice import Notice
from gui.widgets.text import PlainLabel, heading, plain
from gui.widgets.values import exact, parse
from gui.worker import BackgroundWorker
from rig.errors import ConfigError, DataError
from rig.files.plain_text import visible
from rig.importers.asked import Question, questions
from rig.importers.options import Options, flag
from rig.settings.check import checked

_EXPLAINED = "A field that is left empty means what the file says itself."
_EDITOR_PX = 210


class FileForm(QFrame):
    """The form; `answered` is emitted with the path of the file, whose answers the
    shell keeps. While it is shown, the widgets `in_place_of` which it stands are not.
    """

    answered = Signal(object)

    def __init__(self, shell: Shell, worker: BackgroundWorker, notice: Notice) -> None:
        super().__init__()
        self._shell = shell
        self._worker = worker
        self._notice = notice
        self.in_place_of: tuple[QWidget, ...] = ()
        self._path: Path | None = None
        self._questions: tuple[Question, ...] = ()
        self._editors: dict[str, QLineEdit] = {}
        self.setObjectName("file-form")
        self._title = heading("file-form-title", "", 1.15)
        self._rows = QWidget()
        self._command = plain(
            "file-form-command", role="muted", wrap=True, selectable=True
        )
        self._open = push_button(
            "file-form-open", "&Open the trace", self._answer, role="primary"
        )
        self._cancel = push_button("file-form-cancel", "&Cancel", self.dismiss)
        explained = PlainLabel(_EXPLAINED, role="muted")
        buttons = in_row([self._open, self._cancel, STRETCH])
        head = [self._title, explained, self._rows]
        self._column = in_column(
            [*head, buttons, self._command, STRETCH], self, margins=CARD, spacing=10
        )
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.hide()

    def begin(self, path: Path) -> None:
        """Take another file, which is being opened: the form is hidden."""
        self.dismiss()
        self._path = path

    def ask_after(self, error: BaseException) -> None:
        """Show the form if the error may come from a missing option."""
        if isinstance(error, ConfigError | DataError):
            self.ask_again()

    def ask_again(self) -> None:
        """Show the options that fit the file, with earlier answers; without any, the
        error stays in place of the picture.
        """
        path = self._path

        def take(asked: tuple[Question, ...]) -> None:
            if path is not None and asked and self._path == path:
                self._show(path, asked)

        if path is not None:
            self._worker.do(
                lambda: questions(path), take, lambda error: None, key="trace-asked"
            )

    def dismiss(self) -> None:
        """Hide the form and show the picture again."""
        self.hide()
        for widget in self.in_place_of:
            widget.show()

    def _show(self, path: Path, questions: tuple[Question, ...]) -> None:
        self._title.setText(f"What does {path.name} hold?")
        self._questions = questions
        self._editors = {}
        rows = QWidget()
        grid = QGridLayout(rows)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(10)
        grid.setColumnStretch(3, 1)
        before = self._shell.said_of(path)
        for row, question in enumerate(questions):
            self._add(grid, row, question, getattr(before, question.field.name))
        self._column.replaceWidget(self._rows, rows)
        # The rows of before are gone at once, and not when Qt comes to it.
        self._rows.setParent(None)
        self._rows.deleteLater()
        self._rows = rows
        self._tell()
        for widget in self.in_place_of:
            widget.hide()
        self.show()
        empty = [editor for editor in self._editors.values() if not editor.text()]
        (empty or list(self._editors.values()))[0].setFocus()

    def _add(self, grid: QGridLayout, row: int, question: Question, value: Any) -> None:
        field = question.field
        editor = QLineEdit()
        shown: QWidget = editor
        if question.choices:
            box = QComboBox()
            box.setLineEdit(editor)
            box.addItems([visible(choice) for choice in question.choices])
            shown = box
        editor.setText(
            exact(value, field.unit) if value and field.is_number else value or ""
        )
        editor.setPlaceholderText(
            visible(f"the file says {question.said}") if question.said else ""
        )
        editor.textChanged.connect(self._tell)
        editor.returnPressed.connect(self._answer)
        editor.setObjectName(f"file-form-{field.name}")
        shown.setAccessibleName(flag(field.name))
        shown.setAccessibleDescription(field.help)
        shown.setMinimumWidth(_EDITOR_PX)
        label = PlainLabel(flag(field.name))
        label.setBuddy(shown)
        help_ = PlainLabel(field.help, role="muted", wrap=True)
        for column, widget in enumerate((label, shown, PlainLabel(field.unit), help_)):
            grid.addWidget(widget, row, column)
        self._editors[field.name] = editor

    def _options(self) -> Options:
        """Return the answers as options; raises ConfigError."""
        answers: dict[str, Any] = {}
        for question in self._questions:
            field = question.field
            text = self._editors[field.name].text().strip()
            if text and field.is_number:
                try:
                    answers[field.name] = parse(text, field.unit)
                except ValueError as error:
                    raise ConfigError(
                        str(error), path=flag(field.name), try_next=field.allowed
                    ) from error
            elif text:
                answers[field.name] = text
        return checked(Options(**answers), "")

    def _answer(self) -> None:
        path = self._path
        if path is None:
            return
        try:
            self._shell.said[path.absolute()] = self._options()
        except ConfigError as error:
            self._notice.show_error(error)
        else:
            self.answered.emit(path)

    def _tell(self) -> None:
        """Show the command that opens the file with the same answers."""
        try:
            options = self._options()
        except ConfigError as error:
            self._command.setText(error.cause)
            return
        words = ["rig", "measure", str(self._path)]
        for field in fields(options):
            if value := getattr(options, field.name):
                words += [
                    flag(field.name),
                    f"{value:g}" if isinstance(value, float) else value,
                ]
        self._command.setText(f"The same in a terminal: {shlex.join(words)}")
