# SPDX-License-Identifier: Apache-2.0
"""A plain plot of pyqtgraph in the colours of a theme, for views of a part of the
trace."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyqtgraph
from numpy.typing import NDArray
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QShowEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gui.theme import Recoloured, shown
from gui.trace.views.curve_names import CurveName, CurveNames
from gui.widgets import plots
from gui.widgets.controls import named
from gui.widgets.text import no_markup

Array = NDArray[np.float64]

#: Title and numbers of the y axes of plots below each other.
_LEFT_AXIS_PX = 52


class PlainPlot(QWidget, Recoloured):
    """A plot with curves, bands and lines that can be moved and zoomed with the mouse.
    The widget of pyqtgraph is made when the plot is first shown or drawn on: most plots
    are on tabs that stay closed.
    """

    def __init__(self, name: str, accessible: str) -> None:
        super().__init__()
        named(self, name, accessible)
        self._made: Any = None
        self.names = CurveNames()
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(2)
        self._layout.addWidget(self.names)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        """Show the axes, also of an empty plot."""
        super().showEvent(event)
        self._plot.show()

    def recolour(self) -> None:
        """Take the colours of the theme that is shown."""
        if self._made is not None:
            self._colour(self._made)

    def label(self, x: str, x_unit: str, y: str, y_unit: str) -> None:
        """Name the axes; SI prefixes come by themselves. Without a name, an x axis has
        no numbers either: those of another plot are below.
        """
        self._plot.setLabel("left", no_markup(y), units=y_unit or None)
        self._plot.setLabel("bottom", no_markup(x), units=x_unit or None)
        bottom = self._plot.getAxis("bottom")
        bottom.showLabel(bool(x))
        bottom.setStyle(showValues=bool(x))

    def logarithmic(self, x: bool, y: bool) -> None:
        """Make axes logarithmic, or not."""
        self._plot.setLogMode(x=x, y=y)

    def link_x(self, other: PlainPlot) -> None:
        """Show the same x range as another plot, in the same place."""
        self._plot.setXLink(other._plot)
        for plot in (self._plot, other._plot):
            plot.getAxis("left").setWidth(_LEFT_AXIS_PX)

    def clear(self) -> None:
        """Remove all curves, bands and lines."""
        if self._made is not None:
            self._made.clear()
        self.names.clear()

    def curve(
        self,
        x: Array,
        y: Array,
        colour: str,
        name: str = "",
        width: float = 1.0,
    ) -> None:
        """Draw a curve; its name stands above the plot."""
        pen = pyqtgraph.mkPen(colour, width=width)
        self._plot.plot(x, y, pen=pen, connect="finite")
        if name:
            self.names.add(CurveName(name, colour, width))

    def steps(
        self, borders: Array, y: Array, colour: str, fill: float | None = None
    ) -> None:
        """Draw a staircase: a value between each two borders."""
        more: dict[str, Any] = {}
        if fill is not None:
            shade = QColor(colour)
            shade.setAlphaF(0.35)
            more = {"fillLevel": fill, "fillBrush": shade}
        self._plot.plot(
            borders, y, stepMode="center", pen=pyqtgraph.mkPen(colour), **more
        )

    def band(self, low: float, high: float, colour: str, share: float = 0.25) -> None:
        """Shade a stretch of the x axis."""
        shade = QColor(colour)
        shade.setAlphaF(share)
        region = pyqtgraph.LinearRegionItem(
            (low, high), movable=False, brush=shade, pen=pyqtgraph.mkPen(None)
        )
        region.setZValue(-10)
        self._plot.addItem(region)

    def line(self, x: float, colour: str, name: str = "", dashed: bool = False) -> None:
        """Draw a vertical line; its name stands above the plot."""
        style = Qt.PenStyle.DashLine if dashed else Qt.PenStyle.SolidLine
        pen = pyqtgraph.mkPen(colour, style=style)
        self._plot.addItem(pyqtgraph.InfiniteLine(x, pen=pen))
        if name:
            self.names.add(CurveName(name, colour, is_dashed=dashed))

    def fit(self) -> None:
        """Show all that is drawn."""
        self._plot.autoRange()
        self._plot.enableAutoRange()

    @property
    def _plot(self) -> Any:
        if self._made is None:
            self._made = named(
                plots.new_plot(), f"{self.objectName()}-plot", self.accessibleName()
            )
            self._made.showGrid(x=True, y=True, alpha=0.15)
            self._layout.addWidget(self._made, 1)
            self._colour(self._made)
        return self._made

    def _colour(self, plot: Any) -> None:
        theme = shown()
        plots.configure()
        plot.setBackground(theme.base)
        for side in ("left", "bottom"):
            axis = plot.getAxis(side)
            axis.setPen(theme.border)
            axis.setTextPen(theme.muted)
