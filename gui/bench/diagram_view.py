# SPDX-License-Identifier: Apache-2.0
"""The wiring diagram: boxes, pins, and wires in the colour of their signal or of their
test result.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QHelpEvent,
    QPaintEvent,
    QPen,
    QPolygonF,
    QResizeEvent,
)
from PySide6.QtWidgets import QToolTip, QWidget

from gui.bench.diagram_layout import Box, DiagramLayout, Route, lay_out
from gui.theme import shown
from gui.widgets.controls import named
from gui.widgets.painter import ThemedPainter
from gui.widgets.text import CENTRE, LEFT, RIGHT
from rig.bench.diagram import Diagram, Wire
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
        """Paint wires, then boxes over their ends."""
        if self._layout is None:
            return
        with ThemedPainter(self) as painter:
            painter.setRenderHint(painter.RenderHint.Antialiasing)
            for route in self._layout.routes:
                self._paint_wire(painter, route)
            for box in self._layout.boxes:
                self._paint_box(painter, box)
            self._paint_pins(painter)

    def _paint_wire(self, painter: ThemedPainter, route: Route) -> None:
        state = self._state(route.wire)
        pen = QPen(
            QColor(self.colour_of(route.wire)), 3.0 if state is not None else 2.0
        )
        pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
        if state is False:
            pen.setStyle(Qt.PenStyle.DashLine)
        painter.setPen(pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPolyline(QPolygonF([QPointF(x, y) for x, y in route.points]))
        if state is False:
            (x0, y0), (x1, y1) = route.points[1:3]
            self._paint_cross(painter, QPointF((x0 + x1) / 2, (y0 + y1) / 2))

    def _paint_cross(self, painter: ThemedPainter, at: QPointF) -> None:
        painter.setPen(QPen(QColor(painter.theme.bad), 2.5))
        painter.setBrush(QColor(painter.theme.base))
        painter.drawEllipse(at, 8.0, 8.0)
        arm = 3.5
        painter.drawLine(at + QPointF(-arm, -arm), at + QPointF(arm, arm))
        painter.drawLine(at + QPointF(-arm, arm), at + QPointF(arm, -arm))

    def _paint_box(self, painter: ThemedPainter, box: Box) -> None:
        outline = QRectF(box.x, box.y, box.width, box.height)
        painter.setPen(QPen(QColor(painter.theme.border), 1.2))
        painter.setBrush(QColor(painter.theme.base))
        painter.drawRoundedRect(outline, 7.0, 7.0)
        bold = QFont(self.font())
        bold.setBold(True)
        painter.setFont(bold)
        head = QRectF(box.x, box.y + 5, box.width, 18)
        painter.text(head, CENTRE, box.part.title, painter.theme.text)
        painter.setFont(self.font())
        subtitle, colour = box.part.subtitle, painter.theme.muted
        if box.part.simulated:
            subtitle, colour = f"{subtitle} (simulated)", painter.theme.warn
        below = QRectF(box.x, box.y + 23, box.width, 17)
        painter.text(below, CENTRE, subtitle, colour)

    def _paint_pins(self, painter: ThemedPainter) -> None:
        assert self._layout is not None
        for pin in self._layout.pins:
            painter.setPen(QPen(QColor(painter.theme.text), 1.2))
            painter.setBrush(QColor(painter.theme.raised))
            painter.drawEllipse(QPointF(pin.x, pin.y), 4.0, 4.0)
            x = pin.x - 210 if pin.right else pin.x + 10
            area = QRectF(x, pin.y - 10, 200, 20)
            painter.drawText(area, RIGHT if pin.right else LEFT, pin.name)

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
            for (x0, y0), (x1, y1) in zip(route.points, route.points[1:], strict=False):
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
