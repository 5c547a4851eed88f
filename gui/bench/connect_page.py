# SPDX-License-Identifier: Apache-2.0
"""The page to connect a bench: cards, buttons, the wiring diagram, and the rows of a
proof, a probe or a scan.
"""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QFrame,
    QPushButton,
    QScrollArea,
    QWidget,
)

from gui.bench.card_view import CardRow
from gui.bench.diagram_view import DiagramView
from gui.bench.link import Deed
from gui.bench.rows_view import RowsView
from gui.widgets.controls import named, push_button
from gui.widgets.layouts import STRETCH, in_column, in_row, split
from gui.widgets.notice import Notice, Severity
from gui.widgets.text import PlainLabel, plain
from rig.bench.diagram import Diagram

#: Name, text, key, and the button's text meanwhile.
BUTTONS = (
    (Deed.CONNECT, "&Connect", "F7", "Disconnect"),
    (Deed.PROBE, "&Probe", "F8", ""),
    (Deed.PROVE, "Prove &wiring", "F9", ""),
    (Deed.POWER, "Supply o&n", "F10", "Supply off"),
    (Deed.SCAN, "Sc&an", "F11", ""),
)


class ConnectPage(QWidget):
    """The page; emits `wanted` with a deed to begin, and `stopped` to end the one at
    work.
    """

    wanted = Signal(object)
    stopped = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("bench-connect")
        self.notice = Notice()
        self.cards = CardRow()
        self.picture = DiagramView()
        self.rows = RowsView("bench-rows", "Nothing was tested yet")
        self._notes = plain("bench-notes", role="muted")
        self._notes.setWordWrap(True)
        self._buttons: dict[Deed, QPushButton] = {}
        self._running: Deed | None = None
        self._stop = push_button(
            "bench-stop",
            "Stop",
            self.stopped.emit,
            accessible="Stop, and switch the supply off",
            tip="Esc: end what goes on; the supply is off then",
            role="danger",
        )
        self._lay_out()
        self.set_state(None, False)

    def set_diagram(self, drawn: Diagram | None) -> None:
        """Show the wiring of another bench."""
        self.picture.set_diagram(drawn)
        self._notes.setText("\n".join(drawn.notes) if drawn is not None else "")

    def set_problem(self, sentence: str) -> None:
        """Show why no part can be connected; "" where one can."""
        self.notice.clear()
        if sentence:
            self.notice.show_text(
                f"{sentence}\nIt is put right on the page Settings (Alt+3).",
                Severity.ERROR,
            )

    def set_state(self, running: Deed | None, usable: bool) -> None:
        """Show the deed at work, and enable the buttons that can be used."""
        self._running = running
        for deed, text, key, other in BUTTONS:
            button = self._buttons[deed]
            mine = running is deed
            button.setText(other if mine and other else text)
            free = running is None and (usable or deed is Deed.SCAN)
            button.setEnabled(free or (mine and bool(other)))
            button.setToolTip(key)
        self._stop.setVisible(running is not None)

    def press(self, deed: Deed) -> None:
        """Begin a deed as its button does."""
        if self._buttons[deed].isEnabled():
            self._buttons[deed].click()

    def _clicked(self, deed: Deed) -> None:
        if self._running is deed:
            self.stopped.emit()
        else:
            self.wanted.emit(deed)

    def _lay_out(self) -> None:
        for deed, text, _, _ in BUTTONS:
            clicked = partial(self._clicked, deed)
            role = "primary" if deed is Deed.CONNECT else ""
            self._buttons[deed] = push_button(f"bench-{deed}", text, clicked, role=role)
        buttons = in_row([*self._buttons.values(), STRETCH, self._stop])
        scroll = named(QScrollArea(), "bench-diagram-area", "Wiring diagram")
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setWidget(self.picture)
        heading = PlainLabel("Wiring", role="heading")
        left = QWidget()
        in_column([heading, (scroll, 1), self._notes], left)
        both = split(
            [left, self.rows],
            (290, 400),
            name="bench-connect-split",
            down=True,
            shares=(0, 1),
        )
        both.setChildrenCollapsible(False)
        in_column([self.notice, self.cards, buttons, (both, 1)], self, spacing=10)
