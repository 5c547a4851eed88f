# SPDX-License-Identifier: Apache-2.0
"""The numbers beside the live picture: the supply, losses, mean powers, and preliminary
numbers of the trial at hand."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPaintEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QWidget

from gui.run import run_text
from gui.run.record import POWERS_SHOWN, RunSnapshot, powers
from gui.widgets.layouts import STRETCH, in_column
from gui.widgets.painter import ThemedPainter
from gui.widgets.text import PlainLabel, plain, set_state, tip

_WIDTH_PX = 260
_BAR_PX = 6
#: Colours of the theme: a bar for each of the mean powers.
_BAR_COLOURS = ("power", "gap", "accent")
_TIPS = {
    "supply": "state of the supply as the rig switched it",
    "lost": "samples that the instrument did not deliver, since Start",
    "retransmissions": (
        "requests that were sent to the device again, since no valid answer came;"
        " counted from Start, and never sent inside of a measured window"
    ),
    "right": (
        "share of right answers of this trial, with the exact 95 % interval for other"
        " samples that are independent of each other"
    ),
    "latency": "mean of the queries of this trial, with its 95 % interval",
}
_POWER_TIP = (
    "mean of the trials so far, with the 95 % interval for the same samples measured"
    " again"
)


class Tiles(QFrame):
    """Names and values; each part states once why values are missing."""

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
        self._add("retransmissions", "retransmissions")
        self._head("mean power of the trials, 95 %")
        for place in range(POWERS_SHOWN):
            self._add(f"power-{place}", "", _POWER_TIP)
            self._wide(self._bars[place])
        self._no_power = self._note("run-no-power")
        self._head("this trial so far, 95 %")
        self._add("right", "right")
        self._add("latency", "latency")
        self._nothing = self._note("run-nothing")
        in_column([self._grid, STRETCH], self, margins=(10, 0, 4, 0))

    def value(self, name: str) -> str:
        """Return the text of a tile; empty where it has none."""
        label = self._values[name]
        return "" if label.isHidden() else label.text()

    def name(self, name: str) -> str:
        """Return the name of a tile as it is shown."""
        return self._names[name].text()

    def show_snapshot(self, snapshot: RunSnapshot, lost: int) -> None:
        """Show how things are."""
        supply, state = run_text.supply(snapshot)
        self._set("supply", supply, state=state)
        self._set("lost", f"{lost}", state="bad" if lost else "")
        again = snapshot.retransmissions
        self._set("retransmissions", f"{again}", state="warn" if again else "")
        self._show_powers(snapshot)
        count = snapshot.right.count
        self._set("right", run_text.right_share(snapshot), f"right of {count}")
        self._set("latency", run_text.latency(snapshot))
        _say(self._nothing, run_text.nothing_so_far(snapshot))

    def _show_powers(self, snapshot: RunSnapshot) -> None:
        rows = powers(snapshot.metrics)
        highest = max((row.value for row in rows), default=0.0)
        for place, bar in enumerate(self._bars):
            bar.setVisible(place < len(rows))
            if place < len(rows):
                row = rows[place]
                shown = run_text.power_value(row)
                name = row.name.removeprefix("power_")
                self._set(f"power-{place}", shown, name)
                bar.set_share(row.value / highest if highest > 0 else 0.0)
            else:
                self._set(f"power-{place}", "")
        _say(self._no_power, run_text.powers_unknown(snapshot, rows))

    def _set(self, key: str, text: str, name: str = "", *, state: str = "") -> None:
        """Show a value, and its name where that changes; without a text neither."""
        label = self._values[key]
        _say(label, text)
        set_state(label, state)
        if name and self._names[key].text() != name:
            self._names[key].setText(name)
            label.setAccessibleName(name)
        self._names[key].setVisible(bool(text))

    def _head(self, text: str) -> None:
        label = PlainLabel(text)
        set_state(label, "muted")
        self._grid.setRowMinimumHeight(self._row, 8)
        self._row += 1
        self._wide(label)

    def _note(self, name: str) -> QLabel:
        label = plain(name, role="muted", wrap=True)
        label.hide()
        self._wide(label)
        return label

    def _add(self, key: str, text: str, hint: str = "") -> None:
        head = PlainLabel(text, role="muted")
        value = plain(f"run-{key}", selectable=True, accessible=text)
        value.setAlignment(Qt.AlignmentFlag.AlignRight)
        for label in (head, value):
            label.setToolTip(tip(hint or _TIPS[key]))
        self._values[key] = value
        self._names[key] = head
        self._grid.addWidget(head, self._row, 0)
        self._grid.addWidget(value, self._row, 1)
        self._row += 1

    def _wide(self, widget: QWidget) -> None:
        self._grid.addWidget(widget, self._row, 0, 1, 2)
        self._row += 1


def _say(label: QLabel, text: str) -> None:
    """Show a text; hide the label without one."""
    if label.text() != text:
        label.setText(text)
    label.setVisible(bool(text))


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
