# SPDX-License-Identifier: Apache-2.0
"""A picture of the session's scenario, drawn so that it can be zoomed and read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyqtgraph
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPainterPath, QPixmap, QPolygonF
from PySide6.QtWidgets import (
    QGraphicsPolygonItem,
    QLabel,
    QStyleOptionGraphicsItem,
    QVBoxLayout,
    QWidget,
)

from gui.theme import Theme
from gui.widgets import plots
from gui.widgets.text import PlainLabel, no_markup
from rig.api.drawing.drawn import Area, Cells, Colour, Curve, Drawing, DrawnAxis, Level, Panel
from rig.api.drawing.pictures import merged, nearest
from rig.plain_text import visible

#: A panel can be moved by so many times its size, and what reaches its edge is drawn so far.
_ROOM = 8.0
_DASHES = {
    "solid": Qt.PenStyle.SolidLine,
    "dash": Qt.PenStyle.DashLine,
    "dot": Qt.PenStyle.DotLine,
}
_SYMBOLS = {
    "o": "o",
    ".": "o",
    "D": "d",
    "d": "d",
    "s": "s",
    "^": "t1",
    "v": "t",
    "<": "t3",
    ">": "t2",
    "x": "x",
    "+": "+",
}


class PictureView(QWidget):
    """One picture: its panels, the point under the mouse, its legend and its caption."""

    def __init__(self, drawing: Drawing, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(f"trials-picture-{drawing.name}")
        self.drawing = drawing
        self._theme = theme
        plots.configure(theme)
        self._layout = pyqtgraph.GraphicsLayoutWidget()
        self._layout.setObjectName(f"trials-plot-{drawing.name}")
        self._layout.setAccessibleName(drawing.title)
        self._plots: list[Any] = []
        self._image = QLabel()
        self._legend = QLabel()
        self._legend.setTextFormat(Qt.TextFormat.RichText)
        self._caption = _text()
        self._caption.setText(drawing.caption)
        self._under_mouse = _text()
        self._under_mouse.setObjectName("trials-under-mouse")
        column = QVBoxLayout(self)
        column.addWidget(self._legend)
        if drawing.panels:
            column.addWidget(self._layout, 1)
            column.addWidget(self._under_mouse)
        elif drawing.image:
            column.addWidget(self._image, 1)
        column.addWidget(self._caption)
        if not drawing.panels and not drawing.image:
            column.addStretch(1)
        self._layout.scene().sigMouseMoved.connect(self._moved)
        self.set_theme(theme)

    def set_theme(self, theme: Theme) -> None:
        """Draw in other colours."""
        self._theme = theme
        plots.configure(theme)
        self._caption.setStyleSheet(f"color: {theme.muted}")
        self._legend.setVisible(bool(self.drawing.legend))
        self._under_mouse.setText("Wheel and drag: zoom and move. A: all.")
        if self.drawing.image:
            picture = QPixmap()
            picture.loadFromData(self.drawing.image)
            self._image.setPixmap(picture)
        self._show_legend()
        self._layout.clear()
        self._layout.setBackground(theme.base)
        self._plots = []
        for panel in self.drawing.panels:
            self._add(panel)

    def show_all(self) -> None:
        """Show the whole of each panel."""
        for panel, plot in zip(self.drawing.panels, self._plots, strict=True):
            plot.setXRange(panel.x.low, panel.x.high, padding=0)
            plot.setYRange(panel.y.low, panel.y.high, padding=0)

    def keyPressEvent(self, event: Any) -> None:  # noqa: N802
        """Show all by A or *."""
        if event.key() in (Qt.Key.Key_A, Qt.Key.Key_Asterisk):
            self.show_all()
        else:
            super().keyPressEvent(event)

    def _add(self, panel: Panel) -> None:
        axes = {
            "bottom": _axis(panel.x, "bottom", self._theme),
            "left": _axis(panel.y, "left", self._theme),
        }
        plot = self._layout.addPlot(
            row=panel.row, col=panel.column, axisItems=axes, enableMenu=False
        )
        plot.hideButtons()
        plot.setTitle(no_markup(panel.title) or None, color=self._theme.text)
        plot.getViewBox().invertY(panel.y.inverted)
        plot.getViewBox().invertX(panel.x.inverted)
        (left, right), (low, high) = _reach(panel.x), _reach(panel.y)
        plot.getViewBox().setLimits(xMin=left, xMax=right, yMin=low, yMax=high)
        self._layout.ci.layout.setRowStretchFactor(panel.row, round(panel.height * 100))
        for area in panel.areas:
            plot.addItem(self._area(area, panel), ignoreBounds=True)
        for cells in panel.cells:
            plot.addItem(_image(cells), ignoreBounds=True)
        for level in panel.levels:
            plot.addItem(self._level(level), ignoreBounds=True)
        for curve in merged(panel.curves):
            plot.addItem(self._curve(curve), ignoreBounds=True)
        for words in panel.words:
            item = pyqtgraph.TextItem(
                visible(words.text),
                color="#1a1a1c" if panel.cells else self._shade(words.colour),
                anchor=(words.across, 1.0 - words.up),
            )
            item.setPos(words.x, words.y)
            plot.addItem(item, ignoreBounds=True)
        plot.setXRange(panel.x.low, panel.x.high, padding=0)
        plot.setYRange(panel.y.low, panel.y.high, padding=0)
        for other_panel, other in zip(self.drawing.panels, self._plots, strict=False):
            if panel.shares_x and other_panel.shares_x:
                plot.setXLink(other)
            if panel.shares_y and other_panel.shares_y:
                plot.setYLink(other)
        self._plots.append(plot)

    def _shade(self, colour: Colour) -> QColor:
        """Return a colour of the picture in those of the theme."""
        roles = {
            "ink": self._theme.text,
            "faint": self._theme.muted,
            "good": self._theme.ok,
            "bad": self._theme.bad,
        } | {f"c{place}": shade for place, shade in enumerate(self._theme.phases)}
        shade = QColor(roles.get(colour.role, colour.rgb))
        shade.setAlphaF(colour.opacity)
        return shade

    def _area(self, area: Area, panel: Panel) -> QGraphicsPolygonItem:
        x = np.clip(area.x, *_reach(panel.x))
        y = np.clip(area.y, *_reach(panel.y))
        kind = _Hatched if area.hatched else QGraphicsPolygonItem
        item = kind(QPolygonF([QPointF(float(at), float(up)) for at, up in zip(x, y, strict=True)]))
        item.setPen(pyqtgraph.mkPen(None))
        if area.fill is not None:
            item.setBrush(self._shade(area.fill))
        if area.hatched and area.edge is not None:
            pen = pyqtgraph.mkPen(self._shade(area.edge), width=2)
            pen.setCosmetic(True)
            item.setPen(pen)
        item.setZValue(-10)
        return item

    def _level(self, level: Level) -> Any:
        pen = pyqtgraph.mkPen(
            self._shade(level.colour), width=level.width, style=_DASHES[level.dash]
        )
        return pyqtgraph.InfiniteLine(level.at, 0 if level.across else 90, pen)

    def _curve(self, curve: Curve) -> Any:
        pen = None
        if curve.line is not None:
            pen = pyqtgraph.mkPen(
                self._shade(curve.line), width=max(curve.width, 1.0), style=_DASHES[curve.dash]
            )
        if not curve.marker:
            return pyqtgraph.PlotDataItem(curve.x, curve.y, pen=pen, connect="finite")
        edge = curve.marker_line or curve.marker_fill
        return pyqtgraph.PlotDataItem(
            curve.x,
            curve.y,
            pen=pen,
            connect="finite",
            symbol=_symbol(curve.marker),
            symbolSize=curve.marker_size * 1.6,
            symbolPen=None if edge is None else pyqtgraph.mkPen(self._shade(edge)),
            symbolBrush=None if curve.marker_fill is None else self._shade(curve.marker_fill),
        )

    def _show_legend(self) -> None:
        self._legend.clear()
        parts = []
        for text, colour in self.drawing.legend:
            square = f'<span style="color:{self._shade(colour).name()}">■</span>'
            parts.append(f"{square} {no_markup(text)}")
        self._legend.setText("&nbsp;&nbsp; ".join(parts))

    def _moved(self, at: QPointF) -> None:
        for panel, plot in zip(self.drawing.panels, self._plots, strict=True):
            if plot.sceneBoundingRect().contains(at):
                place = plot.getViewBox().mapSceneToView(at)
                self._under_mouse.setText(told(panel, place.x(), place.y()))


def told(panel: Panel, x: float, y: float) -> str:
    """Return the point that is next to a place, in the words of the axes."""
    point = nearest(panel, x, y)
    at = (x, y) if point is None else point
    names = [
        (panel.x.label or "x", panel.x.told(at[0])),
        (panel.y.label or "y", panel.y.told(at[1])),
    ]
    what = "Here" if point is None else "Nearest point"
    return f"{what}: " + ", ".join(f"{name} {value}" for name, value in names)


def _reach(axis: DrawnAxis) -> tuple[float, float]:
    """Return how far an axis can be moved."""
    room = _ROOM * (axis.high - axis.low)
    return axis.low - room, axis.high + room


def _axis(axis: DrawnAxis, side: str, theme: Theme) -> Any:
    item = _Ticks(side)
    item.drawn = axis
    item.setPen(theme.muted)
    item.setTextPen(theme.text)
    item.enableAutoSIPrefix(False)
    item.setStyle(showValues=axis.numbered, hideOverlappingLabels=False)
    if axis.label:
        item.setLabel(no_markup(axis.label))
    return item


class _Hatched(QGraphicsPolygonItem):
    """A shape with stripes over its fill, of one width at every zoom."""

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionGraphicsItem,
        widget: QWidget | None = None,
    ) -> None:
        """Paint the shape, then the stripes."""
        super().paint(painter, option, widget)
        stripes = QBrush(self.pen().color(), Qt.BrushStyle.BDiagPattern)
        back, invertible = painter.worldTransform().inverted()
        if invertible:
            stripes.setTransform(back)
            painter.setBrush(stripes)
            painter.drawPolygon(self.polygon())


class _Ticks(pyqtgraph.AxisItem):  # type: ignore[misc]
    """An axis with the ticks of the picture, at every zoom."""

    drawn: DrawnAxis

    def tickValues(self, low: float, high: float, size: float) -> list[Any]:  # noqa: N802
        """Return the places of the ticks: of one kind, as they come."""
        del size
        self._found = dict(self.drawn.ticks(low, high))
        return [(None, list(self._found))]

    def tickStrings(self, values: Any, scale: float, spacing: float) -> list[str]:  # noqa: N802
        """Return the texts of ticks."""
        del scale, spacing
        return [self._found.get(value, "") for value in values]


def _symbol(marker: str) -> Any:
    """Return a marker as pyqtgraph names it; a dash is a path, as it has none."""
    if marker not in ("|", "_"):
        return _SYMBOLS.get(marker, "o")
    upright = marker == "|"
    path = QPainterPath(QPointF(0.0, -0.5) if upright else QPointF(-0.5, 0.0))
    path.lineTo(QPointF(0.0, 0.5) if upright else QPointF(0.5, 0.0))
    return path


def _image(cells: Cells) -> Any:
    # On white in every theme, as the words on it are dark.
    opacity = cells.rgba[..., 3:].astype(np.float64) / 255
    opaque = cells.rgba.copy()
    opaque[..., :3] = np.rint(cells.rgba[..., :3] * opacity + 255 * (1 - opacity))
    opaque[..., 3] = 255
    item = pyqtgraph.ImageItem(opaque)
    item.setRect(QRectF(cells.left, cells.low, cells.right - cells.left, cells.high - cells.low))
    item.setZValue(-5)
    return item


def _text() -> QLabel:
    label = PlainLabel()
    label.setWordWrap(True)
    return label
