# SPDX-License-Identifier: Apache-2.0
"""Numbers above each lane: mean, least, most and integral of the selection or of the
view; and the levels on the lane.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QRectF
from PySide6.QtGui import QFontMetricsF

from gui.trace.shown.state import UNITS
from gui.widgets.painter import ThemedPainter
from gui.widgets.text import LEFT
from gui.widgets.values import digits, with_u
from rig.api.traces.statistics import TraceStatistics

#: The height of the strip above a lane.
HEAD_PX = 16.0
_PENDING = "..."


@dataclass(frozen=True, slots=True)
class LaneNumbers:
    """Numbers of the "selection" or of the "view"; None while they are computed."""

    of: str
    now: TraceStatistics | None


#: Who has the exact numbers of the moment.
AskNumbers = Callable[[], LaneNumbers]


def texts(name: str, numbers: LaneNumbers) -> list[str]:
    """Return the numbers of a signal, the most wanted first."""
    statistics = numbers.now
    if statistics is None:
        return [f"{numbers.of}: {_PENDING}"]
    signal = getattr(statistics, name)
    if signal is None:
        return []
    unit = UNITS[name]
    parts = [f"{numbers.of}: mean {mean_text(statistics, name)}"]
    if name == "power" and statistics.energy_j is not None:
        parts.append(
            f"integral {with_u(statistics.energy_j, statistics.energy_u_j, 'J')}"
        )
    if name == "current" and statistics.charge_c is not None:
        parts.append(
            f"integral {with_u(statistics.charge_c, statistics.charge_u_c, 'C')}"
        )
    return [
        *parts,
        f"min {digits(signal.least, unit)}",
        f"max {digits(signal.most, unit)}",
    ]


def mean_text(numbers: TraceStatistics, name: str) -> str:
    """Return the mean of a signal of the trace, with its 95 % interval where that is
    known.
    """
    u = uncertainty_of_mean(numbers, name)
    return with_u(getattr(numbers, name).mean, u, UNITS[name])


def uncertainty_of_mean(numbers: TraceStatistics, name: str) -> float | None:
    """Return the standard uncertainty of a mean, None where it is not known: that of a
    current or a power is its integral's by the span.
    """
    if name == "voltage":
        return numbers.voltage_u_v
    u = numbers.charge_u_c if name == "current" else numbers.energy_u_j
    return None if u is None else u / numbers.span_s


def level_text(name: str, levels: tuple[float, float]) -> str:
    """Return two levels and their difference."""
    unit = UNITS[name]
    low, high = (digits(level, unit, 4) for level in levels)
    return f"levels {low}, {high}: {digits(levels[1] - levels[0], unit, 4)} apart"


def paint_head(painter: ThemedPainter, area: QRectF, parts: list[str]) -> None:
    """Paint texts above a lane, from the left, as many as there is room for; an
    ellipsis marks omitted ones.
    """
    metrics = QFontMetricsF(painter.font())
    x = area.left() + 2
    for number, part in enumerate(parts):
        wide = metrics.horizontalAdvance(part) + 14
        last = number == len(parts) - 1
        more = 0.0 if last else metrics.horizontalAdvance("…") + 4
        if x + wide + more > area.right():
            # A number that is cut could be read as another one.
            part = "…"
            last = True
            wide = area.right() - x
        box = QRectF(x, area.top() - HEAD_PX, wide, HEAD_PX)
        painter.text(box, LEFT, part, painter.theme.muted)
        x += wide
        if last:
            return
