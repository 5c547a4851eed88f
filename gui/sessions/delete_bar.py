# SPDX-License-Identifier: Apache-2.0
"""The question before sessions are taken away, in the place of the buttons; and the way
back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QPushButton

from gui.widgets.controls import push_button
from gui.widgets.layouts import STRETCH, in_column, in_row
from gui.widgets.text import PlainLabel
from rig.api.archive.listing import Listed
from rig.units import bytes_text


class DeleteBar(QFrame):
    """The question; `asked_trash` and `asked_delete` are emitted with the rows."""

    asked_trash = Signal(object)
    asked_delete = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self._rows: tuple[Listed, ...] = ()
        self._text = PlainLabel(wrap=True)
        good = _button("delete-for-good", "Delete for &good", self._delete)
        good.setProperty("role", "danger")
        self._keep = _button("delete-keep", "&Keep", self.hide)
        trash = _button("delete-trash", "Move to &trash", self._to_trash)
        row = in_row([trash, good, self._keep, STRETCH])
        in_column([self._text, row], self, margins=(0, 4, 0, 4))
        self.hide()

    def ask(self, rows: Sequence[Listed]) -> None:
        """Ask whether sessions are to be taken away."""
        self._rows = tuple(rows)
        size = bytes_text(sum(row.size_b for row in rows))
        what = rows[0].name if len(rows) == 1 else f"{len(rows)} sessions"
        self._text.setText(
            f"Take away {what} ({size})? From the trash it can come back."
        )
        self.show()
        self._keep.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        """Leave by Escape."""
        if event.key() == Qt.Key.Key_Escape:
            self.hide()
        else:
            super().keyPressEvent(event)

    def _to_trash(self) -> None:
        self.hide()
        self.asked_trash.emit(self._rows)

    def _delete(self) -> None:
        self.hide()
        self.asked_delete.emit(self._rows)


class UndoBar(QFrame):
    """List the sessions in the trash; emits `asked_back` with their folders."""

    asked_back = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self._trashed: tuple[Path, ...] = ()
        self._text = PlainLabel(wrap=True)
        undo = _button("delete-undo", "&Undo", self._bring_back)
        close = _button("delete-close", "Clos&e", self.hide)
        in_row([(self._text, 1), undo, close], self, margins=(0, 2, 0, 2))
        self.hide()

    def say(self, paths: Sequence[Path]) -> None:
        """Say that sessions are in the trash, and offer the way back."""
        self._trashed = tuple(paths)
        what = (
            f"{paths[0].name} is" if len(paths) == 1 else f"{len(paths)} sessions are"
        )
        self._text.setText(f"{what} in the trash, {paths[0].parent}")
        self.show()

    def _bring_back(self) -> None:
        self.hide()
        self.asked_back.emit(self._trashed)


def _button(name: str, text: str, action: Callable[[], None]) -> QPushButton:
    """Return a button that Enter presses too: the answer at hand has the focus."""
    button = push_button(name, text, action)
    button.setAutoDefault(True)
    return button
