# SPDX-License-Identifier: Apache-2.0
"""The numbers of a meter: the newest second on the left, the sums on the right."""

from __future__ import annotations

from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QLabel,
    QWidget,
)

from gui.widgets.controls import named
from gui.widgets.layouts import SHRINKING, in_row
from gui.widgets.text import RIGHT, PlainLabel, enlarge, plain, set_state
from gui.widgets.values import digits, with_u
from rig.live.accumulated import Amounts
from rig.live.meter import MeterReading, RecordState
from rig.live.newest_second import MeterSpread
from rig.stats.summary import half_width
from rig.units import duration, quantity

_HEADS = ("now", "mean", "min", "max")
#: Single samples have no interval of their own.
_UNCERTAIN = ("now", "mean")
_SIGNALS = (("current", "A"), ("voltage", "V"), ("power", "W"))
_AMOUNTS = (
    "energy",
    "charge",
    "power",
    "current",
    "time",
    "samples",
    "lost",
)
_NO_VALUE = "none"
_NO_INTERVAL = "± not known"
_INTERVAL = (
    "±: 95 % interval by the instrument's limits; min and max are single samples"
)
_INTERVAL_TIP = "95 % interval: 1.96 standard uncertainties by the instrument's limits"
_EMPTY = "Start shows values; Record fills the column of a recording."
#: The value now is read from a distance.
_LARGE = 1.5
_TIPS = {
    "now": "mean of the newest 50 ms",
    "mean": "of the newest second",
    "min": "least sample of the newest second",
    "max": "most of the newest second",
}
_AMOUNT_TIPS = {
    "power": "mean: the energy over the time",
    "current": "mean: the charge over the time",
}


