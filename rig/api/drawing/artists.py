# SPDX-License-Identifier: Apache-2.0
"""The artists of a matplotlib figure as plain data: the way of one picture into a window."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import Collection, LineCollection, PathCollection, PolyCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text
from matplotlib.transforms import Transform

from rig.api.drawing.drawn import (
    Area,
    Array,
    Cells,
    Colour,
    Curve,
    DrawnAxis,
    Level,
    Panel,
    Words,
)
from rig.report.style import BAD, FAINT, GOOD, INK, SERIES

_ROLES = {INK: "ink", FAINT: "faint", BAD: "bad", GOOD: "good"} | {
    colour: f"c{place}" for place, colour in enumerate(SERIES)
}
_DASHES = {"-": "solid", "--": "dash", "-.": "dash", ":": "dot"}
_SIDES = {"left": 0.0, "center": 0.5, "right": 1.0}
_LEVELS = {"top": 1.0, "center": 0.5, "bottom": 0.0, "baseline": 0.0, "center_baseline": 0.5}


class Unknown(Exception):
    """An artist that has no plain form."""


def panels(figure: Figure) -> tuple[Panel, ...]:
    """Return the axes of a figure that are visible; raises Unknown."""
    return tuple(_panel(figure, axes) for axes in figure.axes if axes.get_visible())


def legend(figure: Figure) -> tuple[tuple[str, Colour], ...]:
    """Return the entries of all legends, each text once."""
    every = [*figure.legends, *(axes.get_legend() for axes in figure.axes)]
    entries: dict[str, Colour] = {}
    for one in every:
        if isinstance(one, Legend):
            for handle, text in zip(one.legend_handles, one.get_texts(), strict=True):
                entries.setdefault(text.get_text(), _handle_colour(handle))
    return tuple(entries.items())


def _panel(figure: Figure, axes: Axes) -> Panel:
    spec = axes.get_subplotspec()
    if spec is None:
        raise Unknown("axes outside of a grid")
    grid = spec.get_gridspec()
    ratios = np.asarray(grid.get_height_ratios(), dtype=np.float64)
    last_row, first_column = spec.is_last_row(), spec.is_first_col()
    shares_x = len(axes.get_shared_x_axes().get_siblings(axes)) > 1
    shares_y = len(axes.get_shared_y_axes().get_siblings(axes)) > 1
    curves: list[Curve] = []
    levels: list[Level] = []
    areas: list[Area] = []
    cells: list[Cells] = []
    words: list[Words] = []
    for artist in axes.get_children():
        if not artist.get_visible() or _frame(artist, axes):
            continue
        if isinstance(artist, Collection):
            _refuse_shares(artist, axes)
        match artist:
            case Line2D():
                if all(_in_data(artist, axes)):
                    curves.append(_curve(artist, axes))
                else:
                    levels.append(_level(artist, axes))
            case Patch():
                areas.append(_area(artist, axes))
            case LineCollection():
                curves += _segments(artist, axes)
            case PathCollection():
                curves.append(_points(artist, axes))
            case PolyCollection():
                areas += _polygons(artist, axes)
            case AxesImage():
                cells.append(_cells(artist))
            case Text():
                if artist.get_text():
                    words.append(_words(artist, axes))
            case Legend():
                pass
            case _:
                raise Unknown(type(artist).__name__)
    below = axes.get_xlabel() or (figure.get_supxlabel() if last_row else "")
    beside = axes.get_ylabel() or (figure.get_supylabel() if first_column else "")
    return Panel(
        axes.get_title(),
        spec.rowspan.start,
        spec.colspan.start,
        float(ratios[spec.rowspan.start]),
        _axis(axes, axes.xaxis, below, axes.get_xlim(), last_row or not shares_x),
        _axis(axes, axes.yaxis, beside, axes.get_ylim(), first_column or not shares_y),
        shares_x,
        shares_y,
        tuple(curves),
        tuple(levels),
        tuple(areas),
        tuple(cells),
        tuple(words),
    )


def _frame(artist: Artist, axes: Axes) -> bool:
    """Return whether an artist is the frame of the axes, and not content."""
    titles = [axes.title, axes._left_title, axes._right_title]  # type: ignore[attr-defined]
    frame = [axes.patch, axes.xaxis, axes.yaxis, *axes.spines.values(), *titles]
    return any(artist is one for one in frame)


def _axis(
    axes: Axes, axis: Axis, label: str, ends: tuple[float, float], numbered: bool
) -> DrawnAxis:
    forth = axis.get_transform()
    back = forth.inverted()
    low, high = (float(end) for end in forth.transform(np.asarray(ends, dtype=np.float64)))
    decreasing = low > high

    def ticks(start: float, stop: float) -> list[tuple[float, str]]:
        values = back.transform(np.asarray([start, stop], dtype=np.float64))
        first, last = sorted(float(value) for value in values)
        if not (math.isfinite(first) and math.isfinite(last)) or first == last:
            return []
        # Formatters look at the axis to know how many digits they need.
        axis.set_view_interval(first, last, ignore=True)
        found = [
            float(value)
            for value in axis.get_major_locator().tick_values(first, last)
            if first <= value <= last
        ]
        texts = axis.get_major_formatter().format_ticks(found)
        places = forth.transform(np.asarray(found, dtype=np.float64))
        return [(float(place), text) for place, text in zip(places, texts, strict=True)]

    def told(place: float) -> str:
        value = float(back.transform(np.asarray([place], dtype=np.float64))[0])
        return str(axis.get_major_formatter().format_data_short(value)).strip()

    if decreasing:
        low, high = high, low
    return DrawnAxis(label, low, high, ticks, told, numbered, decreasing)


def _in_data(artist: Artist, axes: Axes) -> tuple[bool, bool]:
    """Return whether an artist's x, and its y, are data, and not shares of the axes."""
    transform: Transform = (
        artist.get_data_transform() if isinstance(artist, Patch) else artist.get_transform()
    )
    x, y = transform.contains_branch_seperately(axes.transData)
    return bool(x), bool(y)


