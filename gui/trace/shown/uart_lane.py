# SPDX-License-Identifier: Apache-2.0
"""The lines of uart.log as a lane shows them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gui.picture.text_lane import TimedTexts
from gui.trace.shown.markers import Stretch
from rig.api.traces.uart_lines import UartLine, UartLines
from rig.files.plain_text import visible
from rig.units import quantity

#: Of a longer line the name of a selection has the beginning.
_NAMED = 60
_TIP = 600


@dataclass(frozen=True, slots=True)
class UartLane:
    """The lines in the order of their times, and how they are painted."""

    lines: tuple[UartLine, ...]
    unplaced: int
    timed: TimedTexts

    @classmethod
    def of(cls, log: UartLines) -> UartLane:
        """Sort the lines of a log; a line to the device has an arrow to the right."""
        lines = tuple(sorted(log.lines, key=lambda line: line.at_s))
        at_s = np.array([line.at_s for line in lines], dtype=np.float64)
        bad = np.array([not line.ok for line in lines], dtype=np.bool_)
        return cls(lines, log.unplaced, TimedTexts(at_s, list(map(_text, lines)), bad))

    def tip(self, number: int) -> str:
        """State a line, its time, and how far that may be off."""
        line = self.lines[number]
        text = _text(line)
        shown = text if len(text) <= _TIP else f"{text[:_TIP]} …"
        way = "to the device" if line.direction == "tx" else "from the device"
        when = (
            f"{line.at_s:.6f} s ± {quantity(line.limit_s, 's')} (limits), {way}; placed"
            " by the marks of the steps around it"
        )
        return f"{shown}\n{when}"

    def stretch(self, number: int) -> Stretch:
        """Return the times that a line may have, named by its text."""
        line = self.lines[number]
        text = _text(line)
        name = text if len(text) <= _NAMED else f"{text[:_NAMED]} …"
        start_s = max(line.at_s - line.limit_s, 0.0)
        return Stretch(start_s, line.at_s + line.limit_s, name)


def _text(line: UartLine) -> str:
    arrow = "→" if line.direction == "tx" else "←"
    return f"{arrow} {visible(line.text)}"
