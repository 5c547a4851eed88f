# SPDX-License-Identifier: Apache-2.0
"""The page to connect a bench: cards, buttons, the wiring diagram, and the rows of a
proof, a probe or a scan.
"""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QPaintEvent
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QWidget,
)

from gui.bench.cards import Card, Cards
from gui.bench.diagram_view import DiagramView
from gui.bench.link import Deed
from gui.bench.rows_view import RowsView
from gui.widgets.controls import named, push_button
from gui.widgets.layouts import LOW, STRETCH, in_column, in_row, split
from gui.widgets.notice import Notice, Severity
from gui.widgets.painter import ThemedPainter
from gui.widgets.text import PlainLabel, ShortenedLabel, plain, set_state
from rig.bench.diagram import Diagram

#: Name, text, key, and the button's text meanwhile.
BUTTONS = (
    (Deed.CONNECT, "&Connect", "F7", "Disconnect"),
    (Deed.PROBE, "&Probe", "F8", ""),
    (Deed.PROVE, "Prove &wiring", "F9", ""),
    (Deed.POWER, "Supply o&n", "F10", "Supply off"),
    (Deed.SCAN, "Sc&an", "F11", ""),
)
_DOT_PX = 12
_LINES = 5


class Dot(QWidget):
    """A dot in a colour of the theme."""

    def __init__(self) -> None:
        super().__init__()
        self._colour = "muted"
        self.setFixedSize(_DOT_PX, _DOT_PX)

    def set_colour(self, colour: str) -> None:
        """Show another colour of the theme."""
        self._colour = colour
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        """Paint the dot."""
        with ThemedPainter(self) as painter:
            painter.setRenderHint(painter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(getattr(painter.theme, self._colour)))
            painter.drawEllipse(1, 1, _DOT_PX - 2, _DOT_PX - 2)


class CardView(QFrame):
    """One card."""

    def __init__(self, key: str) -> None:
        super().__init__()
        self.setObjectName(f"card-{key}")
        self.setProperty("role", "card")
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setMinimumWidth(210)
        self.setSizePolicy(LOW)
        self._dot = Dot()
        self._title = PlainLabel(role="heading")
        self._state = PlainLabel(role="muted")
        self._simulated = PlainLabel("SIMULATED")
        self._simulated.setObjectName("labels")
        self._supply = PlainLabel()
        head = in_row([self._dot, self._title, STRETCH, self._simulated], spacing=7)
        second = in_row([(self._state, 1), self._supply])
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(12, 8, 12, 8)
        self._grid.setVerticalSpacing(2)
        self._grid.setColumnStretch(1, 1)
        self._grid.addLayout(head, 0, 0, 1, 2)
        self._grid.addLayout(second, 1, 0, 1, 2)
        self._names = [PlainLabel(role="muted") for _ in range(_LINES)]
        self._values = [ShortenedLabel() for _ in range(_LINES)]
        pairs = zip(self._names, self._values, strict=True)
        for number, (name, value) in enumerate(pairs, start=2):
            value.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            value.setSizePolicy(
                QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred
            )
            self._grid.addWidget(name, number, 0)
            self._grid.addWidget(value, number, 1)

    def show_card(self, card: Card) -> None:
        """Show how a part stands."""
        self._dot.set_colour(card.colour)
        self._title.setText(card.title)
        self._state.setText(f"{card.kind}, {card.state}")
        self._simulated.setVisible(card.simulated)
        self._supply.setText(f"supply {card.supply}" if card.supply else "")
        set_state(self._supply, "ok" if card.supply == "on" else "muted")
        self.setAccessibleName(card.spoken)
        for number in range(_LINES):
            name, value = card.lines[number] if number < len(card.lines) else ("", "")
            self._names[number].setText(name)
            self._values[number].setText(value)


class CardRow(QWidget):
    """All cards, side by side."""

    def __init__(self) -> None:
        super().__init__()
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(10)
        self._views: dict[str, CardView] = {}

    def show_cards(self, cards: Cards) -> None:
        """Show these parts and how they stand."""
        if list(self._views) != list(cards.by_key):
            for view in self._views.values():
                self._row.removeWidget(view)
                view.deleteLater()
            self._views = {key: CardView(key) for key in cards.by_key}
            for view in self._views.values():
                self._row.addWidget(view)
        for key, card in cards.by_key.items():
            self._views[key].show_card(card)


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
