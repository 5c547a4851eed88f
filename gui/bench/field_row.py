# SPDX-License-Identifier: Apache-2.0
"""One setting in a form: name, value, unit, help, and why a value is refused."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QGridLayout,
    QLineEdit,
    QToolButton,
    QWidget,
)

from gui.widgets.controls import named
from gui.widgets.file_dialog import BUTTON_PX, FileRequest, with_chooser
from gui.widgets.text import PlainLabel, plain
from rig.bench.forms import FormField, refusal
from rig.settings.fields import SettingField

_LEAST_PX = 150
_UNIT_PX = 40


class FieldRow(QWidget):
    """A row of the form; emits `edited` with path and text once the text is allowed,
    and `reset` with the path.
    """

    edited = Signal(str, str)
    reset = Signal(str)

    def __init__(self, field: FormField) -> None:
        super().__init__()
        self.field = field
        self.setObjectName(f"row-{field.path}")
        self._name = PlainLabel(field.label)
        self._error = plain(f"error-{field.path}", wrap=True)
        self._error.setProperty("severity", "error")
        help_ = PlainLabel(field.help, role="muted", wrap=True)
        self.editor = _editor(field.setting)
        self.editor.setObjectName(f"field-{field.path}")
        unit = f", {field.unit}" if field.unit else ""
        self.editor.setAccessibleName(f"{field.label}{unit}")
        self.editor.setAccessibleDescription(field.help)
        self.editor.setMinimumWidth(_LEAST_PX)
        self._name.setBuddy(self.editor)
        self._reset = named(
            QToolButton(), f"reset-{field.path}", f"Default of {field.label}"
        )
        self._reset.setToolTip("Back to the default")
        self._reset.setText("↺")
        self._reset.clicked.connect(lambda: self.reset.emit(self.field.path))
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 4, 0, 6)
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(1)
        grid.setColumnStretch(0, 2)
        grid.setColumnStretch(1, 3)
        grid.addWidget(self._name, 0, 0)
        grid.addWidget(self._with_chooser(), 0, 1)
        unit_label = PlainLabel(field.unit)
        unit_label.setMinimumWidth(_UNIT_PX)
        grid.addWidget(unit_label, 0, 2)
        grid.addWidget(self._reset, 0, 3)
        grid.addWidget(help_, 1, 0, 1, 4)
        grid.addWidget(self._error, 2, 0, 1, 4)
        self._listen()
        self.show_field(field)

    def show_field(self, field: FormField) -> None:
        """Show the value in the file. Text that a person is typing, and that is not
        allowed yet, stays.
        """
        unfinished = (
            self.editor.hasFocus() and bool(self._error.text()) and not field.error
        )
        same = field.value == self.field.value and field.error == self.field.error
        self.field = field
        font = self._name.font()
        font.setBold(field.is_set)
        self._name.setFont(font)
        self._reset.setEnabled(field.is_set)
        if unfinished and same:
            return
        self._set(field.shown)
        self._say(field.error)

    def _with_chooser(self) -> QWidget:
        """Return the editor; that of a path has a button for a dialog beside it."""
        if self.field.setting.type != "path" or not isinstance(self.editor, QLineEdit):
            return self.editor
        self.editor.setMinimumWidth(_LEAST_PX - BUTTON_PX)
        wanted = (
            FileRequest.FOLDER if self.field.setting.is_folder else FileRequest.FILE
        )
        return with_chooser(
            self.editor, wanted, take=lambda path: self._typed(str(path))
        )

    def _listen(self) -> None:
        if isinstance(self.editor, QCheckBox):
            self.editor.clicked.connect(
                lambda on: self._typed("true" if on else "false")
            )
        elif isinstance(self.editor, QComboBox):
            self.editor.textActivated.connect(self._typed)
        else:
            assert isinstance(self.editor, QLineEdit)
            self.editor.textEdited.connect(self._typed)

    def _typed(self, text: str) -> None:
        why = refusal(self.field.path, self.field.setting, text)
        self._say(why)
        if not why:
            self.edited.emit(self.field.path, text)

    def _set(self, shown: str) -> None:
        if isinstance(self.editor, QCheckBox):
            self.editor.setChecked(shown == "true")
        elif isinstance(self.editor, QComboBox):
            at = self.editor.findText(shown)
            self.editor.setCurrentIndex(at)
        else:
            assert isinstance(self.editor, QLineEdit)
            # A person who types 5e-6 does not want to see 5e-06 in its place.
            if not (
                self.editor.hasFocus() and _means_the_same(self.editor.text(), shown)
            ):
                self.editor.setText(shown)

    def _say(self, error: str) -> None:
        self._error.setText(error)
        self._error.setVisible(bool(error))


def matches(field: FormField, words: str, only_set: bool) -> bool:
    """Check whether a search finds a setting: by its path, its name or its help."""
    if only_set and not (field.is_set or field.error):
        return False
    text = f"{field.path} {field.label} {field.setting.help}".lower()
    return all(word in text for word in words.lower().split())


def _means_the_same(typed: str, shown: str) -> bool:
    try:
        return float(typed.replace("_", "")) == float(shown)
    except ValueError:
        return typed.split() == shown.split()


def _editor(setting: SettingField) -> QWidget:
    if setting.type == "boolean":
        return QCheckBox("on")
    if setting.choices and not setting.is_array:
        box = QComboBox()
        box.addItems([str(choice) for choice in setting.choices])
        return box
    line = QLineEdit()
    if setting.is_number and not setting.is_array:
        line.setAlignment(Qt.AlignmentFlag.AlignRight)
    return line
