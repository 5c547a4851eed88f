# SPDX-License-Identifier: Apache-2.0
"""A wiring diagram as SVG: for a page, a file, and the window."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from rig.bench.diagram import Diagram, Wire
from rig.bench.diagrams.layout import (
    Box,
    Corners,
    DiagramLayout,
    PinSpot,
    Route,
    lay_out,
)
from rig.model.wiring import WireName

_FAMILY = "DejaVu Sans, Verdana, Arial, sans-serif"
_TEXT_PX = 12.0
#: Widths of DejaVu Sans, a wide font, in shares of its size, rounded up.
_NARROW, _NARROW_SHARE = frozenset("ijl.,:;'|!()[]/ ftrI-"), 0.44
_WIDE, _WIDE_SHARE = frozenset("mwMW@%+"), 1.0
_CAPITAL_SHARE, _OTHER_SHARE = 0.8, 0.65
_WIRE_PX, _FOUND_PX = 2.0, 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagramStyle:
    """Colours as #rrggbb, and the font; the defaults are those of a page. `ground` is
    "none" where the picture is painted on a ground of its own.
    """

    ground: str = "#ffffff"
    base: str = "#ffffff"
    raised: str = "#e9ebef"
    border: str = "#8a929e"
    text: str = "#1c2129"
    muted: str = "#5c6672"
    warn: str = "#935f00"
    bad: str = "#c0262d"
    family: str = _FAMILY
    text_px: float = _TEXT_PX


_COLOURS = {
    WireName.SUPPLY: "#c0262d",
    WireName.GROUND: "#1c2129",
    WireName.SYNC: "#18794e",
    WireName.LEVEL: "#c2660a",
    WireName.TX: "#1a66dd",
    WireName.RX: "#8a6d00",
}


def picture(drawn: Diagram, width: float = 0.0) -> str:
    """Return the picture of a diagram for a page; it is as narrow as it can be unless
    `width` is more.
    """
    layout = lay_out(drawn, text_width, width)
    return svg(layout, DiagramStyle(), lambda wire: _COLOURS[wire.connection.name])


def text_width(text: str) -> float:
    """Return a width that a text of a page does not exceed, in pixels."""
    return _TEXT_PX * sum(map(_share, text))


def svg(
    layout: DiagramLayout,
    style: DiagramStyle,
    colour_of: Callable[[Wire], str],
    state_of: Callable[[Wire], bool | None] = lambda wire: None,
) -> str:
    """Return the picture of a layout; a wire whose state is known is thick, a faulty
    one dashed and crossed out.
    """
    width, height = f"{layout.width:g}", f"{layout.height:g}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
        f' viewBox="0 0 {width} {height}" font-family="{escape(style.family)}"'
        f' font-size="{style.text_px:g}">',
        # Else black text stands on a dark page.
        f'<rect width="{width}" height="{height}" fill="{style.ground}"/>',
    ]
    # A straight wire is not hidden by the first part of one that turns off from it.
    for route in sorted(layout.routes, key=_is_straight):
        parts += _wire(route, style, colour_of(route.wire), state_of(route.wire))
    for route in layout.routes:
        parts += _joints(route, layout.routes, colour_of(route.wire))
    for box in layout.boxes:
        parts += _box(box, style)
    for pin in layout.pins:
        parts += _pin(pin, style)
    return "\n".join([*parts, "</svg>\n"])


def _wire(
    route: Route, style: DiagramStyle, colour: str, state: bool | None
) -> Iterator[str]:
    corners = " ".join(f"{x:g},{y:g}" for x, y in route.points)
    wide = _WIRE_PX if state is None else _FOUND_PX
    dashed = ' stroke-dasharray="9 6"' if state is False else ""
    yield (
        f'<polyline points="{corners}" fill="none" stroke="{colour}"'
        f' stroke-width="{wide:g}" stroke-linejoin="round"{dashed}/>'
    )
    if state is False:
        (x0, y0), (x1, y1) = route.points[1:3]
        x, y = (x0 + x1) / 2, (y0 + y1) / 2
        pen = f'stroke="{style.bad}" stroke-width="2.5"'
        yield f'<circle cx="{x:g}" cy="{y:g}" r="8" fill="{style.base}" {pen}/>'
        cross = f"M{x - 3.5:g} {y - 3.5:g}l7 7m-7 0l7 -7"
        yield f'<path d="{cross}" {pen}/>'


def _joints(route: Route, routes: Sequence[Route], colour: str) -> Iterator[str]:
    """Yield a dot at each corner from where another wire of the same pin goes on, as
    wires without a dot only cross.
    """
    start, first, second, end = route.points
    if _is_straight(route):
        return
    others = [other.points for other in routes if other is not route]
    if any(other[0] == start and _reach(other) > first[0] for other in others):
        yield _dot(first, colour)
    if any(other[3] == end and _reach_back(other) < first[0] for other in others):
        yield _dot(second, colour)


def _is_straight(route: Route) -> bool:
    return route.points[0][1] == route.points[3][1]


def _reach(points: Corners) -> float:
    """Return how far a wire goes on at the height of its start."""
    if points[0][1] == points[3][1]:
        return points[3][0]
    return points[1][0]


def _reach_back(points: Corners) -> float:
    """Return how far before its end a wire comes to its height."""
    if points[0][1] == points[3][1]:
        return points[0][0]
    return points[1][0]


def _dot(at: tuple[float, float], colour: str) -> str:
    return f'<circle cx="{at[0]:g}" cy="{at[1]:g}" r="3.5" fill="{colour}"/>'


def _box(box: Box, style: DiagramStyle) -> Iterator[str]:
    yield (
        f'<rect x="{box.x:g}" y="{box.y:g}" width="{box.width:g}"'
        f' height="{box.height:g}" rx="7" fill="{style.base}"'
        f' stroke="{style.border}" stroke-width="1.2"/>'
    )
    middle = f'x="{box.x + box.width / 2:g}" text-anchor="middle"'
    title = escape(box.part.title)
    yield (
        f'<text {middle} y="{box.y + 19:g}" font-weight="bold"'
        f' fill="{style.text}">{title}</text>'
    )
    subtitle, colour = box.part.subtitle, style.muted
    if box.part.simulated:
        subtitle, colour = f"{subtitle} (simulated)", style.warn
    yield f'<text {middle} y="{box.y + 36:g}" fill="{colour}">{escape(subtitle)}</text>'


def _pin(pin: PinSpot, style: DiagramStyle) -> Iterator[str]:
    yield (
        f'<circle cx="{pin.x:g}" cy="{pin.y:g}" r="4" fill="{style.raised}"'
        f' stroke="{style.text}" stroke-width="1.2"/>'
    )
    x, anchor = (pin.x - 10, "end") if pin.right else (pin.x + 10, "start")
    y = pin.y + style.text_px * 0.36
    yield (
        f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"'
        f' fill="{style.text}">{escape(pin.name)}</text>'
    )


def _share(letter: str) -> float:
    if letter in _NARROW:
        return _NARROW_SHARE
    if letter in _WIDE:
        return _WIDE_SHARE
    return _CAPITAL_SHARE if letter.isupper() else _OTHER_SHARE
