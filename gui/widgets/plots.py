# SPDX-License-Identifier: Apache-2.0
"""Plots of pyqtgraph in the colours of a theme. The library takes 0.3 s to load: only
screens with plots import this.
"""

from __future__ import annotations

from typing import Any

import pyqtgraph

from gui.theme import Theme

#: Margins of a plot: the numbers at the ends of its axes reach so far beyond them.
_LEFT_PX, _TOP_PX, _RIGHT_PX, _BOTTOM_PX = 1, 9, 20, 1


def new_plot(theme: Theme) -> Any:
    """Return an empty plot in the colours of a theme, without a menu."""
    configure(theme)
    plot = pyqtgraph.PlotWidget(enableMenu=False)
    plot.hideButtons()
    layout = plot.getPlotItem().layout
    layout.setContentsMargins(_LEFT_PX, _TOP_PX, _RIGHT_PX, _BOTTOM_PX)
    return plot


def configure(theme: Theme) -> None:
    """Take the colours of a theme; to be called before a plot is made, or drawn in
    others."""
    pyqtgraph.setConfigOptions(
        antialias=False,
        background=theme.base,
        foreground=theme.text,
        imageAxisOrder="row-major",
    )
