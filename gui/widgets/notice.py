# SPDX-License-Identifier: Apache-2.0
"""A notice: a success, a note, a warning or an error as a sentence where it
happened."""

from __future__ import annotations

from enum import StrEnum

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QSizePolicy, QToolButton, QWidget

from gui.widgets.controls import named
from gui.widgets.text import PlainLabel, repolish
from rig.errors import RigError


class Severity(StrEnum):
    """How bad it is: the style sheet has a frame and a colour for each."""

    SUCCESS = "success"
    INFORMATION = "information"
    WARNING = "warning"
    ERROR = "error"


#: A word beside the sentence, for readers who do not see the colour.
_WORDS = {
    Severity.SUCCESS: "✓ done",
    Severity.INFORMATION: "note",
    Severity.WARNING: "! warning",
    Severity.ERROR: "✗ error",
}


class Notice(QFrame):
    """A notice: its cause, the evidence, and the next step; hidden while it is
    empty.
    """

    def __init__(self) -> None:
        super().__init__()
        named(self, "notice", "Notice")
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self._word = PlainLabel()
        self._word.setObjectName("notice-word")
        self._label = PlainLabel()
        self._label.setObjectName("notice-text")
        self._label.setWordWrap(True)
        self._label.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
        )
        self._label.setSizePolicy(
            QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum
        )
        close = named(QToolButton(), "notice-close", "Close the notice")
        close.setText("×")
        close.clicked.connect(self.clear)
        row = QHBoxLayout(self)
        for widget, share in ((self._word, 0), (self._label, 1), (close, 0)):
            row.addWidget(widget, share)
            row.setAlignment(widget, Qt.AlignmentFlag.AlignTop)
        row.setAlignment(self._label, Qt.AlignmentFlag(0))
        self.hide()

    @property
    def text(self) -> str:
        """The text that is shown."""
        return self._label.text() if not self.isHidden() else ""

    def show_error(self, error: BaseException) -> None:
        """Show an error: cause, evidence, what to try next, and the page on it."""
        self.show_text(error_text(error), Severity.ERROR)

    def show_text(self, text: str, severity: Severity) -> None:
        """Show a sentence."""
        self._label.setText(text)
        self._word.setText(_WORDS[severity])
        set_severity(self, severity)
        self.show()

    def clear(self) -> None:
        """Hide the notice."""
        self._label.clear()
        self.hide()


def set_severity(shown: QWidget, severity: Severity | None) -> None:
    """Give a frame or a label, and the labels in it, the style of a severity; None
    takes it away.
    """
    name = "" if severity is None else str(severity)
    for widget in (shown, *shown.findChildren(PlainLabel)):
        widget.setProperty("severity", name)
        repolish(widget)


def error_text(error: BaseException) -> str:
    """Return an error as a sentence; of one that is no RigError, its kind and its
    words."""
    if isinstance(error, RigError):
        lines = [str(error)]
        lines += [f"see: rig docs {error.see}"] if error.see else []
        return "\n".join([*lines, *getattr(error, "__notes__", ())])
    if isinstance(error, OSError):
        file_name = f" ({error.filename})" if error.filename else ""
        return f"{error.strerror or error}{file_name}"
    return f"a fault of the rig itself: {error!r}"
