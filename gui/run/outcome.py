# SPDX-License-Identifier: Apache-2.0
"""The outcome of a finished run: the verdict, and links to its results."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton

from gui.widgets.controls import push_button
from gui.widgets.notice import Severity, set_severity
from gui.widgets.text import PlainLabel

_BUTTONS = (
    ("trace", "Trace", "Alt+T"),
    ("trials", "Trials", "Alt+R"),
    ("report", "Report", "Alt+E"),
)


class RunOutcome(QFrame):
    """A line with a sentence and three buttons; `wanted` is emitted with "trace",
    "trials" or "report".
    """

    wanted = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self._label = PlainLabel()
        self._label.setAccessibleName("Verdict")
        self._label.setObjectName("run-verdict")
        self._label.setWordWrap(True)
        self._label.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
        )
        row = QHBoxLayout(self)
        row.addWidget(self._label, 1)
        self.buttons: dict[str, QPushButton] = {}
        for name, text, keys in _BUTTONS:
            button = push_button(
                f"run-to-{name}",
                text,
                partial(self.wanted.emit, name),
                accessible=f"Show the {name} of this session",
                tip=keys,
            )
            button.setShortcut(keys)
            row.addWidget(button)
            self.buttons[name] = button
        self.hide()

    @property
    def text(self) -> str:
        """The text that is shown; empty without an outcome."""
        return "" if self.isHidden() else self._label.text()

    def say(self, text: str, severity: Severity, *, session: bool = True) -> None:
        """Show a sentence; the buttons where there is a session."""
        self._label.setText(text)
        for button in self.buttons.values():
            button.setVisible(session)
        set_severity(self, severity)
        self.show()
