# SPDX-License-Identifier: Apache-2.0
"""Where the boxes, pins and wires of a wiring diagram stand, in pixels; no Qt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from rig.bench.diagram import Diagram, DiagramBox, Wire

_COLUMNS = {"host": 0, "dut": 1, "monitor": 2, "io manager": 2, "feed": 3}
_PAD = 14.0
_HEAD = 46.0
_PIN = 26.0
_GAP = 26.0
_LEAST_LANE = 16.0
_MARGIN = 12.0
_WIDEST_GAP = 260.0

#: The corners of a wire: its start, two in its lane, its end.
Corners: TypeAlias = tuple[tuple[float, float], ...]


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


#: A wire with its left and its right end.
WireEnds: TypeAlias = tuple[Wire, PinSpot, PinSpot]


@dataclass(frozen=True, slots=True)
class Route:
    """A wire: the corners of its line, from left to right."""

    wire: Wire
    points: Corners


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
    sides: dict[str, tuple[list[str], list[str]]] = {}
    for part in drawn.parts:
        sides[part.key] = ([], [])
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
    routes = []
    for left_x in dict.fromkeys(start.x for _, start, _ in ends):
        between = [each for each in ends if each[1].x == left_x]
        for number, (wire, start, end) in enumerate(_in_lanes(between), start=1):
            lane = left_x + (end.x - left_x) * number / (len(between) + 1)
            corners = (
                (left_x, start.y),
                (lane, start.y),
                (lane, end.y),
                (end.x, end.y),
            )
            routes.append(Route(wire, corners))
    return routes


def _in_lanes(ends: list[WireEnds]) -> list[WireEnds]:
    """Return wires between two columns by their lanes, from the left to the right.

    As they go up, so that few of them cross; but one that leaves a pin at some height
    turns before another one comes in at it, or both would lie on one line.
    """
    waiting = sorted(ends, key=lambda each: each[2].y - each[1].y)
    placed = []
    while waiting:
        free = (each for each in waiting if _is_free(each, waiting))
        # Wires in a ring of such conditions cannot all meet them.
        first = next(free, waiting[0])
        waiting.remove(first)
        placed.append(first)
    return placed


def _is_free(one: WireEnds, waiting: list[WireEnds]) -> bool:
    return not any(_turns_before(other, one) for other in waiting)


def _turns_before(one: WireEnds, other: WireEnds) -> bool:
    """Check whether a wire must turn before another one that comes in at its height."""
    _, start, end = one
    _, other_start, other_end = other
    return start != other_start and end != other_end and start.y == other_end.y
