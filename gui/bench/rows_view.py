# SPDX-License-Identifier: Apache-2.0
"""The rows of a proof, a probe or a scan, as they appear."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from PySide6.QtWidgets import QWidget

from gui.widgets.layouts import in_column
from gui.widgets.table import DataTable, TableColumn
from gui.widgets.text import PlainLabel, plain
from rig.bench.probe import about
from rig.bench.scan import FOUND, MISSING, ScanRow
from rig.bench.wire_rows import HOW
from rig.interfaces.monitor import MonitorInfo
from rig.interfaces.sut import SutInfo
from rig.model.finding import Finding
from rig.model.wiring import WireFinding
from rig.store.events import PartOpened
from rig.units import quantity

_SIGNS = {True: "✓ ok", False: "✗ fails", None: "– not tested"}
_COLOURS = {"✓ ok": "ok", "✗ fails": "bad", "– not tested": "muted", "… waits": "muted"}


@dataclass(frozen=True, slots=True)
class FindingRow:
    """A row: part, state, finding, probable cause, and the next step to try."""

    name: str
    sign: str
    detail: str = ""
    cause: str = ""
    try_next: str = ""
    rail: str = ""

    @property
    def colour(self) -> str:
        """The name of its colour in the theme."""
        return _COLOURS.get(self.sign, "")


_COLUMNS = (
    TableColumn("result", lambda row: row.sign, colour=lambda row: row.colour),
    TableColumn(
        "what", lambda row: f"{row.name} of {row.rail}" if row.rail else row.name
    ),
    TableColumn("found", lambda row: row.detail, colour=lambda row: _muted(row)),
    TableColumn("probable cause", lambda row: row.cause),
    TableColumn("try", lambda row: row.try_next),
)


class RowsView(QWidget):
    """A table of rows, and below it the cause and what to try of the one at hand."""

    def __init__(self, name: str, heading: str) -> None:
        super().__init__()
        self._heading = PlainLabel(heading, role="heading")
        self.table = DataTable(_COLUMNS, name, heading)
        self.table.chosen.connect(self._explain)
        self._why = plain(f"{name}-why", wrap=True, selectable=True)
        self._why.hide()
        in_column([self._heading, (self.table, 1), self._why], self)

    @property
    def rows(self) -> list[FindingRow]:
        """The rows."""
        return self.table.rows

    @property
    def why(self) -> str:
        """The cause and the hint that are shown; empty where none is."""
        return self._why.text() if not self._why.isHidden() else ""

    def begin(self, heading: str, due: Sequence[tuple[str, str]] = ()) -> None:
        """Show the rows to come, each as waiting."""
        self._heading.setText(heading)
        self._why.hide()
        self.table.set_rows(
            [FindingRow(name, "… waits", _how(name), rail=rail) for name, rail in due]
        )

    def say(self, heading: str) -> None:
        """Show another heading over the same rows."""
        self._heading.setText(heading)

    def add(self, row: FindingRow) -> None:
        """Show a row, in the place of the one that waited for it."""
        rows = list(self.rows)
        for at, each in enumerate(rows):
            if (each.name, each.rail) == (row.name, row.rail):
                rows[at] = row
                break
        else:
            rows.append(row)
        self.table.set_rows(rows)
        if row.sign == _SIGNS[False]:
            self.table.choose(row)
            self._explain(row)

    def end(self, result: str) -> None:
        """Show the result; rows that still wait are shown as not tested."""
        self._heading.setText(result)
        rows = []
        for row in self.rows:
            waits = row.sign == "… waits"
            rows.append(replace(row, sign=_SIGNS[None]) if waits else row)
        self.table.set_rows(rows)

    def _explain(self, row: FindingRow) -> None:
        parts = [row.detail]
        parts += [f"Probable cause: {row.cause}."] if row.cause else []
        parts += [f"Try: {row.try_next}"] if row.try_next else []
        self._why.setText("\n".join(parts))
        self._why.setVisible(bool(row.cause or row.try_next or len(row.detail) > 60))


def of_finding(finding: Finding) -> FindingRow:
    """Return the row of a probe's finding."""
    sign = _SIGNS[finding.passed]
    return FindingRow(
        name=finding.name,
        sign=sign,
        detail=finding.detail,
        try_next=finding.try_next,
    )


def of_wire(finding: WireFinding) -> FindingRow:
    """Return the row of a wire."""
    return FindingRow(
        name=str(finding.wire),
        sign=_SIGNS[finding.ok],
        detail=finding.detail,
        cause=finding.cause,
        try_next=finding.try_next,
        rail=finding.rail,
    )


def of_part(opened: PartOpened) -> FindingRow:
    """Return the row of a part that was opened."""
    info = opened.info
    if isinstance(info, SutInfo):
        return FindingRow("device", _SIGNS[True], about(info))
    assert isinstance(info, MonitorInfo)
    serial = f", serial number {info.serial}" if info.serial else ""
    detail = (
        f"{info.name}{serial}, {quantity(info.sample_hz, 'Hz')}, SYNC by {info.sync}"
    )
    return FindingRow("monitor", _SIGNS[True], detail, rail=opened.rail)


def of_scan(attached: ScanRow) -> FindingRow:
    """Return the row of something that is attached."""
    signs = {FOUND: _SIGNS[True], MISSING: "not installed"}
    serial = f", serial number {attached.serial}" if attached.serial else ""
    detail = attached.problem or f"{attached.name}{serial}"
    setting = " ".join(attached.setting.split())
    setting = f"In the bench file: {setting}" if setting else ""
    sign = signs.get(attached.state, _SIGNS[False])
    rail = attached.name if serial else ""
    return FindingRow(
        name=attached.kind,
        sign=sign,
        detail=detail,
        try_next=attached.try_next or setting,
        rail=rail,
    )


def _how(name: str) -> str:
    return next((how for wire, how in HOW.items() if str(wire) == name), "")


def _muted(row: FindingRow) -> str:
    return "muted" if row.sign not in (_SIGNS[True], _SIGNS[False]) else ""