def _refuse_shares(collection: Collection, axes: Axes) -> None:
    """Raise Unknown for a collection whose places are no data, such as arrows of pixels."""
    places = (
        collection.get_offset_transform()
        if isinstance(collection, PathCollection)
        else collection.get_transform()
    )
    if not places.contains_branch(axes.transData):
        raise Unknown(type(collection).__name__)


def _placed(axes: Axes, points: Any) -> tuple[Array, Array]:
    """Return points in coordinates in which both scales are linear."""
    table = np.asarray(points, dtype=np.float64).reshape(-1, 2)
    x = axes.xaxis.get_transform().transform(table[:, 0])
    y = axes.yaxis.get_transform().transform(table[:, 1])
    return np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)


def _curve(line: Line2D, axes: Axes) -> Curve:
    x, y = _placed(axes, np.column_stack([line.get_xdata(orig=False), line.get_ydata(orig=False)]))
    if line.get_drawstyle() == "steps-post" and len(x) > 1:
        x, y = np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]
    opacity = line.get_alpha()
    style = line.get_linestyle()
    joined = style in _DASHES and line.get_linewidth() > 0 and len(x) > 1
    marker = str(line.get_marker())
    marked = marker not in ("None", "none", "", " ")
    return Curve(
        x,
        y,
        _colour(line.get_color(), opacity) if joined else None,
        float(line.get_linewidth()),
        _DASHES.get(str(style), "solid"),
        marker if marked else "",
        float(line.get_markersize()),
        _colour(line.get_markeredgecolor(), opacity) if marked else None,
        _colour(line.get_markerfacecolor(), opacity) if marked else None,
    )


def _level(line: Line2D, axes: Axes) -> Level:
    x_is_data, y_is_data = _in_data(line, axes)
    if x_is_data == y_is_data:
        raise Unknown("a line in shares of the axes")
    data = line.get_ydata(orig=False) if y_is_data else line.get_xdata(orig=False)
    axis = axes.yaxis if y_is_data else axes.xaxis
    placed = np.asarray(axis.get_transform().transform(np.asarray(data, dtype=np.float64)))
    at = float(placed.flat[0])
    colour = _colour(line.get_color(), line.get_alpha())
    if colour is None:
        raise Unknown("a line without a colour")
    dash = _DASHES.get(str(line.get_linestyle()), "solid")
    return Level(at, y_is_data, colour, float(line.get_linewidth()), dash)


