# SPDX-License-Identifier: Apache-2.0
"""A picture as plain data: curves, areas, images and words in coordinates in which scales are
linear.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Colour:
    """A colour as #rrggbb with its opacity; `role` names it where it follows the page: ink, faint,
    good, bad, c0 to c5.
    """

    rgb: str
    opacity: float = 1.0
    role: str = ""


@dataclass(frozen=True, slots=True)
class Curve:
    """Points, joined where there is a `line` colour and marked where there is a `marker`; `dash` is
    solid, dash or dot.
    """

    x: Array
    y: Array
    line: Colour | None
    width: float
    dash: str
    marker: str
    marker_size: float
    marker_line: Colour | None
    marker_fill: Colour | None


@dataclass(frozen=True, slots=True)
class Level:
    """A straight line through the whole panel, at a value of x or of y (`across`)."""

    at: float
    across: bool
    colour: Colour
    width: float
    dash: str


@dataclass(frozen=True, slots=True)
class Area:
    """A filled shape; a corner that is infinite lies at the edge of the panel."""

    x: Array
    y: Array
    fill: Colour | None
    edge: Colour | None
    hatched: bool


@dataclass(frozen=True, slots=True)
class Cells:
    """An image of colours, its rows from the least y on, and the box that it fills."""

    rgba: NDArray[np.uint8]
    left: float
    right: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Words:
    """A text at a place; `across` and `up` say which part of it lies there, 0 to 1."""

    text: str
    x: float
    y: float
    across: float
    up: float
    colour: Colour


@dataclass(frozen=True, slots=True)
class DrawnAxis:
    """An axis, from low to high in coordinates in which its scale is linear; `ticks` returns places
    and texts for any part of it, `told` the value at a place. It may run the other way round.
    """

    label: str
    low: float
    high: float
    ticks: Callable[[float, float], list[tuple[float, str]]]
    told: Callable[[float], str]
    numbered: bool
    inverted: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes with what is drawn in it, at its place in the grid; `shares_x` and
    `shares_y` say whether its axes move with those of the others.
    """

    title: str
    row: int
    column: int
    height: float
    x: DrawnAxis
    y: DrawnAxis
    shares_x: bool
    shares_y: bool
    curves: tuple[Curve, ...]
    levels: tuple[Level, ...]
    areas: tuple[Area, ...]
    cells: tuple[Cells, ...]
    words: tuple[Words, ...]


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture: panels in a grid, a legend, and a sentence; or a PNG `image` where some of its
    artists are not known; or neither, and the sentence says why.
    """

    name: str
    title: str
    caption: str
    panels: tuple[Panel, ...] = ()
    legend: tuple[tuple[str, Colour], ...] = ()
    image: bytes = b""
