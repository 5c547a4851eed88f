# SPDX-License-Identifier: Apache-2.0
"""The workflow diagram of a submission, drawn from the phases that the device marks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_WIDTH = 150
_HEIGHT = 56
_GAP = 30
_MARGIN = 16
_TOP = 44
_STYLE = "font-family:sans-serif;font-size:13px"
_NOTE = "font-family:sans-serif;font-size:11px;fill:#555"
#: The steps around the phases of the device, none of them timed.
_BEFORE = ("data initialisation", "host pre-processing", "loading")
_AFTER = ("host post-processing",)


def drawing(phases: Sequence[str]) -> str:
    """Draw the steps from left to right as SVG; the phases are in the timed window."""
    steps = [*_BEFORE, *phases, *_AFTER]
    first = len(_BEFORE)
    width = 2 * _MARGIN + len(steps) * (_WIDTH + _GAP) - _GAP
    height = _TOP + _HEIGHT + _MARGIN + 24
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
        f' viewBox="0 0 {width} {height}">',
        "<title>Workflow: steps, and the timed phases of the device</title>",
        '<rect width="100%" height="100%" fill="white"/>',
        _window(first, len(phases)),
    ]
    for place, name in enumerate(steps):
        is_timed = first <= place < first + len(phases)
        parts.append(_box(_left(place), name, is_timed))
        if place:
            parts.append(_arrow(_left(place) - _GAP))
    return "\n".join([*parts, "</svg>", ""])


def _left(place: int) -> int:
    return _MARGIN + place * (_WIDTH + _GAP)


def _window(first: int, count: int) -> str:
    left = _left(first) - 8
    width = count * (_WIDTH + _GAP) - _GAP + 16
    return (
        f'<rect x="{left}" y="{_TOP - 8}" width="{width}" height="{_HEIGHT + 16}"'
        ' fill="none" stroke="#888" stroke-dasharray="4 3"/>\n'
        f'<text x="{left}" y="{_TOP - 16}" style="{_NOTE}">measured: time and energy'
        " of each phase</text>"
    )


def _box(left: int, name: str, is_timed: bool) -> str:
    fill = "#dbe9f6" if is_timed else "#f2f2f2"
    middle = left + _WIDTH // 2
    return (
        f'<rect x="{left}" y="{_TOP}" width="{_WIDTH}" height="{_HEIGHT}" rx="6"'
        f' fill="{fill}" stroke="#333"/>\n'
        f'<text x="{middle}" y="{_TOP + _HEIGHT // 2 + 5}" text-anchor="middle"'
        f' style="{_STYLE}">{escape(name)}</text>'
    )


def _arrow(left: int) -> str:
    middle = _TOP + _HEIGHT // 2
    end = left + _GAP
    return (
        f'<path d="M{left} {middle}H{end}M{end - 6} {middle - 4}L{end} {middle}'
        f'L{end - 6} {middle + 4}" fill="none" stroke="#333"/>'
    )