class ValuesView(QWidget):
    """Two tables of labels; each has a name of its own, as meter-current-now."""

    def __init__(self) -> None:
        super().__init__()
        self._cells: dict[str, QLabel] = {}
        self.remark = plain("meter-remark", role="muted", wrap=True)
        self.newest_remark = plain("meter-newest-remark", role="muted", wrap=True)
        in_row([(self._newest(), 4), (self._sums(), 3)], self)
        self.clear()

    def text(self, name: str) -> str:
        """Return the text of a cell, as current-now or total-energy."""
        return self._cells[name].text()

    def clear(self) -> None:
        """Show no values, and how to have them."""
        for cell in self._cells.values():
            cell.setText("")
        self.remark.setText(_EMPTY)
        self.newest_remark.setText("")

    def show_reading(self, reading: MeterReading) -> None:
        """Show the readings of a meter."""
        for name, unit in _SIGNALS:
            spread = getattr(reading, name)
            for head in _HEADS:
                field = {"min": "least", "max": "most"}.get(head, head)
                text = (
                    _NO_VALUE
                    if spread is None
                    else digits(getattr(spread, field), unit, zeros=True)
                )
                self._cells[f"{name}-{head}"].setText(text)
            for head in _UNCERTAIN:
                text = "" if spread is None else _plus_minus(spread, head, unit)
                cell = self._cells[f"{name}-{head}-u"]
                cell.setText(text)
                set_state(cell, "muted" if text == _NO_INTERVAL else "")
        self.newest_remark.setText(
            f"± not known: {reading.newest_remark}"
            if reading.newest_remark
            else _INTERVAL
        )
        self._show_amounts("total", reading.total)
        recorded = reading.state in (RecordState.RECORDING, RecordState.ENDING)
        if recorded:
            self._show_amounts("record", reading.recorded)
        self.remark.setText(
            reading.total.remark or (reading.recorded.remark if recorded else "")
        )

    def show_recorded(self, amounts: Amounts) -> None:
        """Show the sums of a finished recording."""
        self._show_amounts("record", amounts)

    def _show_amounts(self, column: str, amounts: Amounts) -> None:
        texts = {
            "energy": with_u(amounts.energy_j, amounts.energy_u_j, "J"),
            "charge": with_u(amounts.charge_c, amounts.charge_u_c, "C"),
            "power": with_u(amounts.power_w, amounts.power_u_w, "W"),
            "current": with_u(amounts.current_a, amounts.current_u_a, "A"),
            "time": duration(amounts.duration_s),
            "samples": f"{amounts.samples:,}".replace(",", " "),
            "lost": f"{amounts.lost:,}".replace(",", " "),
        }
        for name, text in texts.items():
            self._cells[f"{column}-{name}"].setText(text)
        set_state(self._cells[f"{column}-lost"], "bad" if amounts.lost else "")

    def _newest(self) -> QFrame:
        frame, grid = _table("meter-newest", "The newest second")
        for column, head in enumerate(_HEADS, start=1):
            label = _head(head, right=True)
            label.setToolTip(_TIPS[head])
            grid.addWidget(label, 0, column)
            grid.setColumnStretch(column, 4 if head == "now" else 3)
        for number, (name, _) in enumerate(_SIGNALS):
            row = 1 + 2 * number
            grid.addWidget(_head(name), row, 0)
            for column, head in enumerate(_HEADS, start=1):
                cell = self._cell(f"{name}-{head}", f"{name} {head}")
                if head == "now":
                    enlarge(cell, _LARGE)
                grid.addWidget(cell, row, column)
            for column, head in enumerate(_UNCERTAIN, start=1):
                cell = self._cell(f"{name}-{head}-u", f"{name} {head}, uncertainty")
                cell.setToolTip(_INTERVAL_TIP)
                grid.addWidget(cell, row + 1, column)
        last = 1 + 2 * len(_SIGNALS)
        grid.addWidget(self.newest_remark, last, 0, 1, 1 + len(_HEADS))
        grid.setRowStretch(last + 1, 1)
        return frame

    def _sums(self) -> QFrame:
        frame, grid = _table("meter-sums", "Energy and charge")
        columns = (("total", "since the start"), ("record", "recording"))
        for column, (name, head) in enumerate(columns, start=1):
            grid.addWidget(_head(head, right=True), 0, column)
            grid.setColumnStretch(column, 1)
            for row, amount in enumerate(_AMOUNTS, start=1):
                cell = self._cell(f"{name}-{amount}", f"{amount} {head}")
                grid.addWidget(cell, row, column)
        for row, amount in enumerate(_AMOUNTS, start=1):
            label = _head(amount)
            label.setToolTip(_AMOUNT_TIPS.get(amount, ""))
            grid.addWidget(label, row, 0)
        grid.addWidget(self.remark, len(_AMOUNTS) + 1, 0, 1, 3)
        return frame

    def _cell(self, name: str, accessible: str) -> QLabel:
        label = plain(f"meter-{name}", selectable=True)
        label.setAccessibleName(accessible)
        label.setAlignment(RIGHT)
        # Numbers that grow by a digit must not widen the window.
        label.setSizePolicy(SHRINKING)
        self._cells[name] = label
        return label


def _plus_minus(spread: MeterSpread, head: str, unit: str) -> str:
    """Return the half-width of the 95 % interval of a mean, with the prefix of its
    value."""
    u = getattr(spread, f"{head}_u")
    if u is None:
        return _NO_INTERVAL
    shown = quantity(getattr(spread, head), unit, half_width(u))
    return f"± {shown.partition('± ')[2]}"


def _table(name: str, accessible: str) -> tuple[QFrame, QGridLayout]:
    frame = named(QFrame(), name, accessible)
    frame.setProperty("role", "card")
    grid = QGridLayout(frame)
    grid.setHorizontalSpacing(10)
    grid.setVerticalSpacing(2)
    return frame, grid


def _head(text: str, right: bool = False) -> PlainLabel:
    label = PlainLabel(text, role="muted")
    if right:
        label.setAlignment(RIGHT)
    return label
