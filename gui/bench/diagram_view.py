# SPDX-License-Identifier: Apache-2.0
"""The wiring diagram: boxes, pins, and wires in the colour of their signal or of their
test result.
"""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import (
    QFontInfo,
    QFontMetricsF,
    QHelpEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QToolTip, QWidget

from gui.theme import shown
from gui.widgets.controls import named
from rig.bench.diagram import Diagram, Wire
from rig.bench.diagrams.layout import DiagramLayout, Route, lay_out
from rig.bench.diagrams.svg import DiagramStyle, svg
from rig.model.wiring import WireName

_NEAR_PX = 6.0
#: What rows of a proof say of a wire of the picture.
_ROWS = {
    WireName.SYNC: (WireName.SYNC, WireName.LEVEL, WireName.POLARITY),
    WireName.SUPPLY: (WireName.SUPPLY, WireName.CURRENT, WireName.SECOND_SUPPLY),
}


class DiagramView(QWidget):
    """The diagram; `mark` colours a wire by its test result."""

    def __init__(self) -> None:
        super().__init__()
        named(self, "bench-diagram", "Wiring diagram")
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.drawn: Diagram | None = None
        self._layout: DiagramLayout | None = None
        self._found: dict[tuple[str, str], bool] = {}

    def set_diagram(self, drawn: Diagram | None) -> None:
        """Show another diagram, without test results."""
        self.drawn = drawn
        self._found = {}
        description = "; ".join(drawn.lines()) if drawn is not None else ""
        self.setAccessibleDescription(description)
        self._place()

    def clear_found(self) -> None:
        """Remove the test results."""
        self._found = {}
        self.update()

    def mark(self, row: str, rail: str, ok: bool | None) -> None:
        """Colour a wire by its test result."""
        if ok is not None:
            self._found[row, rail] = ok and self._found.get((row, rail), True)
            self.update()

    def colour_of(self, wire: Wire) -> str:
        """Return the colour of a wire, as #rrggbb."""
        theme = shown()
        state = self._state(wire)
        if state is not None:
            return theme.ok if state else theme.bad
        carries = {
            WireName.SUPPLY: theme.current,
            WireName.LEVEL: theme.voltage,
            WireName.GROUND: theme.muted,
            WireName.SYNC: theme.power,
        }
        return carries.get(wire.connection.name, theme.accent)

    def sizeHint(self) -> QSize:  # noqa: N802
        """Return the size of the whole diagram."""
        if self._layout is None:
            return QSize(400, 160)
        return QSize(round(self._layout.width), round(self._layout.height))

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        """Return the size below which wires would lie on each other."""
        if self.drawn is None:
            return QSize(300, 120)
        least = lay_out(self.drawn, self._text_width, 0.0)
        return QSize(round(least.width), round(least.height))

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Use the width that there is."""
        self._place()

    def event(self, event: QEvent) -> bool:
        """Say of the wire under the mouse where it goes."""
        if isinstance(event, QHelpEvent):
            route = self._at(QPointF(event.pos()))
            if route is None:
                QToolTip.hideText()
            else:
                QToolTip.showText(event.globalPos(), _words(route.wire), self)
            return True
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        """Paint the picture that a page of the wiring has, too."""
        if self._layout is None:
            return
        renderer = QSvgRenderer(QByteArray(self._svg().encode()))
        with QPainter(self) as painter:
            painter.setRenderHint(painter.RenderHint.Antialiasing)
            renderer.render(painter, renderer.viewBoxF())

    def _svg(self) -> str:
        """Return the picture in the colours of the theme and the window's font."""
        assert self._layout is not None
        theme, font = shown(), QFontInfo(self.font())
        style = DiagramStyle(
            ground="none",
            base=theme.base,
            raised=theme.raised,
            border=theme.border,
            text=theme.text,
            muted=theme.muted,
            warn=theme.warn,
            bad=theme.bad,
            family=font.family(),
            text_px=float(font.pixelSize()),
        )
        return svg(self._layout, style, self.colour_of, self._state)

    def _state(self, wire: Wire) -> bool | None:
        rows = _ROWS.get(wire.connection.name, (wire.connection.name,))
        # The line to the host belongs to all rails.
        results = [self._found.get((str(row), wire.rail)) for row in rows]
        known = [each for each in results if each is not None]
        if wire.connection.name is WireName.GROUND and wire.rail:
            return None
        return all(known) if known else None

    def _at(self, point: QPointF) -> Route | None:
        if self._layout is None:
            return None
        for route in self._layout.routes:
            pairs = zip(route.points, route.points[1:], strict=False)
            for (x0, y0), (x1, y1) in pairs:
                area = QRectF(QPointF(x0, y0), QPointF(x1, y1)).normalized()
                area.adjust(-_NEAR_PX, -_NEAR_PX, _NEAR_PX, _NEAR_PX)
                if area.contains(point):
                    return route
        return None

    def _text_width(self, text: str) -> float:
        return QFontMetricsF(self.font()).horizontalAdvance(text)

    def _place(self) -> None:
        if self.drawn is None:
            self._layout = None
        else:
            self._layout = lay_out(self.drawn, self._text_width, float(self.width()))
        self.updateGeometry()
        self.update()


def _words(wire: Wire) -> str:
    made = wire.connection
    note = f"\n{made.note}" if made.note else ""
    return f"{made.name}: {made.start.name} to {made.end.name}{note}"
