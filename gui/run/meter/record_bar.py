# SPDX-License-Identifier: Apache-2.0
"""Record: into which folder, from which trigger on; and how the recording stands."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import (
    QLineEdit,
    QSizePolicy,
    QWidget,
)

from gui.widgets.controls import combo_box, named, offer, push_button
from gui.widgets.layouts import in_column, in_row
from gui.widgets.path_field import PathField
from gui.widgets.text import PlainLabel, plain
from gui.widgets.values import parse
from rig.errors import ConfigError
from rig.files.user_folders import expanded
from rig.live.meter import RecordState, Trigger, TriggerKind

_BEFORE_S = (0.0, 0.01, 0.1, 1.0)
_TEXTS = {
    RecordState.OFF: "Record",
    RecordState.ARMED: "Cancel",
    RecordState.RECORDING: "End recording",
    RecordState.ENDING: "Ending ...",
}


class RecordBar(QWidget):
    """The bar."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = PathField(
            "meter-folder", "Folder of the recordings", "recordings"
        )
        self.folder.setText(str(folder))
        self.kind = combo_box(
            "meter-trigger", "What begins the recording", action=self._chosen
        )
        offer(self.kind, [(str(kind), kind) for kind in TriggerKind])
        self.level = named(QLineEdit("10 mA"), "meter-level", "Current of the trigger")
        self.level.setFixedWidth(90)
        self.before = combo_box("meter-before", "Recorded before the trigger")
        rows = [(f"{before_s:g} s before", before_s) for before_s in _BEFORE_S]
        offer(self.before, rows)
        self.record = push_button(
            "meter-record",
            "Record",
            accessible="Record, or end the recording",
            tip="Ctrl+R: a new folder with trace.jls; Trace shows it at the end",
        )
        self.said = plain("meter-record-said", role="muted")
        self.said.setSizePolicy(
            QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred
        )
        self._state = RecordState.OFF
        self._running = False
        trigger = [self.kind, self.level, self.before, PlainLabel("into")]
        first = in_row([self.record, *trigger, (self.folder, 1)])
        in_column([first, self.said], self)
        self.show_state(RecordState.OFF, False)

    @property
    def root(self) -> Path:
        """The folder that holds a folder for each recording."""
        return expanded(self.folder.text().strip() or "recordings")

    @property
    def trigger(self) -> Trigger:
        """What begins the recording; raises ConfigError where the level is no
        current."""
        kind = self._kind
        before_s: float = self.before.currentData()
        if kind is TriggerKind.NOW:
            return Trigger()
        trigger = Trigger(kind, 0.0, before_s)
        if not trigger.by_level:
            return trigger
        try:
            return Trigger(kind, parse(self.level.text(), "A"), before_s)
        except ValueError as error:
            raise ConfigError(
                "the trigger has no current",
                evidence=str(error),
                try_next="a value as 10 mA",
            ) from error

    @property
    def _kind(self) -> TriggerKind:
        # Qt keeps a text for an item that is a text too.
        return TriggerKind(self.kind.currentData())

    def show_state(self, state: RecordState, running: bool) -> None:
        """Show how the recording stands, and whether there is a meter to record."""
        self._state, self._running = state, running
        self.record.setText(_TEXTS[state])
        self.record.setEnabled(running and state is not RecordState.ENDING)
        self._chosen()

    def _chosen(self) -> None:
        kind = self._kind
        free = self._state is RecordState.OFF
        for field in (self.folder, self.kind):
            field.setEnabled(free)
        self.level.setEnabled(free and kind in (TriggerKind.RISES, TriggerKind.FALLS))
        self.before.setEnabled(free and kind is not TriggerKind.NOW)