def _area(patch: Patch, axes: Axes) -> Area:
    x_is_data, y_is_data = _in_data(patch, axes)
    path = patch.get_path().transformed(patch.get_patch_transform())
    corners = np.concatenate([np.zeros((0, 2)), *path.to_polygons(closed_only=False)])
    if not x_is_data:
        corners[:, 0] = np.where(corners[:, 0] > 0.5, np.inf, -np.inf)
    if not y_is_data:
        corners[:, 1] = np.where(corners[:, 1] > 0.5, np.inf, -np.inf)
    x = corners[:, 0] if not x_is_data else _placed(axes, corners)[0]
    y = corners[:, 1] if not y_is_data else _placed(axes, corners)[1]
    hatched = bool(patch.get_hatch())
    edged = hatched or patch.get_linewidth() > 0
    return Area(
        x,
        y,
        _colour(patch.get_facecolor(), None) if patch.get_fill() else None,
        _colour(patch.get_edgecolor(), None) if edged else None,
        hatched,
    )


def _segments(lines: LineCollection, axes: Axes) -> list[Curve]:
    """Return the segments of a collection as one curve, with gaps between."""
    parts = lines.get_segments()
    if not parts:
        return []
    gap = np.full((1, 2), np.nan)
    points = np.concatenate([piece for part in parts for piece in (np.asarray(part), gap)])
    x, y = _placed(axes, points)
    colours = lines.get_color()
    widths = np.atleast_1d(np.asarray(lines.get_linewidth(), dtype=np.float64))
    line = _colour(colours[0], None) if len(colours) else None
    return [Curve(x, y, line, float(widths[0]), "solid", "", 0.0, None, None)]


def _points(points: PathCollection, axes: Axes) -> Curve:
    x, y = _placed(axes, points.get_offsets())
    sizes = points.get_sizes()
    fills, edges = points.get_facecolor(), points.get_edgecolor()
    return Curve(
        x,
        y,
        None,
        0.0,
        "solid",
        "o",
        math.sqrt(float(sizes[0])) if len(sizes) else 4.0,
        _colour(edges[0], None) if len(edges) else None,
        _colour(fills[0], None) if len(fills) else None,
    )


def _polygons(polygons: PolyCollection, axes: Axes) -> list[Area]:
    fills = polygons.get_facecolor()
    fill = _colour(fills[0], None) if len(fills) else None
    return [Area(*_placed(axes, path.vertices), fill, None, False) for path in polygons.get_paths()]


def _cells(image: AxesImage) -> Cells:
    array = image.get_array()
    if array is None:
        raise Unknown("an image without content")
    rgba = np.array(image.to_rgba(array, alpha=image.get_alpha(), bytes=True), dtype=np.uint8)
    values = np.ma.filled(np.ma.asarray(array, dtype=np.float64), np.nan)
    if values.ndim == 2:
        rgba[~np.isfinite(values), 3] = 0
    left, right, bottom, top = (float(end) for end in image.get_extent())
    first = top if image.origin == "upper" else bottom
    if first == max(bottom, top):
        rgba = rgba[::-1]
    return Cells(rgba, left, right, min(bottom, top), max(bottom, top))


def _words(text: Text, axes: Axes) -> Words:
    x_is_data, y_is_data = _in_data(text, axes)
    place_x, place_y = (float(place) for place in text.get_position())
    x, y = (float(place[0]) for place in _placed(axes, [[place_x, place_y]]))
    colour = _colour(text.get_color(), text.get_alpha())
    return Words(
        text.get_text(),
        x if x_is_data else _share(axes.get_xlim(), axes.xaxis, place_x),
        y if y_is_data else _share(axes.get_ylim(), axes.yaxis, place_y),
        _SIDES.get(text.get_horizontalalignment(), 0.0),
        _LEVELS.get(text.get_verticalalignment(), 0.5),
        colour if colour is not None else Colour(INK, 1.0, "ink"),
    )


def _share(ends: tuple[float, float], axis: Axis, share: float) -> float:
    """Return the place at a share of an axis."""
    low, high = axis.get_transform().transform(np.asarray(ends, dtype=np.float64))
    return float(low + share * (high - low))


def _handle_colour(handle: Any) -> Colour:
    value = handle.get_facecolor() if isinstance(handle, Patch) else handle.get_color()
    return _colour(value, None) or Colour(INK, 1.0, "ink")


def _colour(value: Any, opacity: float | None) -> Colour | None:
    """Return a colour; None for "none"."""
    red, green, blue, own = to_rgba(value)
    if not own:
        return None
    rgb = "#" + "".join(f"{round(part * 255):02x}" for part in (red, green, blue))
    return Colour(rgb, float(own if opacity is None else opacity), _ROLES.get(rgb, ""))
