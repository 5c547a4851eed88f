# SPDX-License-Identifier: Apache-2.0
"""The source of the meter, Start, Stop, and the labels.

Record: into which folder, from which trigger on; and how the recording stands.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtWidgets import (
    QComboBox,
    QLineEdit,
    QSizePolicy,
    QWidget,
)

from gui.run.meter.link import MeterSource
from gui.widgets.controls import combo_box, named, offer, push_button
from gui.widgets.labels import Labels
from gui.widgets.layouts import STRETCH, in_column, in_row
from gui.widgets.line_field import LineField
from gui.widgets.path_field import PathField
from gui.widgets.text import PlainLabel, heading, plain
from gui.widgets.values import parse
from rig.errors import ConfigError
from rig.files.user_folders import expanded
from rig.live.meter import RecordState, Trigger, TriggerKind


class SourceBar(QWidget):
    """The bar; a rail of the open bench is chosen, or a kind of monitor and its
    settings."""

    def __init__(self) -> None:
        super().__init__()
        self.labels = Labels()
        self.labels.setWordWrap(False)
        self.choice = combo_box("meter-source", "What is metered", action=self._chosen)
        self.choice.setMinimumContentsLength(22)
        policy = QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        self.choice.setSizeAdjustPolicy(policy)
        self.settings = LineField(
            "meter-settings",
            "Settings of the monitor",
            "settings, as device=JS220-000415 (F11 on Bench scans)",
        )
        self.start = push_button(
            "meter-start", "Start", tip="F5: supply on, and measure", role="primary"
        )
        self.stop = push_button(
            "meter-stop", "Stop", tip="Shift+F5 or Esc: the supply is off then"
        )
        self.reset = push_button(
            "meter-reset",
            "Reset",
            tip="let energy, charge and time begin again (Ctrl+0)",
        )
        self._running = False
        title = heading("meter-title", "Meter", 1.25)
        buttons = [self.start, self.stop, self.reset]
        top = in_row([title, 12, self.labels, STRETCH, *buttons])
        row = in_row([PlainLabel("Monitor"), (self.choice, 1), (self.settings, 2)])
        in_column([top, row], self)
        self.offer(None, (), ())

    @property
    def source(self) -> MeterSource:
        """The chosen source; raises ConfigError where the settings cannot be
        read.
        """
        chosen: MeterSource = self.choice.currentData()
        if chosen.path is not None:
            return chosen
        try:
            settings = tuple(shlex.split(self.settings.text()))
        except ValueError as error:
            raise ConfigError(
                "the settings cannot be read",
                evidence=str(error),
                try_next=(
                    "KEY=VALUE, a space between two; quotes around a value with spaces"
                ),
            ) from error
        return MeterSource(kind=chosen.kind, settings=settings)

    def offer(
        self, path: Path | None, rails: Sequence[tuple[str, str]], kinds: Sequence[str]
    ) -> None:
        """Offer the rails of a bench, each with its kind, and kinds of monitors by
        themselves."""
        self.choice.clear()
        for rail, kind in rails:
            name = f"{path.name if path is not None else ''}: {rail or kind}"
            self.choice.addItem(
                f"{name} ({kind})" if rail else name, MeterSource(path, rail)
            )
        for kind in kinds:
            self.choice.addItem(f"monitor {kind} alone", MeterSource(kind=kind))
        self._chosen()

    def set_running(self, running: bool) -> None:
        """Allow Start or Stop."""
        self._running = running
        self._chosen()

    def _chosen(self) -> None:
        chosen: MeterSource | None = self.choice.currentData()
        idle = not self._running
        self.choice.setEnabled(idle)
        self.settings.setEnabled(idle and chosen is not None and chosen.path is None)
        self.start.setEnabled(idle and chosen is not None)
        self.stop.setEnabled(self._running)
        self.reset.setEnabled(self._running)


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
