# SPDX-License-Identifier: Apache-2.0
"""The bar above the pages: which bench file it is, saved or not, and which page is
shown."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from gui.bench.document import file_title
from gui.widgets.controls import page_buttons, push_button
from gui.widgets.file_dialog import BENCHES, FileRequest, with_chooser
from gui.widgets.labels import Labels
from gui.widgets.layouts import Item, in_row
from gui.widgets.path_field import PathField
from gui.widgets.text import shortened
from rig.bench.bench_file import BenchFile
from rig.files.user_folders import expanded

PAGES = (
    ("files", "Files", "Alt+1"),
    ("parts", "Parts and wires", "Alt+2"),
    ("settings", "Settings", "Alt+3"),
)


class FileBar(QWidget):
    """The bar; `page_chosen` is emitted with the name of a page."""

    page_chosen = Signal(str)
    saved = Signal()
    loaded = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._title = shortened("bench-title", role="heading")
        self._place = shortened("bench-place", role="muted")
        self.labels = Labels()
        self.labels.setWordWrap(False)
        self._save = push_button("bench-save", "&Save", self.saved.emit, tip="Ctrl+S")
        self._load = push_button(
            "bench-reload",
            "&Load again",
            self.loaded.emit,
            tip="what is not saved is dropped",
        )
        self._name = PathField(
            "bench-save-as", "Name to save under", "save under this name"
        )
        self._name.given.connect(lambda path: self.saved.emit())
        self._name_line = with_chooser(self._name, FileRequest.NAME, BENCHES)
        self._name_line.hide()
        names = [(self._place, 1), (self._name_line, 1)]
        self._tabs = page_buttons("bench", PAGES, self.page_chosen.emit)
        file: list[Item] = [self._title, self.labels, *names, self._save, self._load]
        in_row([*file, 24, *self._tabs.values()], self)

    def show_file(self, file: BenchFile | None, changed: bool, wrong: bool) -> None:
        """Show which file it is, whether it was changed here, and whether it is one at
        all."""
        self._title.setText(file_title(file, changed))
        self._place.setText(str(file.path.parent) if file is not None else "")
        self._save.setEnabled(changed)
        self._load.setEnabled(file is not None)
        self._tabs["settings"].setEnabled(file is not None)
        self._tabs["settings"].setText("Settings  ⚠" if wrong else "Settings")

    def offer_name(self, path: Path, other: bool) -> None:
        """Offer another name to save under, where the file's own cannot be used."""
        self._name.setText(str(Path.cwd() / path.name) if other else str(path))
        self._name_line.setVisible(other)

    def name(self) -> Path | None:
        """Return the name to save under, None where it is the file's own."""
        text = self._name.text().strip()
        return expanded(text) if text and not self._name_line.isHidden() else None

    def mark_page(self, name: str) -> None:
        """Show which page it is."""
        self._tabs[name].setChecked(True)

    def press(self, name: str) -> None:
        """Show a page as its button does."""
        self._tabs[name].click()
