# SPDX-License-Identifier: Apache-2.0
"""A notice: an error or a warning as a sentence in the place where it happened."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QSizePolicy, QToolButton, QWidget

from gui.widgets.text import PlainLabel
from rig.errors import RigError
from rig.plain_text import visible


class Notice(QFrame):
    """What went wrong, the evidence, and what to try; hidden while there is nothing to say."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("notice")
        self.setAccessibleName("Notice")
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self._label = PlainLabel()
        self._label.setObjectName("notice-text")
        self._label.setWordWrap(True)
        self._label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._label.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        close = QToolButton()
        close.setObjectName("notice-close")
        close.setAccessibleName("Close the notice")
        close.setText("×")
        close.clicked.connect(self.clear)
        row = QHBoxLayout(self)
        row.addWidget(self._label, 1)
        row.addWidget(close, 0, Qt.AlignmentFlag.AlignTop)
        self.hide()

    @property
    def text(self) -> str:
        """Return what is shown; empty where nothing is."""
        return self._label.text() if not self.isHidden() else ""

    def show_error(self, error: BaseException) -> None:
        """Show an error: cause, evidence, what to try next."""
        self.show_text(error_text(error))

    def show_text(self, text: str, kind: str = "error") -> None:
        """Show a sentence; its kind is error, warning or note."""
        self._label.setText(visible(text))
        self.setProperty("kind", kind)
        # A style that depends on a property is looked up again only when it is asked to.
        self.style().unpolish(self)
        self.style().polish(self)
        self.show()

    def clear(self) -> None:
        """Hide the notice."""
        self._label.clear()
        self.hide()


def error_text(error: BaseException) -> str:
    """Return an error as a sentence; of one that is no RigError, its kind and its words."""
    if isinstance(error, RigError):
        return "\n".join([str(error), *getattr(error, "__notes__", ())])
    if isinstance(error, OSError):
        place = f" ({error.filename})" if error.filename else ""
        return f"{error.strerror or error}{place}"
    return f"a fault of the rig itself: {error!r}"
