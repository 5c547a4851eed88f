# SPDX-License-Identifier: Apache-2.0
"""The line above the picture: title, trial and rail, and the tools."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QToolButton, QWidget

from gui.picture.legend import Legend
from gui.trace.shown.subject import Subject
from gui.widgets.controls import combo_box, named, offer
from gui.widgets.labels import Labels
from gui.widgets.layouts import STRETCH, in_column, in_row
from gui.widgets.text import heading, shortened
from rig.units import quantity

_FILE = "What the file does not say itself: volts, columns, SYNC"
#: The tools: name, text, tip, and the keys that do the same.
_TOOLS = (
    ("fit", "Whole", "Show the whole trace (*)", "*"),
    ("zoom-in", "+", "Zoom in (+)", "+"),
    ("zoom-out", "−", "Zoom out (-)", "-"),
    ("selection", "Selection", "Zoom to the selection (Z)", "Z"),
    ("single", "Marker", "Single marker (S)", "S"),
    ("dual", "Dual marker", "Dual marker (D)", "D"),
    ("undo", "Undo", "Undo markers (Ctrl+Z)", "Ctrl+Z"),
    ("redo", "Redo", "Redo markers (Shift+Ctrl+Z)", "Ctrl+Y"),
)
_SNAP = "Markers snap to edges of SYNC (X; Alt places freely)"


class Header(QWidget):
    """The line; emits `chosen` with trial, rail and segment when a person chooses them,
    and `pressed` with the keys of the tools. `snap` and `logarithmic` stay
    pressed.
    """

    chosen = Signal(int, str, int)
    pressed = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.legend = Legend()
        self._title = heading("trace-title", "No trace is open", 1.15)
        self._facts = shortened("trace-facts")
        self._labels = Labels()
        self._labels.setWordWrap(False)
        self.readout = shortened("trace-readout")
        self.readout.setAccessibleName("Values under the mouse")
        self.trial = self._combo("trace-trial", "Trial")
        self.rail = self._combo("trace-rail", "Rail")
        self.segment = self._combo("trace-segment", "Segment")
        self.file = self._tool("file", "File ...", _FILE)
        self.file.hide()
        self.snap = self._tool("snap", "Snap to edges", _SNAP, "X")
        self.logarithmic = self._tool("log", "Log", "Logarithmic y axes (L)", "L")
        for button in (self.snap, self.logarithmic):
            button.setCheckable(True)
        moving = [self._tool(*row) for row in _TOOLS]
        picture = self._tool("picture", "Picture", "Save the picture (P)", "P")
        keys = self._tool("keys", "?", "Keys (?)", "?")
        self._tools = [
            self.file,
            *moving,
            self.snap,
            self.logarithmic,
            picture,
            keys,
        ]
        choices = [self.trial, self.rail, self.segment]
        first = in_row([self._title, 8, self._labels, 8, (self._facts, 1), *choices])
        tools = in_row(self._tools, spacing=2)
        second = in_row([tools, 12, STRETCH, self.readout])
        in_column([first, second], self, margins=(8, 4, 8, 2), spacing=2)
        self.set_enabled(False)

    def set_subject(self, subject: Subject) -> None:
        """Show title and facts, and offer the other trials, rails and segments."""
        trace = subject.trace
        self._title.setText(subject.title)
        self._labels.set_labels(subject.labels)
        self.legend.set_phases(subject.phases)
        facts = [
            quantity(trace.duration_s, "s"),
            f"at {quantity(trace.sample_hz, 'Hz')}",
        ]
        if not trace.has_sync:
            facts.append("no SYNC")
        if trace.gaps:
            facts.append(f"{len(trace.gaps)} gaps")
        if len(subject.reduced_s):
            facts.append("means between windows")
        self.file.setVisible(trace.origin != "rig")
        if subject.session is None:
            facts.append(trace.origin)
        self._facts.setText(", ".join(facts))
        choice = subject.choice
        trials = [(f"trial {number}", number) for number in choice.trials]
        self._offer(self.trial, trials, choice.trial)
        rails = [(rail or "rail", rail) for rail in choice.rails]
        self._offer(self.rail, rails, choice.rail)
        numbers = range(1, choice.segment_count + 1)
        segments = [(f"segment {number}", number) for number in numbers]
        self._offer(self.segment, segments, choice.segment)
        self.set_enabled(True)

    def set_enabled(self, enabled: bool) -> None:
        """Let the tools be used, or not."""
        for button in self._tools:
            button.setEnabled(enabled)

    def _tool(self, name: str, text: str, tip: str, keys: str = "") -> QToolButton:
        button = named(QToolButton(), f"tool-{name}", tip)
        button.setText(text)
        button.setToolTip(tip)
        button.setAutoRaise(True)
        if keys:
            button.clicked.connect(partial(self.pressed.emit, keys))
        return button

    def _offer(
        self, box: QComboBox, rows: Sequence[tuple[str, object]], now: object
    ) -> None:
        offer(box, rows, now)
        box.setVisible(box.count() > 1)

    def _combo(self, name: str, accessible: str) -> QComboBox:
        box = combo_box(name, accessible, action=self._choose)
        box.hide()
        return box

    def _choose(self) -> None:
        trial = self.trial.currentData()
        segment = self.segment.currentData()
        self.chosen.emit(trial or 1, self.rail.currentData() or "", segment or 1)
