# SPDX-License-Identifier: Apache-2.0
"""The form of a bench file: a list of its parts, and the settings of the one at
hand."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QGridLayout,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QScrollArea,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from gui.widgets.controls import check_box, combo_box, named, push_button
from gui.widgets.file_dialog import BUTTON_PX, FileRequest, with_chooser
from gui.widgets.layouts import STRETCH, in_column, in_row
from gui.widgets.line_field import LineField
from gui.widgets.text import PlainLabel, plain
from rig.bench.forms import BenchForm, FormField, FormSection, refusal
from rig.settings.fields import SettingField

_LIST_PX = 170
_MONITOR = "monitor"
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
        request = (
            FileRequest.FOLDER if self.field.setting.is_folder else FileRequest.FILE
        )
        return with_chooser(
            self.editor, request, take=lambda path: self._typed(str(path))
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


class FormView(QWidget):
    """The form; it emits signals for changes, and their receiver edits the text."""

    edited = Signal(str, str)
    reset = Signal(str)
    kind_chosen = Signal(str, str)
    monitor_added = Signal(str, str)
    monitor_removed = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._form = BenchForm(())
        self._shown: tuple[str, str, tuple[str, ...]] | None = None
        self._rows: dict[str, FieldRow] = {}
        self._wrong = ""
        self._list = named(QListWidget(), "form-parts", "Parts of the bench")
        self._list.setFixedWidth(_LIST_PX)
        self._list.currentRowChanged.connect(self._show_section)
        self._kind = combo_box("form-kind", "Kind of this part")
        self._kind.textActivated.connect(self._choose_kind)
        self._about = plain("form-about", role="muted", wrap=True)
        self._error = plain("form-error", wrap=True)
        self._error.setProperty("severity", "error")
        self._find = LineField("form-find", "Find a setting", "find in all parts")
        self._find.setClearButtonEnabled(True)
        self._find.textChanged.connect(self._filter)
        self._none = plain(
            "form-none", "No setting of any part has these words.", wrap=True
        )
        self._only_set = check_box(
            "form-only-set",
            "only what the &file states",
            self._filter,
            accessible="Only what the file states",
        )
        self._scroll = named(QScrollArea(), "form-scroll", "Settings")
        self._scroll.setWidgetResizable(True)
        self._scroll.setFrameShape(QScrollArea.Shape.NoFrame)
        self._lay_out()

    def set_form(self, form: BenchForm) -> None:
        """Show another form; the chosen part, the typed text and the scroll position
        stay.
        """
        self.setEnabled(bool(form.sections))
        if not form.sections:
            return  # the last text stays to be read
        self._form = form
        titles = []
        for section in form.sections:
            mark = "  ⚠" if _is_wrong(section) else ""
            titles.append(f"{section.title}{mark}")
        row = max(self._list.currentRow(), 0)
        self._list.blockSignals(True)
        for number, title in enumerate(titles):
            if number < self._list.count():
                self._list.item(number).setText(title)
            else:
                self._list.addItem(QListWidgetItem(title))
        while self._list.count() > len(titles):
            self._list.takeItem(self._list.count() - 1)
        self._list.setCurrentRow(min(row, len(titles) - 1))
        self._list.blockSignals(False)
        self._show_section()

    def choose(self, place: str) -> None:
        """Show a part by its place in the file."""
        for number, section in enumerate(self._form.sections):
            if section.place == place:
                self._list.setCurrentRow(number)

    @property
    def section(self) -> FormSection | None:
        """The part at hand."""
        row = self._list.currentRow()
        return self._form.sections[row] if 0 <= row < len(self._form.sections) else None

    def _show_section(self) -> None:
        section = self.section
        if section is None:
            return
        self._kind.setVisible(bool(section.kinds))
        listed = [self._kind.itemText(at) for at in range(self._kind.count())]
        if listed != list(section.kinds):
            self._kind.clear()
            self._kind.addItems(list(section.kinds))
        self._kind.setCurrentIndex(self._kind.findText(section.kind))
        self._about.setText(section.about)
        self._about.setVisible(bool(section.about))
        self._say(section.error)
        monitor = section.place == _MONITOR or section.place.startswith("rail.")
        self._remove.setVisible(monitor and section.kind not in ("", "none"))
        paths = tuple(field.path for field in section.fields)
        if (section.place, section.kind, paths) != self._shown:
            self._build(section)
            self._shown = (section.place, section.kind, paths)
        else:
            for field in section.fields:
                self._rows[field.path].show_field(field)
        self._filter()
        self._show_wrong(section)

    def _show_wrong(self, section: FormSection) -> None:
        """Scroll to the first wrong field, once, unless a person types in
        another one.
        """
        wrong = next((field.path for field in section.fields if field.error), "")
        if wrong != self._wrong and not any(
            row.editor.hasFocus() for row in self._rows.values()
        ):
            self._wrong = wrong
            if wrong:
                # After Qt has laid out the new rows.
                row = self._rows[wrong]
                QTimer.singleShot(0, row, lambda: self._scroll.ensureWidgetVisible(row))

    def _build(self, section: FormSection) -> None:
        inside = QWidget()
        inside.setObjectName("form-fields")
        column = QVBoxLayout(inside)
        column.setContentsMargins(4, 0, 10, 0)
        column.setSpacing(2)
        self._rows, self._wrong = {}, ""
        for field in section.fields:
            row = FieldRow(field)
            row.edited.connect(self.edited)
            row.reset.connect(self.reset)
            column.addWidget(row)
            self._rows[field.path] = row
        column.addStretch(1)
        self._scroll.setWidget(inside)
        # Scrolled up and down, never to the side.
        bar = self._scroll.verticalScrollBar().sizeHint().width()
        self._scroll.setMinimumWidth(inside.minimumSizeHint().width() + bar)

    def _filter(self) -> None:
        """Show the settings that are looked for, in every part that has one."""
        words, only_set = self._find.text(), self._only_set.isChecked()
        has_match = []
        for section in self._form.sections:
            fits = [matches(field, words, only_set) for field in section.fields]
            has_match.append(any(fits))
        for number, has in enumerate(has_match):
            self._list.item(number).setHidden(bool(words.strip()) and not has)
        self._none.setVisible(bool(words.strip()) and not any(has_match))
        if words.strip() and any(has_match) and not has_match[self._list.currentRow()]:
            self._list.setCurrentRow(has_match.index(True))  # comes here again
            return
        for row in self._rows.values():
            row.setVisible(matches(row.field, words, only_set))

    def _choose_kind(self, kind: str) -> None:
        section = self.section
        if section is not None and kind != section.kind:
            self.kind_chosen.emit(section.place, kind)

    def _say(self, error: str) -> None:
        self._error.setText(error)
        self._error.setVisible(bool(error))

    def _add(self) -> None:
        self.monitor_added.emit(
            self._new_kind.currentText(), self._new_rail.text().strip()
        )

    def _take_away(self) -> None:
        section = self.section
        if section is not None:
            self.monitor_removed.emit(section.place)

    def set_monitor_kinds(self, kinds: list[str]) -> None:
        """Offer these kinds for another monitor."""
        self._new_kind.clear()
        self._new_kind.addItems(kinds)

    def _lay_out(self) -> None:
        self._new_kind = combo_box("form-new-kind", "Kind of another monitor")
        self._new_rail = LineField(
            "form-new-rail", "Name of its supply", "name of its supply"
        )
        add = push_button(
            "form-add-monitor", "&Add monitor", self._add, accessible="Add a monitor"
        )
        self._remove = push_button(
            "form-remove-monitor",
            "Remove",
            self._take_away,
            accessible="Remove this monitor",
        )
        new: list[QWidget] = [self._new_kind, self._new_rail, add]
        for widget in new:
            widget.setFixedWidth(_LIST_PX)
        left = in_column([(self._list, 1), *new])
        head = in_row([self._kind, self._remove, STRETCH, (self._find, 1)])
        right = in_column(
            [
                head,
                self._about,
                self._error,
                self._only_set,
                self._none,
                (self._scroll, 1),
            ]
        )
        in_row([left, (right, 1)], self)


def _is_wrong(section: FormSection) -> bool:
    return bool(section.error) or any(field.error for field in section.fields)
