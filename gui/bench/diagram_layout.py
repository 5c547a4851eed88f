# SPDX-License-Identifier: Apache-2.0
"""Where the boxes, pins and wires of a wiring diagram stand, in pixels; no Qt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from rig.bench.diagram import Diagram, DiagramBox, Wire

_COLUMNS = {"host": 0, "dut": 1, "monitor": 2, "io manager": 2, "feed": 3}
_PAD = 14.0
_HEAD = 46.0
_PIN = 26.0
_GAP = 26.0
_LEAST_LANE = 16.0
_MARGIN = 12.0
_WIDEST_GAP = 260.0


@dataclass(frozen=True, slots=True)
class Box:
    """A part: its place, and its pins as text with the side they are at."""

    part: DiagramBox
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class PinSpot:
    """A pin: the point at the edge of its box; `right` says at which side."""

    name: str
    x: float
    y: float
    right: bool


@dataclass(frozen=True, slots=True)
class Route:
    """A wire: the corners of its line, from left to right."""

    wire: Wire
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class DiagramLayout:
    """The whole picture."""

    boxes: tuple[Box, ...]
    pins: tuple[PinSpot, ...]
    routes: tuple[Route, ...]
    width: float
    height: float


def lay_out(
    drawn: Diagram, text_width: Callable[[str], float], width: float
) -> DiagramLayout:
    """Return the layout of a diagram; it is wider than `width` where that is too
    narrow."""
    column_of = {part.key: _COLUMNS.get(part.role, 2) for part in drawn.parts}
    used = sorted(set(column_of.values()))
    rank = {column: number for number, column in enumerate(used)}
    sides = _sides(drawn, column_of)
    box_widths = {
        part.key: _box_width(part, sides[part.key], text_width) for part in drawn.parts
    }
    widest = dict.fromkeys(used, 0.0)
    for part in drawn.parts:
        column = column_of[part.key]
        widest[column] = max(widest[column], box_widths[part.key])
    widths = list(widest.values())
    lanes = []
    for left, right in pairwise(used):
        between = [_between(wire, column_of, left, right) for wire in drawn.wires]
        lanes.append(sum(between))
    least = [max((count + 2) * _LEAST_LANE, 70.0) for count in lanes]
    spare = max(width - 2 * _MARGIN - sum(widths) - sum(least), 0.0)
    each = min(spare / len(least), _WIDEST_GAP) if least else 0.0
    gaps = [gap + each for gap in least]
    lefts = [_MARGIN]
    for number, gap in enumerate(gaps):
        lefts.append(lefts[-1] + widths[number] + gap)
    boxes: dict[str, Box] = {}
    spots: dict[tuple[str, str, bool], PinSpot] = {}
    heights = dict.fromkeys(used, _MARGIN)
    for part in drawn.parts:
        column = column_of[part.key]
        left_pins, right_pins = sides[part.key]
        height = _HEAD + max(len(left_pins), len(right_pins), 1) * _PIN + _PAD / 2
        x, y, wide = lefts[rank[column]], heights[column], widths[rank[column]]
        boxes[part.key] = Box(part, x, y, wide, height)
        heights[column] = y + height + _GAP
        for right, names in ((False, left_pins), (True, right_pins)):
            for number, name in enumerate(names):
                at = y + _HEAD + (number + 0.5) * _PIN
                spots[part.key, name, right] = PinSpot(
                    name, x + wide if right else x, at, right
                )
    routes = tuple(_routes(drawn, column_of, spots))
    total = lefts[-1] + widths[-1] + _MARGIN
    tallest = max(heights.values()) - _GAP + _MARGIN
    return DiagramLayout(
        tuple(boxes.values()), tuple(spots.values()), routes, total, tallest
    )


def _ends(
    wire: Wire, column_of: dict[str, int]
) -> tuple[tuple[str, str], tuple[str, str]]:
    """Return part and pin of the left and of the right end."""
    start, end = wire.connection.start, wire.connection.end
    if column_of[start.part] > column_of[end.part]:
        start, end = end, start
    return (start.part, start.name), (end.part, end.name)


def _between(wire: Wire, column_of: dict[str, int], left: int, right: int) -> bool:
    (first, _), (second, _) = _ends(wire, column_of)
    return column_of[first] <= left and column_of[second] >= right


def _sides(
    drawn: Diagram, column_of: dict[str, int]
) -> dict[str, tuple[list[str], list[str]]]:
    sides: dict[str, tuple[list[str], list[str]]] = {
        part.key: ([], []) for part in drawn.parts
    }
    for wire in drawn.wires:
        (left, left_pin), (right, right_pin) = _ends(wire, column_of)
        if left_pin not in sides[left][1]:
            sides[left][1].append(left_pin)
        if right_pin not in sides[right][0]:
            sides[right][0].append(right_pin)
    return sides


def _box_width(
    part: DiagramBox,
    pins: tuple[list[str], list[str]],
    text_width: Callable[[str], float],
) -> float:
    left, right = (max(map(text_width, names), default=0.0) for names in pins)
    subtitle = f"{part.subtitle} (simulated)" if part.simulated else part.subtitle
    head = max(text_width(part.title) * 1.15, text_width(subtitle))
    return max(head + 2 * _PAD, left + right + 4 * _PAD, 120.0)


def _routes(
    drawn: Diagram,
    column_of: dict[str, int],
    spots: dict[tuple[str, str, bool], PinSpot],
) -> list[Route]:
    ends = []
    for wire in drawn.wires:
        left, right = _ends(wire, column_of)
        ends.append((wire, spots[*left, True], spots[*right, False]))
    counts: dict[float, int] = {}
    for _, start, _ in ends:
        counts[start.x] = counts.get(start.x, 0) + 1
    taken: dict[float, int] = {}
    routes = []
    # Lanes from the left to the right as the wires go up, so that few of them cross.
    for wire, start, end in sorted(ends, key=lambda each: each[2].y - each[1].y):
        number = taken[start.x] = taken.get(start.x, 0) + 1
        lane = start.x + (end.x - start.x) * number / (counts[start.x] + 1)
        points = ((start.x, start.y), (lane, start.y), (lane, end.y), (end.x, end.y))
        routes.append(Route(wire, points))
    return routes
