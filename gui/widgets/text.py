# SPDX-License-Identifier: Apache-2.0
"""Plain text: texts of devices, instruments and files are shown as they are, never as
markup, with control characters made visible.
"""

from __future__ import annotations

import html

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QWidget

from rig.files.plain_text import visible

#: Alignments of texts, each in the middle of its height.
LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
CENTRE = Qt.AlignmentFlag.AlignCenter

#: A label that shrinks keeps so many letters.
_FEW = 6


class PlainLabel(QLabel):
    """A label of plain text, the only kind in the window: Qt takes a text with a tag in
    it for markup otherwise. The style sheet has the roles.
    """

    def __init__(
        self,
        text: str = "",
        *,
        role: str = "",
        wrap: bool = False,
    ) -> None:
        super().__init__()
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setText(text)
        self.setWordWrap(wrap)
        self.setProperty("role", role)

    def setText(self, text: str) -> None:  # noqa: N802
        """Show a text."""
        super().setText(visible(text))


class ShortenedLabel(PlainLabel):
    """A label of one line that shrinks: a text without room ends in an ellipsis, and
    the whole text stands under the mouse.
    """

    def setText(self, text: str) -> None:  # noqa: N802
        """Show a text."""
        super().setText(text)
        self.setToolTip(tip(self.text()))

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        """Return the size of a few letters."""
        few = self.fontMetrics().averageCharWidth() * _FEW
        return QSize(
            min(few, self.sizeHint().width()), super().minimumSizeHint().height()
        )

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        """Paint the text, shortened where it has to be."""
        room = self.contentsRect()
        shown = self.fontMetrics().elidedText(
            self.text(), Qt.TextElideMode.ElideRight, room.width()
        )
        if shown == self.text():
            super().paintEvent(event)
            return
        painter = QPainter(self)
        painter.setPen(self.palette().color(self.foregroundRole()))
        painter.drawText(room, self.alignment(), shown)


def plain(
    name: str,
    text: str = "",
    *,
    role: str = "",
    wrap: bool = False,
    selectable: bool = False,
    accessible: str = "",
) -> PlainLabel:
    """Return a label; `wrap` breaks long lines, `selectable` lets the mouse copy of
    it."""
    label = PlainLabel(text, role=role, wrap=wrap)
    label.setObjectName(name)
    label.setAccessibleName(accessible)
    if selectable:
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return label


def shortened(name: str, text: str = "", *, role: str = "") -> ShortenedLabel:
    """Return a label of one line that shrinks."""
    label = ShortenedLabel(text, role=role)
    label.setObjectName(name)
    return label


def heading(name: str, text: str, scale: float) -> ShortenedLabel:
    """Return a label in bold letters, `scale` times as large as others, that
    shrinks.
    """
    label = shortened(name, text)
    enlarge(label, scale)
    return label


def enlarge(label: QLabel, scale: float) -> None:
    """Show a label in bold letters, `scale` times as large as others."""
    font = label.font()
    font.setBold(True)
    font.setPointSizeF(font.pointSizeF() * scale)
    label.setFont(font)


def set_state(label: QLabel, state: str) -> None:
    """Show a label in the colour of a state: "ok", "warn", "bad", "muted", or "" for
    that of other texts.
    """
    if label.property("state") != state:
        label.setProperty("state", state)
        repolish(label)


def repolish(widget: QWidget) -> None:
    """Look up the style of a widget again, which Qt does for no change of a property
    by itself.
    """
    widget.style().unpolish(widget)
    widget.style().polish(widget)


def no_markup(text: str) -> str:
    """Escape a text for a place that takes HTML alone, as titles of plots do."""
    return html.escape(visible(text), quote=False)


def tip(text: str) -> str:
    """Return a text to show under the mouse, where Qt takes what looks like markup for
    it."""
    return f"<qt>{no_markup(text)}</qt>".replace("\n", "<br>") if text else ""
