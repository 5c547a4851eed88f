# SPDX-License-Identifier: Apache-2.0
"""The bar above both pages: what runs, Start, Stop and Resume, progress, the page to
see; and the outcome of a run.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QProgressBar,
    QPushButton,
    QWidget,
)

from gui.run import run_text
from gui.run.record import RunSnapshot
from gui.widgets.controls import named, page_buttons, push_button
from gui.widgets.labels import Labels
from gui.widgets.layouts import STRETCH, Item, in_column, in_row
from gui.widgets.notice import Severity, set_severity
from gui.widgets.text import PlainLabel, heading, shortened, tip

_FINE = 1000
_PAGES = (("plan", "Plan", "Alt+P"), ("live", "Live", "Alt+L"))
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


class RunBar(QWidget):
    """The bar; `page_chosen` is emitted with "plan" or "live"."""

    page_chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._title = heading("run-title", "no bench file", 1.25)
        self.labels = Labels()
        self.labels.setWordWrap(False)
        self.start = _button("run-start", "Start", "F5")
        self.stop = _button("run-stop", "Stop", "Shift+F5")
        self.resume = _button("run-resume", "Resume", "F6")
        self._buttons = page_buttons("run", _PAGES, self.page_chosen.emit)
        for button in self._buttons.values():
            button.setShortcut(button.toolTip())
        self._buttons["plan"].setChecked(True)
        self._bar = named(QProgressBar(), "run-progress", "Progress of the session")
        self._bar.setRange(0, _FINE)
        self._bar.setTextVisible(False)
        self._bar.setFixedHeight(10)
        self._progress = shortened("run-progress-text", role="muted")
        acts = [self.start, self.stop, self.resume]
        head: list[Item] = [self._title, 12, self.labels, STRETCH]
        top = in_row([*head, *acts, 16, *self._buttons.values()])
        in_column([top, self._bar, self._progress], self)
        self.set_busy(False, False)
        self.set_resumable(None)

    @property
    def progress(self) -> str:
        """How far the run is, in words."""
        return self._progress.text()

    def set_title(self, text: str) -> None:
        """Name the bench."""
        self._title.setText(text or "no bench file")

    def set_busy(self, busy: bool, stoppable: bool) -> None:
        """Allow Start or Stop."""
        self.start.setEnabled(not busy)
        self.stop.setEnabled(stoppable)
        if busy:
            self.resume.setEnabled(False)

    def set_resumable(self, folder: Path | None) -> None:
        """Enable Resume where a session can be resumed and no run is at work."""
        self.resume.setEnabled(folder is not None and self.start.isEnabled())
        hint = "F6: go on with a session that was stopped or cut off"
        self.resume.setToolTip(
            hint if folder is None else tip(f"F6: go on with {folder.name}")
        )

    def show_page(self, name: str) -> None:
        """Choose a page."""
        self._buttons[name].setChecked(True)
        self.page_chosen.emit(name)

    def show_snapshot(self, snapshot: RunSnapshot) -> None:
        """Show how far a run is."""
        self._bar.setValue(round(snapshot.share * _FINE))
        text = run_text.progress(snapshot)
        if text != self._progress.text():
            self._progress.setText(text)
        self.labels.set_labels(snapshot.labels)


def _button(name: str, text: str, keys: str) -> QPushButton:
    button = push_button(name, text, tip=keys)
    button.setShortcut(keys)
    return button
