# SPDX-License-Identifier: Apache-2.0
"""Dialogs for files and folders, and the button that opens one beside a line for a
path."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QLineEdit, QPushButton, QWidget

from gui.widgets.controls import push_button
from gui.widgets.layouts import in_row
from rig.files.user_folders import expanded

BENCHES = "Bench files (*.toml)"
TRACES = (
    "Traces (*.jls *.jls.partial *.ppk2 *.ppk *.csv *.txt *.tsv *-energy.bin);;All"
    " files (*)"
)
ANY = "All files (*)"
#: Width of the button beside a line.
BUTTON_PX = 42


class FileRequest(Enum):
    """The choice of a dialog: an existing file, a name to write under, a folder."""

    FILE = QFileDialog.FileMode.ExistingFile
    NAME = QFileDialog.FileMode.AnyFile
    FOLDER = QFileDialog.FileMode.Directory


def ask(
    parent: QWidget,
    title: str,
    request: FileRequest,
    take: Callable[[Path], object],
    names: str = ANY,
    begin: str = "",
) -> None:
    """Show a dialog that leaves the window usable; calls `take` with the choice. It
    starts at the path `begin`, as far as that exists.
    """
    path = expanded(begin) if begin else Path.cwd()
    folder = path if path.is_dir() else path.parent
    dialog = QFileDialog(parent, title, str(folder) if folder.is_dir() else "", names)
    dialog.setObjectName("file-dialog")
    dialog.setFileMode(request.value)
    if request is FileRequest.NAME:
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        # What writes a file says itself, in its place, that there is one of this name.
        dialog.setOption(QFileDialog.Option.DontConfirmOverwrite)
        dialog.setDefaultSuffix(path.suffix.removeprefix("."))
        dialog.selectFile(path.name)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.fileSelected.connect(lambda name: take(Path(name)))
    dialog.open()


def chooser(
    line: QLineEdit,
    request: FileRequest,
    names: str = ANY,
    take: Callable[[Path], object] | None = None,
) -> QPushButton:
    """Return a button that opens a dialog for the path in a line; the choice is put
    there, and handed to `take`.
    """

    def taken(path: Path) -> None:
        line.setText(str(path))
        if take is not None:
            take(path)

    button = push_button(
        f"{line.objectName()}-choose",
        "...",
        accessible=f"Choose: {line.accessibleName()}",
        tip=f"Choose: {line.accessibleName()}",
    )
    button.setFixedWidth(BUTTON_PX)

    def choose(checked: bool = False) -> None:
        title = line.accessibleName()
        begin = line.text().strip()
        ask(button, title, request, taken, names=names, begin=begin)

    button.clicked.connect(choose)
    return button


def with_chooser(
    line: QLineEdit,
    request: FileRequest,
    names: str = ANY,
    take: Callable[[Path], object] | None = None,
) -> QWidget:
    """Return a line with its button beside it."""
    both = QWidget()
    in_row([(line, 1), chooser(line, request, names, take)], both)
    return both
