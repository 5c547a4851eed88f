# SPDX-License-Identifier: Apache-2.0
"""The row of cards: each part of the bench with its state dot."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPaintEvent
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QSizePolicy,
    QWidget,
)

from gui.bench.cards import Card, Cards
from gui.widgets.layouts import LOW, STRETCH, in_row
from gui.widgets.painter import ThemedPainter
from gui.widgets.text import PlainLabel, ShortenedLabel, set_state

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
        for number, (name, value) in enumerate(
            zip(self._names, self._values, strict=True), start=2
        ):
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
