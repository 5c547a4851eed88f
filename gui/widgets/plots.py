# SPDX-License-Identifier: Apache-2.0
"""Plots of pyqtgraph in the colours of a theme. The library takes 0.3 s to load: only
screens with plots import this.
"""

from __future__ import annotations

from typing import Any

import pyqtgraph

from gui.theme import shown

#: Margins of a plot: the numbers at the ends of its axes reach so far beyond them.
_LEFT_PX, _TOP_PX, _RIGHT_PX, _BOTTOM_PX = 1, 9, 20, 1


def new_plot() -> Any:
    """Return an empty plot without a menu."""
    configure()
    plot = pyqtgraph.PlotWidget(enableMenu=False)
    plot.hideButtons()
    layout = plot.getPlotItem().layout
    layout.setContentsMargins(_LEFT_PX, _TOP_PX, _RIGHT_PX, _BOTTOM_PX)
    return plot


def configure() -> None:
    """Take the colours of the theme that is shown: before a plot is made, and where
    another one is.
    """
    theme = shown()
    pyqtgraph.setConfigOptions(
        antialias=False,
        background=theme.base,
        foreground=theme.text,
        imageAxisOrder="row-major",
    )
