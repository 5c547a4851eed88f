# SPDX-License-Identifier: Apache-2.0
"""A table of the trace screen: letters are keys of the screen, and do not search in the
table."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent

from gui.widgets.table import DataTable

_HELD = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier


class PanelTable(DataTable):
    """The table; it says when the mouse leaves it."""

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        """Leave letters, digits and signs to the screen."""
        if (
            event.text().isprintable()
            and event.text()
            and not event.modifiers() & _HELD
        ):
            event.ignore()
        else:
            super().keyPressEvent(event)

    def leaveEvent(self, event: QEvent) -> None:  # noqa: N802
        """Say that no row is under the mouse."""
        super().leaveEvent(event)
        self.hovered.emit(None)
