# SPDX-License-Identifier: Apache-2.0
"""Style of the plots: colours that a page in dark mode can change, one style, inline
SVG."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import matplotlib
from markupsafe import Markup
from matplotlib.artist import Artist
from matplotlib.axis import Axis
from matplotlib.backend_bases import RendererBase
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine, LayoutEngine
from matplotlib.text import Text
from numpy import float64
from numpy.typing import NDArray

from rig.files.plain_text import visible
from rig.report import palette
from rig.results import labels
from rig.results.labels import Label

# In the page each is a CSS variable, which dark mode changes.
INK = "#1a1a1b"
FAINT = "#8a8a8b"
BAD = "#d55e01"
GOOD = "#009e74"
SERIES = palette.LIGHT
_VARIABLES = {INK: "ink", FAINT: "faint", BAD: "bad", GOOD: "good"}
_VARIABLES |= {colour: f"c{i}" for i, colour in enumerate(SERIES)}
STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.family": ["DejaVu Sans"],
    "font.size": 8.5,
    "hatch.color": BAD,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "hatch.linewidth": 0.5,
    # a stranger reads 0.002 where 0.002 and, at the edge, +79.99 stands
    "axes.formatter.useoffset": False,
    # files: vectors by default, twice the pixels of a screen where pixels are asked for
    "savefig.format": "svg",
    "savefig.dpi": 200,
}

Array = NDArray[float64]
#: A drawing, which may be empty, and a sentence about it.
Plot = tuple[Markup, str]


class Margins(LayoutEngine):
    """Room of a fixed size around the axes of a figure and between them, in inches:
    constrained layout measures every text four times, which takes as long as the
    drawing.
    """

    _adjust_compatible = True
    _colorbar_gridspec = True

    def __init__(
        self,
        left: float,
        right: float,
        bottom: float,
        top: float,
        between: tuple[float, float],
    ) -> None:
        super().__init__()
        self._around = (left, right, bottom, top)
        self._between = between

    def execute(self, figure: Figure) -> None:
        """Place the axes of a figure that has them in one grid."""
        width, height = figure.get_size_inches()
        left, right, bottom, top = self._around
        grid = figure.axes[0].get_gridspec()
        assert grid is not None
        inner = (
            (width - left - right, grid.ncols),
            (height - bottom - top, grid.nrows),
        )
        # Gaps are stated in shares of the mean axes.
        pairs = zip(self._between, inner, strict=True)
        gaps = [
            gap * count / (room - gap * (count - 1)) for gap, (room, count) in pairs
        ]
        figure.subplots_adjust(
            left / width, bottom / height, 1 - right / width, 1 - top / height, *gaps
        )


def svg(figure: Figure, name: str, beside: Sequence[Label]) -> Markup:
    """Return a figure as inline SVG in the page's colours and font, with what must
    stand beside its numbers.
    """
    label(figure, labels.texts(beside))
    text = io.StringIO()
    figure.draw = partial(_lay_out_or_draw, figure)  # type: ignore[method-assign]
    with matplotlib.rc_context({"svg.hashsalt": f"neurorig-{name}"}):
        metadata = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(
            text,
            format="svg",
            transparent=True,
            dpi=200,
            metadata=metadata,
        )
    svg = text.getvalue()
    # Numbered ids are the same in every figure, and have no reference.
    svg = re.sub(r' id="[A-Za-z][A-Za-z0-9.]*_\d+"', "", svg[svg.index("<svg") :])
    svg = re.sub(
        r'^<svg[^>]*?(viewBox="[^"]*")[^>]*>',
        rf'<svg xmlns="http://www.w3.org/2000/svg" \1 class="{name}">',
        svg,
    )
    svg = svg.replace("xlink:href", "href").replace(
        "'DejaVu Sans'", "var(--font, sans-serif)"
    )
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, f"var(--{variable}, {colour})")
    return Markup(visible(svg))


def label(figure: Figure, marked: str, session: str = "") -> None:
    """Put the labels above a figure, and the session where it is named; show invisible
    characters in its texts as signs.
    """
    above = "   ".join(filter(None, (session, marked)))
    colour, weight = (BAD, "bold") if marked else (FAINT, "normal")
    if above:
        # A legend beside the axes has the first line.
        text = f"\n{above}" if session and figure.legends else above
        figure.suptitle(
            text,
            x=0.997,
            ha="right",
            color=colour,
            weight=weight,
            size=9,
            linespacing=1.5,
        )
    for shown in _texts(figure):
        shown.set_text(visible(shown.get_text()))


def _texts(artist: Artist) -> Iterator[Text]:
    """Yield the texts of a figure; those beside ticks are made when it is drawn."""
    if isinstance(artist, Text):
        yield artist
    for child in [artist.label] if isinstance(artist, Axis) else artist.get_children():
        yield from _texts(child)


def _lay_out_or_draw(figure: Figure, renderer: RendererBase) -> None:
    """Draw a figure, or place its parts as long as none has: matplotlib draws all of it
    for that, and throws the drawing away.
    """
    engine = figure.get_layout_engine()
    if isinstance(engine, ConstrainedLayoutEngine | Margins):
        engine.execute(figure)
    else:
        Figure.draw(figure, renderer)
