# SPDX-License-Identifier: Apache-2.0
"""The form of a bench file: a list of its parts, and the settings of the one at
hand."""

from __future__ import annotations

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import (
    QListWidget,
    QListWidgetItem,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from gui.bench.field_row import FieldRow, matches
from gui.widgets.controls import check_box, combo_box, named, push_button
from gui.widgets.layouts import STRETCH, in_column, in_row
from gui.widgets.line_field import LineField
from gui.widgets.text import plain
from rig.bench.forms import BenchForm, FormSection

_LIST_PX = 170
_MONITOR = "monitor"


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
            return  # what was shown stays to be read
        self._form = form
        titles = [
            f"{section.title}{'  ⚠' if _is_wrong(section) else ''}"
            for section in form.sections
        ]
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
        if [self._kind.itemText(at) for at in range(self._kind.count())] != list(
            section.kinds
        ):
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
