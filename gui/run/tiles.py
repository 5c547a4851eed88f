# SPDX-License-Identifier: Apache-2.0
"""The column of numbers beside the live picture: supply, samples, powers, the trial so
far."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPaintEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QWidget

from gui.run import run_text
from gui.run.record import RunSnapshot, powers
from gui.widgets.layouts import STRETCH, in_column
from gui.widgets.painter import ThemedPainter
from gui.widgets.text import PlainLabel, plain, set_state
from rig.units import quantity

_WIDTH_PX = 260
_BAR_PX = 6
#: Colours of the theme: a bar for each of the mean powers.
_BAR_COLOURS = ("power", "gap", "accent")


class Tiles(QFrame):
    """Names and values; a value that cannot be known yet is a dash."""

    def __init__(self) -> None:
        super().__init__()
        self.setFixedWidth(_WIDTH_PX)
        self._values: dict[str, QLabel] = {}
        self._names: dict[str, QLabel] = {}
        self._bars = [_Bar(colour) for colour in _BAR_COLOURS]
        self._grid = QGridLayout()
        self._grid.setColumnStretch(1, 1)
        self._grid.setVerticalSpacing(4)
        self._row = 0
        self._add("supply", "supply")
        self._add("lost", "lost samples")
        self._head("power, mean of the trials")
        for row, bar in enumerate(self._bars):
            self._add(f"power-{row}", "-")
            self._grid.addWidget(bar, self._row, 0, 1, 2)
            self._row += 1
        self._head("this trial so far")
        for name in ("right", "latency", "retransmissions"):
            self._add(name, name)
        in_column([self._grid, STRETCH], self, margins=(10, 0, 4, 0))

    def value(self, name: str) -> str:
        """Return the text of a tile."""
        return self._values[name].text()

    def show_snapshot(self, snapshot: RunSnapshot, lost: int) -> None:
        """Show how things are."""
        supply, state = run_text.supply(snapshot)
        self._set("supply", supply, state)
        self._set("lost", f"{lost}", "bad" if lost else "")
        rows = powers(snapshot.metrics)
        highest = max((row.value for row in rows), default=0.0)
        for place, bar in enumerate(self._bars):
            row = rows[place] if place < len(rows) else None
            name = f"power-{place}"
            self._names[name].setText(
                "-" if row is None else row.name.removeprefix("power_")
            )
            self._set(name, "-" if row is None else quantity(row.value, row.unit))
            bar.set_share(row.value / highest if row and highest > 0 else 0.0)
        so_far = dict(run_text.so_far(snapshot))
        for name in ("right", "latency", "retransmissions"):
            self._set(name, so_far.get(name, "-"))

    def _set(self, name: str, text: str, state: str = "") -> None:
        label = self._values[name]
        if label.text() != text:
            label.setText(text)
        set_state(label, state)

    def _head(self, text: str) -> None:
        label = PlainLabel(text)
        set_state(label, "muted")
        self._grid.setRowMinimumHeight(self._row, 8)
        self._grid.addWidget(label, self._row + 1, 0, 1, 2)
        self._row += 2

    def _add(self, name: str, text: str) -> None:
        head = PlainLabel(text, role="muted")
        value = plain(f"run-{name}", "-", selectable=True)
        value.setAccessibleName(text)
        value.setAlignment(Qt.AlignmentFlag.AlignRight)
        self._values[name] = value
        self._names[name] = head
        self._grid.addWidget(head, self._row, 0)
        self._grid.addWidget(value, self._row, 1)
        self._row += 1


class _Bar(QWidget):
    """A bar from 0 to 1 in a colour of the theme."""

    def __init__(self, colour: str) -> None:
        super().__init__()
        self.setFixedHeight(_BAR_PX)
        self._share = 0.0
        self._colour = colour

    def set_share(self, share: float) -> None:
        if share != self._share:
            self._share = min(max(share, 0.0), 1.0)
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        painter = ThemedPainter(self)
        painter.fillRect(self.rect(), QColor(painter.theme.raised))
        bar = QRectF(0, 0, self.width() * self._share, self.height())
        painter.fillRect(bar, QColor(getattr(painter.theme, self._colour)))
        painter.end()
