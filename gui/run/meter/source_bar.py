# SPDX-License-Identifier: Apache-2.0
"""The source of the meter, Start, Stop, and the labels."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtWidgets import (
    QComboBox,
    QWidget,
)

from gui.run.meter.link import MeterSource
from gui.widgets.controls import combo_box, push_button
from gui.widgets.labels import Labels
from gui.widgets.layouts import STRETCH, in_column, in_row
from gui.widgets.line_field import LineField
from gui.widgets.text import PlainLabel, heading
from rig.errors import ConfigError


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
